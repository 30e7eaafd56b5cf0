#pragma once

#include "lamella/ops/reduce/cum_extreme.h"

namespace lamella {

struct Cummax : CumExtreme<Cummax> {
  static constexpr Info info{
      .name = "cummax",
      .inputs = "x",
      .outputs = "values, indices",
      .doc =
          "The greatest element so far along axis, and its position (i64): the last of equal ones. "
          "NaN once one was met; from the other end if reverse."};
  static bool wins(const RefTensor& x, size_t i, size_t best) {
    if (x.holds_floats()) return x.f[i] >= x.f[best];
    return x.dtype == kU64 ? as_u64(x.i[i]) >= as_u64(x.i[best]) : x.i[i] >= x.i[best];
  }
  static void add_literals(Samples& s) {
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {2, 5}, .dtype = kF32, .values = {1, 3, 2, 3, 0, 2, NAN, 1, NAN,
      5}}}, Attrs{}, {Expect{{2, 5}, {1, 3, 3, 3, 3, 2, NAN, NAN, NAN, NAN}}, Expect{{2, 5}, {0, 1,
      1, 3, 3, 0, 1, 1, 3, 3}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Cummax> cummax;

}  // namespace lamella
