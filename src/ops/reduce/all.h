#pragma once

#include "lamella/ops/reduce/min.h"
#include "lamella/ops/reduce/truth_reduction.h"

namespace lamella {

struct All : TruthReduction<All> {
  static constexpr Info info{
      .name = "all",
      .inputs = "x",
      .outputs = "y",
      .doc = "Do all elements hold over the axes (all without axes)? Of none: yes.",
      .traits = kNoGrad};
  // As u8, whose greatest of none is 0 and whose least is 255.
  static Value expand(const Args& args, const Attrs& a) {
    return cast(min(cast(args[0], {.to = kU8}), a), {.to = kBool});
  }
  static void add_literals(Samples& s) {
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {2, 3, 4}, .dtype = kBool, .values = {1, 0, 1, 1, 0, 1, 1, 0, 0,
      1, 1, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 1, 1}}}, Attrs{.axes = {0, 2}}, {Expect{{3}, {0, 0,
      0}}});
    s.expect(source, {In{.shape = {4, 5}, .dtype = kBool, .values = {1, 0, 1, 1, 1, 1, 1, 1, 0, 1,
      1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}}, Attrs{.axes = {1}, .keep = true}, {Expect{{4, 1}, {0, 0, 1,
      1}}});
    s.expect(source, {In{.shape = {2, 3, 4}, .dtype = kBool, .values = {1, 0, 1, 1, 0, 1, 1, 0, 0,
      1, 1, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 1, 1}}}, Attrs{}, {Expect{{}, {0}}});
    s.expect(source, {In{.shape = {2, 0}, .dtype = kBool, .values = {}}}, Attrs{.axes = {1}},
      {Expect{{2}, {1, 1}}});
    s.expect(source, {In{.shape = {17, 2}, .dtype = kBool, .values = {1, 1, 0, 0, 0, 0, 0, 0, 1, 0,
      1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 1, 1, 1, 1, 0, 1, 0, 1, 1}}}, Attrs{.axes = {1}},
      {Expect{{17}, {1, 0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0, 0, 1}}});
    s.expect(source, {In{.shape = {18, 3}, .dtype = kBool, .values = {0, 0, 0, 1, 0, 0, 0, 0, 1, 0,
      0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0,
      0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}}}, Attrs{.axes = {1}}, {Expect{{18}, {0, 0, 0, 0, 0, 0,
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<All> all;

}  // namespace lamella
