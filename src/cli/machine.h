// This machine's limits, measured: what speeds are compared with.
#pragma once

#include <optional>
#include <string>

#include "lamella/kernels/cpu/isa.h"
#include "lamella/kernels/cpu/limits.h"

namespace lamella::cli {

struct Machine {
  int threads = 0;
  std::string isa;
  cpu::MachineLimits limits;
};

// `threads` as in options: 0 is one for each core that this process may run on.
int usable_threads(int threads);

// Measures for about 0.3 s, with the best instruction set unless one is given.
Machine measure_machine(int threads, std::optional<cpu::Isa> isa = {});

}  // namespace lamella::cli
