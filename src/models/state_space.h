#pragma once

#include "lamella/models/model.h"

namespace lamella {

// Layers of a selective scan (Mamba) or of Mamba 2, each behind an RMS norm and added to its input.
Model build_state_space(const Checkpoint& checkpoint, const BuildOptions& options);

}  // namespace lamella
