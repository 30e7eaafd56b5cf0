// What tells one family of decoders from another, as a row of a table. Everything else about a
// model is in its file: sizes, norms' epsilon, rope scaling, soft caps, windows.
#pragma once

#include <span>
#include <string_view>

#include "lamella/ops/linalg/activation.h"
#include "lamella/ops/nn/rope.h"

namespace lamella {

struct DecoderFamily {
  std::string_view name;  // as general.architecture has it
  std::string_view doc;
  RopePairing pairing = RopePairing::halves;
  Activation gate = Activation::silu;
  bool has_qkv_bias = false;      // required; elsewhere used where the file has one
  bool has_qk_norm = false;       // RMS norm of each head of q and k, before the rotation
  bool has_post_norms = false;    // also after attention and after the MLP, before the residual
  bool has_gate_in_up = false;    // ffn_up holds the rows of ffn_gate, then its own
  bool scales_embedding = false;  // by the square root of its size
  // Layers n - 1, 2n - 1, ... see all keys, the others those of the file's window. 0: the window is
  // ignored.
  int64_t window_period = 0;
  int64_t window = 0;           // where the file names none
  double window_rope_base = 0;  // layers with a window rotate by this base, unscaled; 0: as all do
  double score_cap = 0, logit_cap = 0;  // soft caps where the file names none; 0: none
  // Scores of models with this many layers are scaled by 1 / sqrt(embedding / heads), not by the
  // size of a key.
  int64_t embedding_scale_layers = 0;
};

// In order of their names.
std::span<const DecoderFamily> decoder_families();
// Null when there is none of that name.
const DecoderFamily* find_decoder_family(std::string_view name);

}  // namespace lamella
