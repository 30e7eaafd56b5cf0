// Bases of the elementwise ops: an op's file gives Info, `apply`, a gradient and samples; shapes
// follow from here.
#pragma once

#include <cmath>

#include "lamella/ops/op.h"

namespace lamella {

// y = apply(x), same type. `apply` takes double, and (int64_t, DType) too where the op takes
// integers.
template <class Self, bool kInts = false>
struct Unary {
  static void type(TypeCx& cx, const NoAttrs&) {
    const Type& x = cx.in(0);
    cx.check(x.is_tensor() && (x.dtype.is_float() || (kInts && x.dtype.is_int())), "takes ",
             kInts ? "numbers" : "floating-point tensors", "; got ", x);
    cx.out(x.dtype, x.shape);
  }
  static void eval(EvalCx& cx, const NoAttrs&) {
    const RefTensor& x = cx.in(0);
    RefTensor& y = cx.out(0, x.shape);
    for (size_t i = 0; i < x.f.size(); ++i) y.f[i] = Self::apply(x.f[i]);
    if constexpr (kInts)
      for (size_t i = 0; i < x.i.size(); ++i) y.i[i] = Self::apply(x.i[i], x.dtype);
  }
};

// Offsets into two operands that broadcast to one shape, in step.
template <class Visit>
void visit_broadcast(const std::vector<int64_t>& shape, const RefTensor& a, const RefTensor& b,
                     Visit visit) {
  for (Index at(shape); !at.done(); at.next())
    visit(at.flat(), static_cast<size_t>(at.broadcast_offset(a.shape)),
          static_cast<size_t>(at.broadcast_offset(b.shape)));
}

// Types that an elementwise op of two operands takes.
enum class Operands { floats, numbers, ints, bools, any };

inline bool takes(Operands kind, DType t) {
  switch (kind) {
    case Operands::floats:
      return t.is_float();
    case Operands::numbers:
      return t.is_float() || t.is_int();
    case Operands::ints:
      return t.is_int();
    case Operands::bools:
      return t.is_bool();
    case Operands::any:
      return t.is_float() || t.is_int() || t.is_bool();
  }
  return false;
}

inline void check_operands(TypeCx& cx, Operands kind) {
  cx.require_same_dtype(0, 1);
  cx.check(cx.in(0).is_tensor() && cx.in(1).is_tensor() && takes(kind, cx.in(0).dtype),
           "does not take this element type; got ", cx.in(0), " and ", cx.in(1));
}

// y = apply(a, b) with broadcasting, one element type. Integers: apply(int64_t, int64_t, DType).
template <class Self, Operands kTakes = Operands::numbers>
struct Binary {
  static void type(TypeCx& cx, const NoAttrs&) {
    check_operands(cx, kTakes);
    cx.out(cx.in(0).dtype, cx.broadcast(cx.shape(0), cx.shape(1)));
  }
  static void eval(EvalCx& cx, const NoAttrs&) {
    const RefTensor &a = cx.in(0), &b = cx.in(1);
    RefTensor& y = cx.out(0);
    visit_broadcast(y.shape, a, b, [&](size_t o, size_t i, size_t j) {
      if constexpr (requires { Self::apply(1.0, 1.0); })
        if (y.holds_floats()) y.f[o] = Self::apply(a.f[i], b.f[j]);
      if constexpr (requires { Self::apply(int64_t{1}, int64_t{1}, kI64); })
        if (!y.holds_floats()) y.i[o] = Self::apply(a.i[i], b.i[j], y.dtype);
    });
  }
};

// y = apply(a, b) as bool, with broadcasting.
template <class Self, Operands kTakes = Operands::any>
struct Comparison {
  static void type(TypeCx& cx, const NoAttrs&) {
    check_operands(cx, kTakes);
    cx.out(kBool, cx.broadcast(cx.shape(0), cx.shape(1)));
  }
  static void eval(EvalCx& cx, const NoAttrs&) {
    const RefTensor &a = cx.in(0), &b = cx.in(1);
    RefTensor& y = cx.out(0);
    const bool is_u64 = a.dtype == kU64;
    visit_broadcast(y.shape, a, b, [&](size_t o, size_t i, size_t j) {
      if (a.holds_floats())
        y.i[o] = Self::apply(a.f[i], b.f[j]);
      else if (is_u64)
        y.i[o] = Self::apply(static_cast<uint64_t>(a.i[i]), static_cast<uint64_t>(b.i[j]));
      else
        y.i[o] = Self::apply(a.i[i], b.i[j]);
    });
  }
};

// Element-by-element shape values of an elementwise op of sizes: `f` combines two Dims.
template <class F>
void value_of_binary(ValueCx& cx, F f) {
  const ShapeValue *a = cx.known(0), *b = cx.known(1);
  if (!a || !b || cx.out_type(0).rank() > 1) return;
  if (a->size() != b->size() && a->size() != 1 && b->size() != 1) return;
  const size_t n = a->size() == 1 ? b->size() : a->size();  // none beside one is none
  ShapeValue y;
  for (size_t i = 0; i < n; ++i)
    y.push_back(f((*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]));
  cx.set(0, std::move(y));
}

// A literal vector.
inline In literal(DType dtype, std::vector<double> values) {
  return In{
      .shape = {static_cast<int64_t>(values.size())}, .dtype = dtype, .values = std::move(values)};
}
// A case of literal vectors of one length: what `y` must be.
template <class A = NoAttrs>
void expect_vector(Samples& s, std::string source, std::vector<In> inputs, std::vector<double> y,
                   A attrs = {}) {
  const int64_t n = static_cast<int64_t>(y.size());
  s.expect(std::move(source), std::move(inputs), std::move(attrs), {Expect{{n}, std::move(y)}})
      .grad = false;
}

// Integers as the executor holds them: u64 by its bits.
inline uint64_t as_u64(int64_t v) { return static_cast<uint64_t>(v); }
inline int64_t as_i64(uint64_t v) { return static_cast<int64_t>(v); }

// The broadcast cases every op of two operands is sampled with.
template <class A = NoAttrs>
void add_broadcast_samples(Samples& s, Domain a, Domain b, A attrs = {}) {
  s.add({In{.shape = {3, 5}, .domain = a}, In{.shape = {3, 5}, .domain = b}}, attrs);
  s.add({In{.shape = {2, 1, 7}, .domain = a}, In{.shape = {3, 1}, .domain = b}}, attrs);
  s.add({In{.shape = {4, 1}, .domain = a}, In{.shape = {4, 33}, .domain = b}}, attrs);
  s.add({In{.shape = {}, .domain = a}, In{.shape = {17}, .domain = b}}, attrs);
  s.add({In{.shape = {}, .domain = a}, In{.shape = {}, .domain = b}}, attrs);
  s.add({In{.shape = {0, 3}, .domain = a}, In{.shape = {1, 3}, .domain = b}}, attrs);
  s.bad({In{.shape = {3}}, In{.shape = {4}}}, attrs, "do not broadcast");
  s.bad({In{.shape = {3}, .dtype = kF32}, In{.shape = {3}, .dtype = kI32}}, attrs,
        "different element types");
}

// The shapes every op of one operand is sampled with.
template <class A = NoAttrs>
void add_unary_samples(Samples& s, Domain x, A attrs = {}) {
  s.add({In{.shape = {3, 5}, .domain = x}}, attrs);
  s.add({In{.shape = {2, 3, 67}, .domain = x}}, attrs);
  s.add({In{.shape = {}, .domain = x}}, attrs);
  s.add({In{.shape = {0, 4}, .domain = x}}, attrs);
  Domain with_nonfinite = x;
  with_nonfinite.nonfinite = true;
  s.add({In{.shape = {9}, .domain = with_nonfinite}}, attrs).grad = false;
}

}  // namespace lamella
