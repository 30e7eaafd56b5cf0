#pragma once

#include "lamella/ops/op.h"

namespace lamella {

struct NonZero {
  static constexpr Info info{.name = "non_zero",
                             .inputs = "x",
                             .outputs = "y",
                             .doc =
                                 "The positions of the elements that are not 0 (NaN counts), "
                                 "row-major: i64[rank of x, number of them].",
                             .traits = kNoGrad};
  static void type(TypeCx& cx, const NoAttrs&) {
    const DType t = cx.in(0).dtype;
    cx.check(t.is_float() || t.is_int() || t.is_bool(), "takes bool and numbers; got ", cx.in(0));
    const Dim n = cx.fresh("non_zero");
    cx.require_at_least(cx.shape(0).numel(), n, "number of elements that are not 0");
    cx.out(kI64, Shape{static_cast<int64_t>(cx.shape(0).rank()), n});
  }
  static void eval(EvalCx& cx, const NoAttrs&) {
    const RefTensor& x = cx.in(0);
    std::vector<std::vector<int64_t>> found(x.rank());
    int64_t n = 0;
    for (Index at(x.shape); !at.done(); at.next()) {
      if (x.number(static_cast<int64_t>(at.flat())) == 0) continue;
      for (size_t d = 0; d < x.rank(); ++d) found[d].push_back(at[d]);
      ++n;
    }
    RefTensor& y = cx.out(0, {static_cast<int64_t>(x.rank()), n});
    for (size_t d = 0; d < x.rank(); ++d)
      std::copy(found[d].begin(), found[d].end(), y.i.begin() + static_cast<int64_t>(d) * n);
  }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    s.add({In{.shape = {3, 17}, .domain = {0, 1}}});
    s.add({In{.shape = {2, 3, 5}}});
    s.add({In{.shape = {0, 3}}});
    s.add({In{.shape = {}}});
    s.expect("NumPy 2.4.6 nonzero", {In{.shape = {2, 3}, .values = {1, 0, 1, 0, 0, 1}}}, NoAttrs{},
             {Expect{{2, 3}, {0, 0, 1, 0, 2, 2}}});
    s.expect("NumPy 2.4.6 nonzero", {In{.shape = {2}, .values = {0, 0}}}, NoAttrs{},
             {Expect{{1, 0}, {}}});
    s.bad({In{.shape = {32}, .dtype = find_dtype("q8_0")}}, NoAttrs{}, "takes bool and numbers");
  }
};
inline constexpr Call<NonZero> non_zero;

}  // namespace lamella
