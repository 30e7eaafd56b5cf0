// What the samples of conv, conv_transpose and conv_grad_w share: shapes of x and w, and
// attributes.
#pragma once

#include "lamella/ops/spatial/conv_geometry.h"

namespace lamella {

struct ConvShapes {
  std::vector<int64_t> x, w;  // of conv
  ConvAttrs a;
  bool bias = false;
};
const std::vector<ConvShapes>& conv_shapes();

// The sizes of conv's output for them.
std::vector<int64_t> conv_output(const ConvShapes& s);

// The product of sizes from axis `first` on.
int64_t product_of(const std::vector<int64_t>& sizes, size_t first);

// x, w and, for bias > 0, a bias of that size.
std::vector<In> conv_inputs(std::vector<int64_t> x, std::vector<int64_t> w, int64_t bias);

// Sizes behind batch and channels.
Shape places_of(const std::vector<int64_t>& x);

}  // namespace lamella
