// The reference as a back end: every op by its meaning in f64. For checking others and for finding
// where they diverge.
#pragma once

#include <memory>

#include "lamella/backends/backend.h"

namespace lamella {

std::unique_ptr<Backend> make_reference_backend();

}  // namespace lamella
