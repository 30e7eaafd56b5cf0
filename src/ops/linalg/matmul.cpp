// The gradients of matmul: products again, with the roles of the axes exchanged.
#include "lamella/ops/linalg/matmul.h"

#include "lamella/ops/linalg/matrices.h"
#include "lamella/ops/math/cast.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/squeeze.h"
#include "lamella/ops/shape/unsqueeze.h"

namespace lamella {
namespace {

// Rows of all batches, one after the other.
Value flatten_rows(Value x) {
  Dim rows = 1;
  for (size_t i = 0; i + 1 < x.shape().rank(); ++i) rows = rows * x.shape().dims[i];
  return reshape_to(x, {rows, x.shape().last()});
}

Value as_type(Value x, DType type) { return x.dtype() == type ? x : cast(x, {.to = type}); }

}  // namespace

Value matmul_grad_x(Value g, Value x, Value w, const Matmul::Attrs& a) {
  const bool is_vector = x.shape().rank() == 1;
  if (is_vector) g = unsqueeze(g, {.axes = {-2}});
  const Value dx = matmul(g, w, {.transpose_w = !a.transpose_w, .compute = a.compute});
  return is_vector ? squeeze(dx, {.axes = {-2}}) : dx;
}

Value matmul_grad_w(Value g, Value x, Value w, const Matmul::Attrs& a) {
  const DType type = w.dtype().is_block() ? kF32 : w.dtype();
  if (type.bytes() > g.dtype().bytes()) g = cast(g, {.to = type});
  if (x.shape().rank() == 1) {
    x = unsqueeze(x, {.axes = {0}});
    g = unsqueeze(g, {.axes = {-2}});
  }
  // One matrix for all rows: one product over all rows, not one a batch.
  if (w.shape().rank() == 2 && x.shape().rank() > 2) {
    x = flatten_rows(x);
    g = flatten_rows(g);
  }
  // [n, m] . [m, k]; x stays as it is stored, as it may be encoded along k.
  const Value dw = matmul(swap_last_two(g), x, {.transpose_w = false, .compute = a.compute});
  return as_type(a.transpose_w ? dw : swap_last_two(dw), type);
}

void Matmul::vjp(VjpCx& cx, const Attrs& a) {
  if (!cx.grad().dtype().is_float()) return;
  cx.set(0, matmul_grad_x(cx.grad(), cx.in(0), cx.in(1), a));
  cx.set(1, matmul_grad_w(cx.grad(), cx.in(0), cx.in(1), a));
}

}  // namespace lamella
