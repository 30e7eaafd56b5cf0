#pragma once

#include "lamella/base/text.h"
#include "lamella/ops/op.h"

namespace lamella {

template <>
struct EnumNames<Layout::Kind> {
  static constexpr std::array<std::string_view, 3> names{"row_major", "permuted", "blocked"};
};

struct Relayout {
  static constexpr Info info{
      .name = "relayout",
      .inputs = "x",
      .outputs = "y",
      .doc = "x with its elements in another order in memory; the values stay."};
  struct Attrs {
    Layout::Kind kind = Layout::Kind::row_major;
    std::vector<int64_t> order = {};  // permuted: axes from outermost to innermost
    int64_t axis = 0;                 // blocked: this axis is cut
    int64_t block = 0;                // into blocks of so many
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("kind", &Attrs::kind), f("order", &Attrs::order), f("axis", &Attrs::axis),
          f("block", &Attrs::block);
    }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    const size_t rank = cx.shape(0).rank();
    cx.check(!cx.in(0).dtype.is_block(), "an encoding has its own order; got ", cx.in(0));
    Layout layout{.kind = a.kind, .order = a.order, .axis = a.axis, .block = a.block};
    if (a.kind == Layout::Kind::permuted) {
      std::vector<int64_t> axes = a.order;
      std::sort(axes.begin(), axes.end());
      bool is_order = axes.size() == rank;
      for (size_t i = 0; is_order && i < rank; ++i) is_order = axes[i] == static_cast<int64_t>(i);
      cx.check(is_order, "not an order of the axes; got ", join(a.order, ", "), " for ", cx.in(0));
    }
    if (a.kind == Layout::Kind::blocked) {
      layout.axis = cx.axis(a.axis, rank);
      cx.check(a.block > 0, "wants a positive block; got ", a.block);
    }
    cx.out(Type(cx.in(0).dtype, cx.shape(0), std::move(layout)));
  }
  static void eval(EvalCx& cx, const Attrs&) {
    const RefTensor& x = cx.in(0);
    RefTensor& y = cx.out(0, x.shape);
    y.f = x.f, y.i = x.i, y.s = x.s;
  }
  static void vjp(VjpCx& cx, const Attrs&) { cx.set(0, cx.grad()); }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    s.add({In{.shape = {3, 5}}}, Attrs{.kind = Layout::Kind::permuted, .order = {1, 0}});
    s.add({In{.shape = {2, 3, 35}}},
          Attrs{.kind = Layout::Kind::blocked, .order = {}, .axis = -1, .block = 16});
    s.add({In{.shape = {0, 2}}}, Attrs{});
    s.bad({In{.shape = {3, 5}}}, Attrs{.kind = Layout::Kind::permuted, .order = {1, 1}},
          "not an order");
    s.bad({In{.shape = {3}}}, Attrs{.kind = Layout::Kind::blocked}, "positive block");
  }
};
inline constexpr Call<Relayout> relayout;

}  // namespace lamella
