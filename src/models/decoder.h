#pragma once

#include "lamella/models/model.h"

namespace lamella {

// A decoder of the family that the checkpoint's architecture names: layers of rotary attention and
// a gated MLP or experts, each after an RMS norm and added to its input.
Model build_decoder(const Checkpoint& checkpoint, const BuildOptions& options);

}  // namespace lamella
