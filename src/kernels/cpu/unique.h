// The different slices of a dense tensor along an axis.
#pragma once

#include <cstdint>

#include "lamella/kernels/cpu/elem.h"

namespace lamella::cpu {

// x [outer, n, inner]: slices x[:, i, :], i < n. NaN equals NaN and is above every number.
struct UniqueJob {
  Elem elem = Elem::f32;
  int64_t outer = 1, n = 0, inner = 1;
  const void* x = nullptr;
  bool sorted = true;  // else in the order of their first places
};

// Gives the number of different slices. All three hold n: first[k] is the place where slice k first
// stands, inverse[i] says which one slice i is, scratch is overwritten.
int64_t find_unique(const UniqueJob& job, int64_t* first, int64_t* inverse, int64_t* scratch);

}  // namespace lamella::cpu
