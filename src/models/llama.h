#pragma once

#include "lamella/models/model.h"

namespace lamella {

// Pre-norm decoder with RMS norm, rotary positions on neighbouring pairs, grouped-query attention
// and a gated MLP.
Model build_llama(const Checkpoint& checkpoint, const BuildOptions& options);

}  // namespace lamella
