#pragma once

#include "lamella/base/text.h"
#include "lamella/ops/shape/move.h"

namespace lamella {

struct Transpose {
  static constexpr Info info{.name = "transpose",
                             .inputs = "x",
                             .outputs = "y",
                             .doc =
                                 "Axes in another order: axis i of y is axis perm[i] of x. Without "
                                 "perm the order is reversed. The last axis "
                                 "of an encoded x stays last.",
                             .traits = kView};
  struct Attrs {
    std::vector<int64_t> perm = {};
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("perm", &Attrs::perm); }
  };

  // The order of axes that `a` means for a tensor of that rank.
  static std::vector<int64_t> order(const Attrs& a, size_t rank) {
    std::vector<int64_t> perm = a.perm;
    if (perm.empty())
      for (size_t i = rank; i-- > 0;) perm.push_back(static_cast<int64_t>(i));
    for (int64_t& axis : perm)
      if (axis < 0) axis += static_cast<int64_t>(rank);
    return perm;
  }

  static void type(TypeCx& cx, const Attrs& a) {
    const Shape& x = cx.shape(0);
    const std::vector<int64_t> perm = order(a, x.rank());
    std::vector<bool> seen(x.rank(), false);
    bool is_permutation = perm.size() == x.rank();
    for (int64_t axis : perm) {
      is_permutation = is_permutation && axis >= 0 && axis < static_cast<int64_t>(x.rank()) &&
                       !seen[static_cast<size_t>(axis)];
      if (is_permutation) seen[static_cast<size_t>(axis)] = true;
    }
    cx.check(is_permutation, "perm is not an order of the axes; got ", join(perm, ", "), " for ",
             cx.in(0));
    cx.check(!cx.in(0).dtype.is_block() || perm.back() + 1 == static_cast<int64_t>(x.rank()),
             "the last axis of an encoded tensor stays last; got ", join(perm, ", "), " for ",
             cx.in(0));
    Shape y;
    for (int64_t axis : perm) y.dims.push_back(x[axis]);
    cx.out(cx.in(0).dtype, std::move(y));
  }
  static void eval(EvalCx& cx, const Attrs& a) {
    const RefTensor& x = cx.in(0);
    RefTensor& y = cx.out(0);
    const std::vector<int64_t> strides = strides_of(x.shape);
    std::vector<int64_t> steps;
    for (int64_t axis : order(a, x.rank())) steps.push_back(strides[static_cast<size_t>(axis)]);
    Index at(y.shape);
    move_elements(x, y, [&](size_t) {
      const int64_t from = at.offset(steps);
      at.next();
      return from;
    });
  }
  static void value(ValueCx& cx, const Attrs&) {
    if (const ShapeValue* x = cx.known(0); x && cx.out_type(0).rank() <= 1) cx.set(0, *x);
  }
  static void vjp(VjpCx& cx, const Attrs& a) {
    const std::vector<int64_t> perm = order(a, cx.in(0).shape().rank());
    Attrs inverse{std::vector<int64_t>(perm.size())};
    for (size_t i = 0; i < perm.size(); ++i)
      inverse.perm[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
    cx.set(0, Call<Transpose>{}(cx.grad(), inverse));
  }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    s.add({In{.shape = {3, 5}}}, Attrs{});
    s.add({In{.shape = {2, 3, 5}}}, Attrs{{1, 2, 0}});
    s.add({In{.shape = {2, 3, 1, 7}}}, Attrs{{0, -2, 1, 3}});
    s.add({In{.shape = {0, 3}}}, Attrs{{1, 0}});
    s.add({In{.shape = {}}}, Attrs{});
    s.add({In{.shape = {2, 3, 64}, .dtype = find_dtype("q8_0")}}, Attrs{{1, 0, 2}});
    s.expect("NumPy 2.4.6 transpose", {In{.shape = {1, 2, 3}, .values = {1, 0, 1, 0, 0, 1}}},
             Attrs{{2, 0, 1}}, {Expect{{3, 1, 2}, {1, 0, 0, 0, 1, 1}}});
    s.bad({In{.shape = {2, 3}}}, Attrs{{0, 0}}, "not an order of the axes");
    s.bad({In{.shape = {2, 3}}}, Attrs{{0, 1, 2}}, "not an order of the axes");
    s.bad({In{.shape = {2, 64}, .dtype = find_dtype("q8_0")}}, Attrs{}, "stays last");
  }
};
inline constexpr Call<Transpose> transpose;

}  // namespace lamella
