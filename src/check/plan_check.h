// A planned program's memory and bits against what its steps say.
#pragma once

#include "lamella/backends/backend.h"
#include "lamella/check/random_graph.h"

namespace lamella::check {

// Compiles and runs the graph. Follows the steps over the placed buffers: what a step reads must
// not have been overwritten since it was made. Then runs the program's nodes one by one, each
// compiled alone on dense inputs: the bits must be the same. Empty when all is well.
std::string check_plan(const RandomGraph& random, const Backend& backend);

}  // namespace lamella::check
