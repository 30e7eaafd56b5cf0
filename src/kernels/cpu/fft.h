// Discrete Fourier transforms of any length, computed in f64 and rounded once: mixed radices, and
// Bluestein's convolution for lengths with a large prime factor.
#pragma once

#include <cstdint>

#include "lamella/base/thread_pool.h"
#include "lamella/kernels/cpu/elem.h"

namespace lamella::cpu {

// Rows of n numbers; complex ones are pairs.
struct Fft {
  enum class Kind : uint8_t {
    full,     // n complex to n complex
    to_half,  // n real to n / 2 + 1 complex
    to_real,  // n / 2 + 1 complex to n real, as if the other half were their conjugates
  };
  Kind kind = Kind::full;
  Elem elem = Elem::f32;  // a float type
  int64_t rows = 0, n = 0;
  bool inverse = false;  // the sign of the exponent
  double factor = 1;     // of the result
  const void* x = nullptr;
  void* y = nullptr;
};
Status fft(const Fft& job, ThreadPool& pool);

}  // namespace lamella::cpu
