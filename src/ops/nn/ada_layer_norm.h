#pragma once

#include "lamella/ops/nn/batch_rows.h"
#include "lamella/ops/nn/layer_norm.h"

namespace lamella {

struct AdaLayerNorm {
  static constexpr Info info{
      .name = "ada_layer_norm",
      .inputs = "x, scale, shift",
      .outputs = "y",
      .doc =
          "layer_norm(x) * (1 + scale) + shift for x [batch, ..., dim] with scale and shift "
          "[batch, "
          "dim]: each entry of the batch has its own (Peebles and Xie 2023).",
      .ulps = 8,
      .ulps_per_length = 0.5};
  using Attrs = NormAttrs;
  static void type(TypeCx& cx, const Attrs& a) {
    check_norm(cx, a);
    check_batch_rows(cx, 0, 1), check_batch_rows(cx, 0, 2);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const Attrs& a) {
    const Value n = layer_norm(wide(args[0]), a);
    const Value scale = over_batch(args[1], n), shift = over_batch(args[2], n);
    return as_dtype(n * (scale + 1) + shift, args[0].dtype());
  }
  static void samples(Samples& s) {
    s.add({In{.shape = {2, 3, 67}}, In{.shape = {2, 67}}, In{.shape = {2, 67}}}, Attrs{}).length =
        67;
    s.add({In{.shape = {5, 7}}, In{.shape = {5, 7}}, In{.shape = {5, 7}}}, Attrs{.eps = 1e-2})
        .length = 7;
    s.add({In{.shape = {3, 2, 3, 9}}, In{.shape = {3, 9}, .dtype = kF32},
           In{.shape = {3, 9}, .dtype = kF32}},
          Attrs{})
        .length = 9;
    s.add({In{.shape = {3, 2, 9}}, In{.shape = {3, 9}}, In{.shape = {3, 9}, .dtype = kF32}},
          Attrs{})
        .length = 9;
    s.add({In{.shape = {0, 2, 4}}, In{.shape = {0, 4}}, In{.shape = {0, 4}}}, Attrs{});
    s.add({In{.shape = {2, 0, 4}}, In{.shape = {2, 4}}, In{.shape = {2, 4}}}, Attrs{});
    s.add({In{.shape = {2, 3, 9}, .domain = {-2, 2, true}}, In{.shape = {2, 9}},
           In{.shape = {2, 9}}},
          Attrs{})
        .grad = false;
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, tools/golden/training_samples.py";
    s.expect(source, {In{.shape = {2, 3, 4}, .dtype = kF32, .values = {-1.75, 0.875, 1.375, -0.75,
      0, 1.25, -0.625, 0.5, 0.125, -0.5, -1.125, -0.125, -1.125, 1.625, 1.125, 0.625, -0.375, -1,
      1.375, 0.75, 2, 1.125, 1, 1.5}}, In{.shape = {2, 4}, .dtype = kF32, .values = {-1.25, 0.75,
      1.5, -0.5, -0.125, -1.875, 1, -1}}, In{.shape = {2, 4}, .dtype = kF32, .values = {-1.5, 1.375,
      -1, 0, 0.625, -0.75, 0.625, -1.125}}}, Attrs{.eps = 0.125}, {Expect{{2, 3, 4}, {-1.1756157,
      2.63649449, 1.76327366, -0.264313132, -1.40897474, 3.56972008, -3.93303605, 0.141594844,
      -1.72556658, 1.09635893, -4.05178313, 0.238835202, -0.723349969, -1.59896109, 1.65231426,
      -1.125, 0.129902992, 0.295204795, 3.01403953, -1.125, 1.61325367, -0.28187984, -0.920539576,
      -1.125}}});
    s.expect(source, {In{.shape = {4, 5}, .dtype = kF32, .values = {-1.625, 0.125, 1.25, 1.875,
      1.875, -1.375, -0.25, 2, -0.125, -2, 0.375, 0.625, -0.875, -0.75, -0.375, -0.5, 1, -0.5,
      -1.25, 0.25}}, In{.shape = {4, 5}, .dtype = kF32, .values = {-0.625, 0.875, 1.875, -0.375, 2,
      1.125, -1.375, -1.375, 1.875, 1.75, -1.625, 0.125, -0.125, -0.5, -1.125, 0.625, -1.375, 1,
      0.25, -0.625}}, In{.shape = {4, 5}, .dtype = kF32, .values = {-0.875, 1.625, 0.75, -1.5,
      -1.25, 0.375, 1, -1.625, 1.5, 0, 0.125, -1.875, 0.5, -1.375, 1.125, -0.875, 1.375, 1.875,
      -0.875, -1.125}}}, Attrs{}, {Expect{{4, 5}, {-1.53219864, 0.812335013, 1.94190865,
      -0.946445588, 1.40706118, -1.21726641, 0.972586518, -2.26921682, 1.97288256, -3.31703131,
      -0.473950015, -0.328146484, -0.484361328, -1.83332697, 1.16145783, -1.51237199, 0.786656623,
      1.09054216, -2.59100152, -0.904371234}}});
    // clang-format on
    // golden:end
    s.bad({In{.shape = {2, 3, 4}}, In{.shape = {2, 3}}, In{.shape = {2, 4}}}, Attrs{},
          "last sizes of x and scale");
    s.bad({In{.shape = {2, 3, 4}}, In{.shape = {2, 4}}, In{.shape = {3, 4}}}, Attrs{},
          "batches of x and shift");
    s.bad({In{.shape = {2, 3, 4}}, In{.shape = {4}}, In{.shape = {2, 4}}}, Attrs{}, "rank");
    s.bad({In{.shape = {4}}, In{.shape = {1, 4}}, In{.shape = {1, 4}}}, Attrs{}, "rank 2 or more");
    s.bad({In{.shape = {2, 4}}, In{.shape = {2, 4}}, In{.shape = {2, 4}}}, Attrs{.eps = -1}, "eps");
  }
};
inline constexpr Call<AdaLayerNorm> ada_layer_norm;

}  // namespace lamella
