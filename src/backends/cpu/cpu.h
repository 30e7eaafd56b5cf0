// The CPU back end: planned, with the kernels of src/kernels/cpu.
#pragma once

#include <memory>
#include <optional>

#include "lamella/backends/backend.h"
#include "lamella/base/thread_pool.h"
#include "lamella/kernels/cpu/isa.h"

namespace lamella {

struct CpuOptions {
  int threads = 0;                   // 0: one a core that this process may use
  std::optional<cpu::Isa> isa = {};  // none: the best one here
};

// UserError for a negative thread count or an instruction set that this machine lacks.
std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options = {});

}  // namespace lamella
