#include "lamella/ops/spatial/conv_samples.h"

#include "lamella/ops/spatial/conv.h"

namespace lamella {

const std::vector<ConvShapes>& conv_shapes() {
  static const std::vector<ConvShapes> shapes{
      {{2, 3, 7}, {5, 3, 3}, {}, true},
      {{1, 2, 50}, {3, 2, 16}, {.strides = {5}, .pads_begin = {4}, .pads_end = {9}}},
      {{2, 3, 9, 8}, {9, 3, 3, 3}, {.pads_begin = {1, 1}, .pads_end = {1, 1}}, true},
      {{1, 17, 5, 6}, {19, 17, 1, 1}, {}},
      {{1, 4, 11, 9}, {6, 4, 3, 5}, {.strides = {2, 3}, .pads_begin = {0, 2}, .pads_end = {3, 1}}},
      {{2, 6, 10, 7}, {4, 3, 2, 3}, {.dilations = {3, 2}, .groups = 2}, true},
      {{1, 5, 9, 40}, {5, 1, 3, 3}, {.pads_begin = {1, 1}, .pads_end = {1, 1}, .groups = 5}},
      {{2, 3, 12, 9}, {6, 1, 5, 3}, {.strides = {2, 2}, .dilations = {1, 2}, .groups = 3}},
      {{1, 2, 8, 5}, {3, 2, 3, 2}, {.strides = {3, 2}, .auto_pad = AutoPad::same_upper}, true},
      {{1, 2, 8, 5}, {3, 2, 4, 3}, {.strides = {1, 2}, .auto_pad = AutoPad::same_lower}},
      {{1, 2, 6, 5}, {3, 2, 3, 3}, {.pads_begin = {-1, 0}, .pads_end = {2, -1}}},
      {{1, 2, 4, 5, 6}, {3, 2, 2, 3, 2}, {.pads_begin = {1, 0, 1}, .pads_end = {0, 1, 1}}, true},
      {{2, 2, 5, 4, 7}, {2, 1, 3, 1, 2}, {.strides = {2, 1, 3}, .groups = 2}},
      {{0, 2, 5}, {3, 2, 3}, {}},
  };
  return shapes;
}

std::vector<int64_t> conv_output(const ConvShapes& s) {
  Graph g("shapes");
  const auto typed = [](const std::vector<int64_t>& sizes) {
    Shape shape;
    for (int64_t d : sizes) shape.dims.push_back(d);
    return Type(kF32, shape);
  };
  std::vector<int64_t> sizes;
  const Shape y = conv(g.input("x", typed(s.x)), g.input("w", typed(s.w)), s.a).shape();
  for (Dim d : y) sizes.push_back(d.value());
  return sizes;
}

int64_t product_of(const std::vector<int64_t>& sizes, size_t first) {
  int64_t n = 1;
  for (size_t i = first; i < sizes.size(); ++i) n *= sizes[i];
  return n;
}

std::vector<In> conv_inputs(std::vector<int64_t> x, std::vector<int64_t> w, int64_t bias) {
  std::vector<In> in{In{.shape = std::move(x)}, In{.shape = std::move(w)}};
  if (bias > 0) in.push_back(In{.shape = {bias}});
  return in;
}

Shape places_of(const std::vector<int64_t>& x) {
  Shape s;
  for (size_t i = 2; i < x.size(); ++i) s.dims.push_back(x[i]);
  return s;
}

}  // namespace lamella
