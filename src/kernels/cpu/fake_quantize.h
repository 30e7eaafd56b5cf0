// Rounding to a few levels and back, and the magnitudes that scales are made of. x is [channels,
// n] in f32, f16 or bf16; every channel has a scale of its own.
#pragma once

#include "lamella/base/thread_pool.h"
#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/elem.h"
#include "lamella/kernels/cpu/isa.h"

namespace lamella::cpu {

struct FakeQuantize {
  Elem type = Elem::f32;
  int64_t channels = 0, n = 0;
  float q_max = 127;
  const void* x = nullptr;
  const float* scale = nullptr;  // [channels]
  void* y = nullptr;             // may be x
};

// max |x| of each channel: 0 of none, NaN where there is one. `parts` is scratch memory for
// magnitude_parts numbers.
int64_t magnitude_parts(const FakeQuantize& job);
void magnitudes(const FakeQuantize& job, float* parts, float* most, ThreadPool& pool, Isa isa);

// y = clamp(round(x / s), -q_max, q_max) * s; 0 where s is 0. The quotient is rounded as if it were
// exact, halves to even.
void fake_quantize(const FakeQuantize& job, ThreadPool& pool, Isa isa);

// What each instruction set offers, over elements of one channel.
struct FakeQuantizeTable {
  float (*magnitude)(const FakeQuantize&, int64_t begin, int64_t end);
  void (*quantize)(const FakeQuantize&, float scale, int64_t begin, int64_t end);
};
LAMELLA_TABLE(FakeQuantizeTable, kFakeQuantizeTable)

}  // namespace lamella::cpu
