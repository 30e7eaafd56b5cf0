// What the pools share: windows of taps along one to three axes behind batch and channels.
#pragma once

#include "lamella/ops/spatial/conv_geometry.h"

namespace lamella {

struct PoolAttrs {
  std::vector<int64_t> kernel = {};  // taps of each axis
  std::vector<int64_t> strides = {}, dilations = {}, pads_begin = {}, pads_end = {};
  AutoPad auto_pad = AutoPad::explicit_;
  bool ceil_mode = false;
  bool count_include_pad = false;
  bool operator==(const PoolAttrs&) const = default;
  static constexpr void fields(auto&& f) {
    f("kernel", &PoolAttrs::kernel), f("strides", &PoolAttrs::strides),
        f("dilations", &PoolAttrs::dilations), f("pads_begin", &PoolAttrs::pads_begin),
        f("pads_end", &PoolAttrs::pads_end), f("auto_pad", &PoolAttrs::auto_pad),
        f("ceil_mode", &PoolAttrs::ceil_mode),
        f("count_include_pad", &PoolAttrs::count_include_pad);
  }
  // As conv has them; `sizes` are the output's places.
  ConvAttrs as_conv(Shape sizes) const {
    return {strides, dilations, pads_begin, pads_end, auto_pad, 1, std::move(sizes)};
  }
};

// Checks x [batch, channels, ...] and gives the output's sizes.
Shape pool_shape(TypeCx& cx, const PoolAttrs& a);

// The windows of pool x to y, every channel a batch entry of its own.
ConvGeometry pool_geometry(const PoolAttrs& a, std::span<const int64_t> x,
                           std::span<const int64_t> y);

// Samples of shapes and attributes, and bad ones.
void add_pool_samples(Samples& s);

}  // namespace lamella
