#pragma once

#include "lamella/ops/index/gather.h"
#include "lamella/ops/math/mod.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/iota.h"

namespace lamella {

struct Roll {
  static constexpr Info info{.name = "roll",
                             .inputs = "x",
                             .outputs = "y",
                             .doc =
                                 "x moved along each of the axes by its shift; what leaves at one "
                                 "end comes back at the other."};
  struct Attrs {
    std::vector<int64_t> shifts = {}, axes = {};
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("shifts", &Attrs::shifts), f("axes", &Attrs::axes); }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    cx.check(a.shifts.size() == a.axes.size(), "wants a shift for each axis; got ", a.shifts.size(),
             " and ", a.axes.size());
    for (int64_t axis : a.axes) require_not_block_axis(cx, 0, cx.axis(axis, cx.shape(0).rank()));
    for (int64_t shift : a.shifts)
      cx.check(std::abs(static_cast<double>(shift)) < 0x1p62, "shift out of range; got ", shift);
    cx.check(!cx.in(0).dtype.is_block(), "does not take encoded tensors; got ", cx.in(0));
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const Attrs& a) {
    Value x = args[0];
    for (size_t i = 0; i < a.axes.size(); ++i) {
      const Dim n = x.shape()[a.axes[i]];
      const Value at = iota_of(*x.graph, n), size = reshape_to(x.graph->sizes({n}), Shape{});
      const Value shift = mod(reshape_to(x.graph->sizes({a.shifts[i]}), Shape{}), size);
      x = gather(x, mod(at - shift, size), {.axis = a.axes[i]});
    }
    return x;
  }
  static void vjp(VjpCx& cx, const Attrs& a) {
    Attrs back = a;
    for (int64_t& shift : back.shifts) shift = -shift;
    cx.set(0, Call<Roll>{}(cx.grad(), back));
  }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    s.add({In{.shape = {3, 5}}}, Attrs{{2}, {1}});
    s.add({In{.shape = {2, 4, 3}}}, Attrs{{-1, 5}, {0, -2}});
    s.add({In{.shape = {2, 3}}}, Attrs{{1, 1}, {0, 0}});
    s.add({In{.shape = {}}}, Attrs{});
    s.add({In{.shape = {0, 3}}}, Attrs{{1}, {0}});
    s.bad({In{.shape = {3}}}, Attrs{{1}, {1}}, "axis out of range");
    s.bad({In{.shape = {3}}}, Attrs{{1, 2}, {0}}, "a shift for each axis");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {2, 3, 3}, .dtype = kF32, .values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
      10, 11, 12, 13, 14, 15, 16, 17}}}, Attrs{.shifts = {1, -4}, .axes = {0, 2}}, {Expect{{2, 3,
      3}, {10, 11, 9, 13, 14, 12, 16, 17, 15, 1, 2, 0, 4, 5, 3, 7, 8, 6}}});
    s.expect(source, {In{.shape = {17}, .dtype = kF32, .values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
      11, 12, 13, 14, 15, 16}}}, Attrs{.shifts = {22}, .axes = {-1}}, {Expect{{17}, {12, 13, 14, 15,
      16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Roll> roll;

}  // namespace lamella
