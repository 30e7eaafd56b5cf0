// Gradients of sin and cos, and of sinh and cosh, which need each other.
#include "lamella/ops/math/cos.h"
#include "lamella/ops/math/cosh.h"
#include "lamella/ops/math/mul.h"
#include "lamella/ops/math/neg.h"
#include "lamella/ops/math/sin.h"
#include "lamella/ops/math/sinh.h"

namespace lamella {

void Sin::vjp(VjpCx& cx, const NoAttrs&) { cx.set(0, mul(cx.grad(), cos(cx.in(0)))); }
void Cos::vjp(VjpCx& cx, const NoAttrs&) { cx.set(0, neg(mul(cx.grad(), sin(cx.in(0))))); }
void Sinh::vjp(VjpCx& cx, const NoAttrs&) { cx.set(0, mul(cx.grad(), cosh(cx.in(0)))); }
void Cosh::vjp(VjpCx& cx, const NoAttrs&) { cx.set(0, mul(cx.grad(), sinh(cx.in(0)))); }

}  // namespace lamella
