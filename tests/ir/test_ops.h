// Ops that exist only here: one of each kind that the IR must handle, with every kind of attribute.
#pragma once

#include "lamella/ir/define_op.h"
#include "lamella/ops/op.h"

namespace lamella {

struct TestUnary {
  static constexpr Info info{.name = "test_unary", .inputs = "x", .outputs = "y", .doc = ""};
  static void type(TypeCx& cx, const NoAttrs&) { cx.out(cx.in(0)); }
};
inline constexpr Call<TestUnary> test_unary;

struct TestBinary {
  static constexpr Info info{.name = "test_binary", .inputs = "a, b", .outputs = "y", .doc = ""};
  static void type(TypeCx& cx, const NoAttrs&) {
    cx.out(cx.in(0).dtype, cx.broadcast(cx.shape(0), cx.shape(1)));
  }
};
inline constexpr Call<TestBinary> test_binary;

struct TestOrdered {
  static constexpr Info info{
      .name = "test_ordered", .inputs = "x", .outputs = "y", .doc = "", .traits = kOrdered};
  static void type(TypeCx& cx, const NoAttrs&) { cx.out(cx.in(0)); }
};
inline constexpr Call<TestOrdered> test_ordered;

// An output whose size depends on data.
struct TestFound {
  static constexpr Info info{.name = "test_found", .inputs = "x", .outputs = "y", .doc = ""};
  static void type(TypeCx& cx, const NoAttrs&) { cx.out(kI64, Shape{cx.fresh("found")}); }
};
inline constexpr Call<TestFound> test_found;

// Optional and repeated inputs, several outputs, a hidden one.
struct TestMany {
  static constexpr Info info{.name = "test_many",
                             .inputs = "x, bias?, rest...",
                             .outputs = "y, index",
                             .doc = "",
                             .saved = "lse"};
  static void type(TypeCx& cx, const NoAttrs&) {
    cx.out(cx.in(0));
    cx.out(kI64, cx.shape(0));
    if (cx.wants_saved()) cx.saved_out(kF64, Shape{});
  }
};
inline constexpr Call<TestMany> test_many;

// Input 0 is state that output 0 replaces.
struct TestUpdate {
  static constexpr Info info{
      .name = "test_update", .inputs = "state, x", .outputs = "y", .doc = "", .updates = "state"};
  static void type(TypeCx& cx, const NoAttrs&) { cx.out(cx.in(0)); }
};
inline constexpr Call<TestUpdate> test_update;

enum class TestMode : int { first, second };
template <>
struct EnumNames<TestMode> {
  static constexpr std::array<std::string_view, 2> names{"first", "second"};
};

// Every kind of attribute.
struct TestAttrs {
  static constexpr Info info{.name = "test_attrs", .inputs = "x?", .outputs = "y", .doc = ""};
  struct Attrs {
    bool flag = false;
    int64_t number = -1;
    double real = 0.5;
    std::string text = "t";
    std::vector<int64_t> numbers;
    std::vector<double> reals;
    std::vector<std::string> texts;
    DType dtype = kF32;
    Dim dim = 1;
    Shape shape;
    Type type;
    Tensor tensor;
    GraphPtr graph;
    std::optional<int64_t> maybe_number;
    std::optional<double> maybe_real = 1.0;
    TestMode mode = TestMode::first;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("flag", &Attrs::flag), f("number", &Attrs::number), f("real", &Attrs::real);
      f("text", &Attrs::text), f("numbers", &Attrs::numbers), f("reals", &Attrs::reals);
      f("texts", &Attrs::texts), f("dtype", &Attrs::dtype), f("dim", &Attrs::dim);
      f("shape", &Attrs::shape), f("type", &Attrs::type), f("tensor", &Attrs::tensor);
      f("graph", &Attrs::graph), f("maybe_number", &Attrs::maybe_number);
      f("maybe_real", &Attrs::maybe_real), f("mode", &Attrs::mode);
    }
  };
  static void type(TypeCx& cx, const Attrs&) { cx.out(kF32, Shape{}); }
};
inline constexpr Call<TestAttrs> test_attrs;

// The built-in ops and those of this file.
inline const OpSet& test_op_set() {
  static const OpSet set = [] {
    static constexpr const Op* kOps[] = {&op<TestAttrs>, &op<TestBinary>,  &op<TestFound>,
                                         &op<TestMany>,  &op<TestOrdered>, &op<TestUnary>,
                                         &op<TestUpdate>};
    OpSet s = builtin_ops();
    s.add(kOps);
    return s;
  }();
  return set;
}

}  // namespace lamella
