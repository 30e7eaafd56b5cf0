#pragma once

#include "lamella/ops/math/greater_equal.h"
#include "lamella/ops/math/less_equal.h"
#include "lamella/ops/math/where.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {

struct Triangle {
  static constexpr Info info{
      .name = "triangle",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "The upper or lower triangle of each matrix of the last two axes: elements where column "
          "- row >= offset (upper) or <= offset (lower) stay, the others become 0."};
  struct Attrs {
    bool upper = false;
    int64_t offset = 0;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("upper", &Attrs::upper), f("offset", &Attrs::offset);
    }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    const DType t = cx.in(0).dtype;
    cx.check(t.is_float() || t.is_int() || t.is_bool(), "takes bool and numbers; got ", cx.in(0));
    cx.check(cx.shape(0).rank() >= 2, "wants rank 2 or more; got ", cx.in(0));
    cx.check(std::abs(static_cast<double>(a.offset)) < 0x1p40, "offset out of range; got ",
             a.offset);
    cx.out(t, cx.shape(0));
  }
  static Value expand(const Args& args, const Attrs& a) {
    const Value x = args[0];
    Graph& g = args.graph();
    const Dim n = x.shape()[-2], m = x.shape()[-1];
    const Value column = reshape_to(iota_of(g, m), {1, m});
    const Value edge = reshape_to(iota_of(g, n), {n, 1}) + static_cast<double>(a.offset);
    const Value stays = a.upper ? greater_equal(column, edge) : less_equal(column, edge);
    return where(stays, x, scalar_like(x, 0));
  }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    s.add({In{.shape = {5, 7}}}, Attrs{});
    s.add({In{.shape = {2, 5, 3}}}, Attrs{.upper = true, .offset = -1});
    s.add({In{.shape = {3, 4}}}, Attrs{.upper = true, .offset = 9});
    s.add({In{.shape = {0, 3}}}, Attrs{});
    s.bad({In{.shape = {3}}}, Attrs{}, "rank 2 or more");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {4, 5, 4}, .dtype = kF32, .values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
      10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
      33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55,
      56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78,
      79}}}, Attrs{.upper = true, .offset = 1}, {Expect{{4, 5, 4}, {0, 1, 2, 3, 0, 0, 6, 7, 0, 0, 0,
      11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 21, 22, 23, 0, 0, 26, 27, 0, 0, 0, 31, 0, 0, 0, 0, 0, 0, 0, 0,
      0, 41, 42, 43, 0, 0, 46, 47, 0, 0, 0, 51, 0, 0, 0, 0, 0, 0, 0, 0, 0, 61, 62, 63, 0, 0, 66, 67,
      0, 0, 0, 71, 0, 0, 0, 0, 0, 0, 0, 0}}});
    s.expect(source, {In{.shape = {4, 5, 4}, .dtype = kF32, .values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
      10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
      33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55,
      56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78,
      79}}}, Attrs{.upper = false, .offset = -1}, {Expect{{4, 5, 4}, {0, 0, 0, 0, 4, 0, 0, 0, 8, 9,
      0, 0, 12, 13, 14, 0, 16, 17, 18, 19, 0, 0, 0, 0, 24, 0, 0, 0, 28, 29, 0, 0, 32, 33, 34, 0, 36,
      37, 38, 39, 0, 0, 0, 0, 44, 0, 0, 0, 48, 49, 0, 0, 52, 53, 54, 0, 56, 57, 58, 59, 0, 0, 0, 0,
      64, 0, 0, 0, 68, 69, 0, 0, 72, 73, 74, 0, 76, 77, 78, 79}}});
    s.expect(source, {In{.shape = {3, 5}, .dtype = kF32, .values = {-1.5, 2, 1.5, -0.875, -0.125,
      1.25, 1.625, -1.75, 0.625, -0.25, -0.625, 1.25, 0.75, -0.375, 1.625}}}, Attrs{.upper = true,
      .offset = -2}, {Expect{{3, 5}, {-1.5, 2, 1.5, -0.875, -0.125, 1.25, 1.625, -1.75, 0.625,
      -0.25, -0.625, 1.25, 0.75, -0.375, 1.625}}});
    s.expect(source, {In{.shape = {3, 5}, .dtype = kF32, .values = {-1.5, 2, 1.5, -0.875, -0.125,
      1.25, 1.625, -1.75, 0.625, -0.25, -0.625, 1.25, 0.75, -0.375, 1.625}}}, Attrs{.upper = false,
      .offset = 3}, {Expect{{3, 5}, {-1.5, 2, 1.5, -0.875, 0, 1.25, 1.625, -1.75, 0.625, -0.25,
      -0.625, 1.25, 0.75, -0.375, 1.625}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Triangle> triangle;

}  // namespace lamella
