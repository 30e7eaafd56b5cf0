#pragma once

#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {

struct Meshgrid {
  static constexpr Info info{.name = "meshgrid",
                             .inputs = "axes...",
                             .outputs = "grids...",
                             .doc =
                                 "Each vector spread over the grid that all of them span: grid i "
                                 "holds at every index element i of that index of vector i. With "
                                 "xy the first two axes of the grid are swapped."};
  struct Attrs {
    bool xy = false;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("xy", &Attrs::xy); }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    cx.check(cx.n_inputs() > 0, "wants at least one vector");
    Shape y;
    for (size_t i = 0; i < cx.n_inputs(); ++i) {
      cx.require_rank(i, 1);
      cx.check(!cx.in(i).dtype.is_block(), "does not take encoded tensors; got ", cx.in(i));
      y.dims.push_back(cx.shape(i)[0]);
    }
    if (a.xy && y.rank() > 1) std::swap(y.dims[0], y.dims[1]);
    for (size_t i = 0; i < cx.n_inputs(); ++i) cx.out(cx.in(i).dtype, y);
  }
  static Values expand(const Args& args, const Attrs& a) {
    Shape y;
    for (size_t i = 0; i < args.size(); ++i) y.dims.push_back(args[i].shape()[0]);
    if (a.xy && y.rank() > 1) std::swap(y.dims[0], y.dims[1]);
    Values grids;
    for (size_t i = 0; i < args.size(); ++i) {
      Shape along(std::vector<Dim>(args.size(), Dim(1)));
      along.dims[a.xy && args.size() > 1 && i < 2 ? 1 - i : i] = args[i].shape()[0];
      grids.push_back(expand_to(reshape_to(args[i], along), y));
    }
    return grids;
  }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    s.add({In{.shape = {3}}, In{.shape = {5}}}, Attrs{}).length = 5;
    s.add({In{.shape = {3}}, In{.shape = {5}}, In{.shape = {2}}}, Attrs{true}).length = 15;
    s.add({In{.shape = {4}}}, Attrs{true});
    s.add({In{.shape = {0}}, In{.shape = {2}}}, Attrs{});
    s.bad({In{.shape = {3, 2}}}, Attrs{}, "wrong rank");
    s.bad({}, Attrs{}, "at least one vector");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {3}, .dtype = kF32, .values = {0.125, 1.5, -1.625}}, In{.shape =
      {4}, .dtype = kF32, .values = {1.75, 1.25, 0.125, 0}}, In{.shape = {2}, .dtype = kF32, .values
      = {-0.75, -1}}}, Attrs{.xy = false}, {Expect{{3, 4, 2}, {0.125, 0.125, 0.125, 0.125, 0.125,
      0.125, 0.125, 0.125, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, -1.625, -1.625, -1.625, -1.625,
      -1.625, -1.625, -1.625, -1.625}}, Expect{{3, 4, 2}, {1.75, 1.75, 1.25, 1.25, 0.125, 0.125, 0,
      0, 1.75, 1.75, 1.25, 1.25, 0.125, 0.125, 0, 0, 1.75, 1.75, 1.25, 1.25, 0.125, 0.125, 0, 0}},
      Expect{{3, 4, 2}, {-0.75, -1, -0.75, -1, -0.75, -1, -0.75, -1, -0.75, -1, -0.75, -1, -0.75,
      -1, -0.75, -1, -0.75, -1, -0.75, -1, -0.75, -1, -0.75, -1}}});
    s.expect(source, {In{.shape = {3}, .dtype = kF32, .values = {0.125, 1.5, -1.625}}, In{.shape =
      {4}, .dtype = kF32, .values = {1.75, 1.25, 0.125, 0}}, In{.shape = {2}, .dtype = kF32, .values
      = {-0.75, -1}}}, Attrs{.xy = true}, {Expect{{4, 3, 2}, {0.125, 0.125, 1.5, 1.5, -1.625,
      -1.625, 0.125, 0.125, 1.5, 1.5, -1.625, -1.625, 0.125, 0.125, 1.5, 1.5, -1.625, -1.625, 0.125,
      0.125, 1.5, 1.5, -1.625, -1.625}}, Expect{{4, 3, 2}, {1.75, 1.75, 1.75, 1.75, 1.75, 1.75,
      1.25, 1.25, 1.25, 1.25, 1.25, 1.25, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0, 0, 0, 0, 0,
      0}}, Expect{{4, 3, 2}, {-0.75, -1, -0.75, -1, -0.75, -1, -0.75, -1, -0.75, -1, -0.75, -1,
      -0.75, -1, -0.75, -1, -0.75, -1, -0.75, -1, -0.75, -1, -0.75, -1}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Meshgrid> meshgrid;

}  // namespace lamella
