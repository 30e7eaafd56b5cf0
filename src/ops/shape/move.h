// The meaning of ops that only move elements, and what such ops may do to an encoded tensor.
#pragma once

#include "lamella/ops/op.h"

namespace lamella {

// y[o] = x[from(o)] for every element o of y, whatever the tensors hold.
template <class From>
void move_elements(const RefTensor& x, RefTensor& y, From from) {
  const size_t n = static_cast<size_t>(y.numel());
  for (size_t o = 0; o < n; ++o) {
    const size_t i = static_cast<size_t>(from(o));
    if (x.holds_floats())
      y.f[o] = x.f[i];
    else if (x.dtype.is_string())
      y.s[o] = x.s[i];
    else
      y.i[o] = x.i[i];
  }
}

// y[to(i)] = x[i] for every element i of x.
template <class To>
void place_elements(const RefTensor& x, RefTensor& y, To to) {
  const size_t n = static_cast<size_t>(x.numel());
  for (size_t i = 0; i < n; ++i) {
    const size_t o = static_cast<size_t>(to(i));
    if (x.holds_floats())
      y.f[o] = x.f[i];
    else if (x.dtype.is_string())
      y.s[o] = x.s[i];
    else
      y.i[o] = x.i[i];
  }
}

// The last axis of an encoded tensor is cut into blocks: an op may not touch it.
inline void require_not_block_axis(TypeCx& cx, size_t i, int64_t axis) {
  const Type& x = cx.in(i);
  cx.check(!x.dtype.is_block() || axis + 1 != static_cast<int64_t>(x.rank()),
           "the last axis of an encoded tensor stays whole; got axis ", axis, " of ", x);
}

// Input i is a vector of sizes or positions of a length that is a plain number: that length.
inline size_t vector_length(TypeCx& cx, size_t i) {
  cx.require_rank(i, 1);
  cx.require_int(i);
  const Dim n = cx.shape(i)[0];
  cx.check(n.is_const(), "the length of '", cx.input_name(i), "' is not a plain number; got ",
           cx.in(i));
  return static_cast<size_t>(n.value());
}

}  // namespace lamella
