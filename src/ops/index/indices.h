// How index ops read positions: negative ones count from the end, anything else outside is an error
// naming it.
#pragma once

#include "lamella/ops/op.h"

namespace lamella {

// A position along an axis of that size.
inline int64_t checked_index(const EvalCx& cx, int64_t index, int64_t size, size_t at) {
  cx.check(index >= -size && index < size, "index out of range; got ", index, " at element ", at,
           "; want [", -size, ", ", size, ")");
  return index < 0 ? index + size : index;
}

// indices[..., q] hold tuples that address the first q axes of x. Calls visit(tuple, offset in x of
// its slice, elements of a slice) for each tuple in order.
template <class Visit>
void visit_tuples(const EvalCx& cx, const std::vector<int64_t>& x, const RefTensor& indices,
                  Visit visit) {
  const size_t q = static_cast<size_t>(indices.shape.back());
  const std::vector<int64_t> strides = strides_of(x);
  const int64_t slice = q == 0 ? RefTensor(kI64, x).numel() : strides[q - 1];
  int64_t n = 1;
  for (size_t i = 0; i + 1 < indices.rank(); ++i) n *= indices.shape[i];
  for (int64_t tuple = 0; tuple < n; ++tuple) {
    int64_t offset = 0;
    for (size_t j = 0; j < q; ++j) {
      const size_t at = static_cast<size_t>(tuple) * q + j;
      offset += checked_index(cx, indices.i[at], x[j], at) * strides[j];
    }
    visit(static_cast<size_t>(tuple), static_cast<size_t>(offset), static_cast<size_t>(slice));
  }
}

// The sizes of what tuples `indices` (input 1) take from x (input 0): its leading sizes, then those
// of a slice.
inline Shape tuples_shape(TypeCx& cx) {
  cx.require_int(1);
  const Shape &x = cx.shape(0), &indices = cx.shape(1);
  cx.check(indices.rank() >= 1 && indices.last().is_const() &&
               indices.last().value() <= static_cast<int64_t>(x.rank()),
           "the last size of indices is no number of axes of x; got ", cx.in(1), " for ", cx.in(0));
  cx.check(!cx.in(0).dtype.is_block(), "does not take encoded tensors; got ", cx.in(0));
  Shape y(std::vector<Dim>(indices.begin(), indices.end() - 1));
  y.dims.insert(y.dims.end(), x.begin() + indices.last().value(), x.end());
  return y;
}

}  // namespace lamella
