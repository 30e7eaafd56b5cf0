// Families of models with recurrent states, as rows of tables, and their hyper-parameters.
#pragma once

#include <vector>

#include "lamella/models/decoder_family.h"
#include "lamella/models/size_rows.h"
#include "lamella/ops/recurrent/gated_delta_net.h"

namespace lamella {

// Layers of the gated delta rule, every n-th one of full attention instead.
struct HybridFamily {
  DecoderFamily decoder;               // name, and what its attention layers are like
  HeadMap head_map = HeadMap::blocks;  // which key head serves a value head
  bool has_joint_gates = false;        // ssm_ba: beta's rows, then alpha's, key head by key head
};
// In order of their names.
std::span<const HybridFamily> hybrid_families();

// Layers of state spaces alone.
struct StateSpaceFamily {
  std::string_view name, doc;
  bool has_heads = false;  // Mamba 2: heads with one decay each, groups, a norm behind the gate
};
std::span<const StateSpaceFamily> state_space_families();

struct RecurrentParams {
  int64_t taps = 0, inner = 0, state = 0, rank = 0, groups = 0;
  int64_t interval = 0;       // every so many layers a hybrid attends fully
  int64_t shared_hidden = 0;  // of the expert that sees every token; 0: none
};
// UserError: missing metadata, sizes out of range.
RecurrentParams read_recurrent_params(const Checkpoint& checkpoint);
// The metadata that is read besides that of decoders.
std::vector<MetadataKey> recurrent_keys();

// Are time step, B and C of a Mamba normed?
bool norms_time_step(const Checkpoint& checkpoint);
// Pairs of rotated dimensions that turn by the time, the row and the column of a token, and by
// something else; empty where the file has none.
std::vector<int64_t> rope_sections_of(const Checkpoint& checkpoint);

}  // namespace lamella
