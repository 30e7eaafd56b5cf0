// What this machine can do at most, measured: the figures that speeds are compared with.
#pragma once

#include "lamella/base/thread_pool.h"
#include "lamella/kernels/cpu/isa.h"

namespace lamella::cpu {

struct MachineLimits {
  double int8_ops = 0;    // multiplications and additions of bytes a second
  double bf16_flops = 0;  // the same of bf16; 0: no unit for them
  double f32_flops = 0;   // of fused multiply-adds, two each
  double read_bytes = 0;  // a second, from memory
};

// Medians of five tries, as speeds beside them are medians too. Runs for about half a second on the
// threads of the pool and takes 512 MiB of memory meanwhile: more than last-level caches hold.
MachineLimits measure_limits(Isa isa, ThreadPool& pool);

}  // namespace lamella::cpu
