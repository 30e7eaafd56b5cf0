// The hyper-parameters of a decoder, read by a table from the metadata of its file.
#pragma once

#include <optional>
#include <vector>

#include "lamella/models/decoder_family.h"
#include "lamella/models/size_rows.h"

namespace lamella {

struct DecoderParams {
  int64_t layers = 0, embedding = 0, feed_forward = 0, heads = 0, kv_heads = 0, key_length = 0,
          value_length = 0, rope_dims = 0, context = 0, vocabulary = 0;
  int64_t experts = 0, experts_used = 0, expert_feed_forward = 0;
  double norm_eps = 0;
  double score_scale = 0;               // 0: 1 / sqrt(key_length)
  double score_cap = 0, logit_cap = 0;  // 0: none
  std::vector<int64_t> windows;         // one a layer: keys that a query sees; 0: all
  Rope::Attrs rope;                     // of layers that see all keys
  Rope::Attrs window_rope;              // of the others
};

// The metadata that is read, in the order of its tables.
std::vector<MetadataKey> decoder_keys();

// UserError: missing metadata, sizes out of range or that contradict each other.
DecoderParams read_decoder_params(const Checkpoint& checkpoint, const DecoderFamily& family);

}  // namespace lamella
