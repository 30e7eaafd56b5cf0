#include "lamella/ops/index/unique.h"

#include <algorithm>
#include <numeric>

#include "lamella/ops/reduce/argmax.h"

namespace lamella {
namespace {

// Slices of a tensor along an axis; without an axis its elements.
struct Slices {
  const RefTensor& x;
  size_t n, inner, outer;

  Slices(const RefTensor& x, std::optional<int64_t> axis) : x(x), n(1), inner(1), outer(1) {
    if (!axis) {
      n = static_cast<size_t>(x.numel());
      return;
    }
    const size_t at =
        static_cast<size_t>(*axis < 0 ? *axis + static_cast<int64_t>(x.rank()) : *axis);
    n = static_cast<size_t>(x.shape[at]);
    for (size_t i = 0; i < at; ++i) outer *= static_cast<size_t>(x.shape[i]);
    for (size_t i = at + 1; i < x.rank(); ++i) inner *= static_cast<size_t>(x.shape[i]);
  }
  size_t elements() const { return outer * inner; }
  size_t offset(size_t slice, size_t element) const {
    return (element / inner * n + slice) * inner + element % inner;
  }
  bool is_less(size_t a, size_t b) const {
    for (size_t i = 0; i < elements(); ++i) {
      const size_t p = offset(a, i), q = offset(b, i);
      if (Argmax::is_greater(x, q, p)) return true;
      if (Argmax::is_greater(x, p, q)) return false;
    }
    return false;
  }
};

}  // namespace

void Unique::type(TypeCx& cx, const Attrs& a) {
  const DType t = cx.in(0).dtype;
  cx.check(t.is_float() || t.is_int() || t.is_bool(), "takes bool and numbers; got ", cx.in(0));
  Shape y = cx.shape(0);
  const Dim n = cx.fresh("unique");
  const int64_t axis = a.axis ? cx.axis(*a.axis, y.rank()) : 0;
  if (!a.axis) y = Shape{y.numel()};
  const Dim all = y[axis];
  cx.require_at_least(all, n, "number of different elements");
  y[axis] = n;
  cx.out(t, std::move(y));
  cx.out(kI64, Shape{n});
  cx.out(kI64, Shape{all});
  cx.out(kI64, Shape{n});
}

void Unique::eval(EvalCx& cx, const Attrs& a) {
  const Slices slices(cx.in(0), a.axis);
  std::vector<size_t> order(slices.n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t i, size_t j) { return slices.is_less(i, j); });
  // The first slice of each run of equal ones.
  std::vector<size_t> first, rank_of(slices.n);
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || slices.is_less(order[i - 1], order[i])) first.push_back(order[i]);
    rank_of[order[i]] = first.size() - 1;
  }
  std::vector<size_t> place(first.size());
  std::iota(place.begin(), place.end(), size_t{0});
  if (!a.sorted)
    std::sort(place.begin(), place.end(), [&](size_t i, size_t j) { return first[i] < first[j]; });
  const int64_t n = static_cast<int64_t>(first.size());
  std::vector<int64_t> shape = a.axis ? cx.shape(0) : std::vector<int64_t>{n};
  if (a.axis)
    shape[static_cast<size_t>(*a.axis < 0 ? *a.axis + static_cast<int64_t>(shape.size())
                                          : *a.axis)] = n;
  RefTensor &y = cx.out(0, shape), &at = cx.out(1, {n}),
            &inverse = cx.out(2, {static_cast<int64_t>(slices.n)}), &counts = cx.out(3, {n});
  const Slices to(y, a.axis);
  std::vector<int64_t> new_rank(first.size());
  for (size_t i = 0; i < place.size(); ++i) {
    new_rank[place[i]] = static_cast<int64_t>(i);
    at.i[i] = static_cast<int64_t>(first[place[i]]);
    for (size_t e = 0; e < slices.elements(); ++e) {
      const size_t from = slices.offset(first[place[i]], e), o = to.offset(i, e);
      if (y.holds_floats())
        y.f[o] = cx.in(0).f[from];
      else
        y.i[o] = cx.in(0).i[from];
    }
  }
  for (size_t i = 0; i < slices.n; ++i) {
    inverse.i[i] = new_rank[rank_of[i]];
    ++counts.i[static_cast<size_t>(inverse.i[i])];
  }
}

void Unique::samples(Samples& s) {
  s.types(kAnyTypes);
  s.add({In{.shape = {3, 17}, .domain = {0, 5}}}, Attrs{});
  s.add({In{.shape = {2, 7, 2}, .dtype = kI32, .domain = {0, 1}}}, Attrs{1});
  s.add({In{.shape = {9, 2}, .dtype = kI32, .domain = {0, 1}}}, Attrs{-2, false});
  s.add({In{.shape = {}}}, Attrs{});
  s.add({In{.shape = {0, 3}}}, Attrs{});
  s.bad({In{.shape = {3}}}, Attrs{1}, "axis out of range");
  s.bad({In{.shape = {32}, .dtype = find_dtype("q8_0")}}, Attrs{}, "takes bool and numbers");
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
  s.expect(source, {In{.shape = {8}, .dtype = kF32, .values = {3, 1, 3, NAN, 1, 2, NAN, 3}}},
    Attrs{}, {Expect{{4}, {1, 2, 3, NAN}}, Expect{{4}, {1, 5, 0, 3}}, Expect{{8}, {2, 0, 2, 3, 0, 1,
    3, 2}}, Expect{{4}, {2, 1, 3, 2}}});
  s.expect(source, {In{.shape = {8}, .dtype = kF32, .values = {3, 1, 3, NAN, 1, 2, NAN, 3}}},
    Attrs{.sorted = false}, {Expect{{4}, {3, 1, NAN, 2}}, Expect{{4}, {0, 1, 3, 5}}, Expect{{8}, {0,
    1, 0, 2, 1, 3, 2, 0}}, Expect{{4}, {3, 2, 2, 1}}});
  s.expect(source, {In{.shape = {3, 4}, .dtype = kI32, .values = {1, 0, 1, 1, 2, 2, 2, 2, 0, 5, 0,
    3}}}, Attrs{.axis = 1}, {Expect{{3, 3}, {0, 1, 1, 2, 2, 2, 5, 0, 3}}, Expect{{3}, {1, 0, 3}},
    Expect{{4}, {1, 0, 1, 2}}, Expect{{3}, {1, 2, 1}}});
  // clang-format on
  // golden:end
}

}  // namespace lamella
