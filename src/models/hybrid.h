#pragma once

#include "lamella/models/model.h"

namespace lamella {

// Layers of the gated delta rule over slots of state, some of full attention with a gate; each has
// a gated MLP, or experts and a shared one, behind it.
Model build_hybrid(const Checkpoint& checkpoint, const BuildOptions& options);

}  // namespace lamella
