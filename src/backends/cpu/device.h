// What the CPU's rows are given: the pool and the instruction set.
#pragma once

#include "lamella/base/thread_pool.h"
#include "lamella/kernels/cpu/isa.h"
#include "lamella/passes/target.h"

namespace lamella::cpu {

struct Device {
  Isa isa = Isa::scalar;
  lamella::Phase phase = lamella::Phase::bulk;
  std::shared_ptr<ThreadPool> pool;
};

}  // namespace lamella::cpu
