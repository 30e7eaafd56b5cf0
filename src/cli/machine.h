// This machine's limits, measured: what speeds are compared with.
#pragma once

#include <string>

#include "lamella/kernels/cpu/limits.h"

namespace lamella::cli {

struct Machine {
  int threads = 0;
  std::string isa;
  cpu::MachineLimits limits;
};

// Measures for about 0.3 s; `threads` as in options, 0 for one a core.
Machine measure_machine(int threads);

}  // namespace lamella::cli
