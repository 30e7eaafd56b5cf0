// A decoder block of speech synthesis: text features run through a bidirectional LSTM, are doubled
// in length by a residual block whose norms take scale and shift from a style, and become audio in
// a transposed convolution with periodic (snake) activations.
#include <cmath>

#include "examples/graphs.h"
#include "examples/layers.h"
#include "lamella/ops/activation/leaky_relu.h"
#include "lamella/ops/math/sin.h"
#include "lamella/ops/math/square.h"
#include "lamella/ops/math/tanh.h"
#include "lamella/ops/nn/instance_norm.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/split.h"
#include "lamella/ops/shape/transpose.h"
#include "lamella/ops/shape/unsqueeze.h"
#include "lamella/ops/spatial/resize.h"

namespace lamella::examples {
namespace {

class DecoderBlock {
 public:
  DecoderBlock(Graph& g, const SpeechDecoderSizes& s) : s_(s), l_(g) {}

  Value build(Value text, Value style) {
    style_ = style;
    const Dim steps = text.shape()[2];
    Value x =
        transpose(l_.lstm_both_ways(transpose(text, {{2, 0, 1}}), "lstm", s_.lstm), {{1, 2, 0}});
    x = doubled(x, "encode", steps);
    x = leaky_relu(x, {.alpha = 0.1});
    x = l_.conv_transpose(
        x, "up", s_.channels / 2, 2 * s_.rate,
        {.strides = {s_.rate}, .pads_begin = {s_.rate / 2}, .pads_end = {s_.rate - s_.rate / 2}});
    for (int64_t dilation : s_.dilations) x = periodic(x, str("resblocks.", dilation), dilation);
    x = tanh(same(leaky_relu(x), "post", 1, 7));
    return reshape_to(x, {x.shape()[0], x.shape()[2]});
  }

 private:
  // A convolution that keeps the length.
  Value same(Value x, const std::string& name, int64_t out, int64_t taps, int64_t dilation = 1) {
    const int64_t pad = taps / 2 * dilation;
    return l_.conv(x, name, out, {taps},
                   {.dilations = {dilation}, .pads_begin = {pad}, .pads_end = {pad}});
  }

  // Adaptive instance norm (Huang and Belongie 2017): the style says scale and shift.
  Value ada_norm(Value x, const std::string& name) {
    const int64_t channels = x.shape()[1].value();
    const Values parts = split(l_.linear(style_, name + ".fc", 2 * channels),
                               {.sizes = {channels, channels}, .axis = -1});
    return instance_norm(x) * (1.0 + unsqueeze(parts[0], {{-1}})) + unsqueeze(parts[1], {{-1}});
  }

  // A residual block that doubles the length: (conv(norm(up(norm x))) + conv1(x twice)) / sqrt 2.
  Value doubled(Value x, const std::string& name, Dim steps) {
    const int64_t in = x.shape()[1].value();
    Value y = leaky_relu(ada_norm(x, name + ".norm1"), {.alpha = 0.2});
    y = l_.conv_transpose(
        y, name + ".pool", in, 3,
        {.strides = {2}, .pads_begin = {1}, .pads_end = {1}, .groups = in, .output_padding = {1}});
    y = same(y, name + ".conv1", s_.channels, 3);
    y = leaky_relu(ada_norm(y, name + ".norm2"), {.alpha = 0.2});
    y = same(y, name + ".conv2", s_.channels, 3);
    const Value twice = resize(x, {.axes = {2},
                                   .sizes = {2 * steps},
                                   .coordinates = ResizeCoordinates::asymmetric,
                                   .rounding = ResizeRounding::floor});
    return (y + same(twice, name + ".conv1x1", s_.channels, 1)) / std::sqrt(2.0);
  }

  // x + sin^2(alpha x) / alpha (Ziyin et al. 2020).
  Value snake(Value x, const std::string& name) {
    const Value alpha = l_.weight(name, {x.shape()[1], 1});
    return x + square(sin(x * alpha)) / alpha;
  }

  Value periodic(Value x, const std::string& name, int64_t dilation) {
    const int64_t channels = x.shape()[1].value();
    Value y = snake(ada_norm(x, name + ".adain1"), name + ".alpha1");
    y = same(y, name + ".convs1", channels, 3, dilation);
    y = snake(ada_norm(y, name + ".adain2"), name + ".alpha2");
    return x + same(y, name + ".convs2", channels, 3);
  }

  const SpeechDecoderSizes& s_;
  Layers l_;
  Value style_;
};

}  // namespace

SpeechDecoderSizes style_tts2() {
  return {.channels = 512, .style = 128, .lstm = 256, .rate = 10, .dilations = {1, 3, 5}};
}

Graph speech_decoder(const SpeechDecoderSizes& s) {
  Graph g("speech_decoder");
  const Dim batch = g.symbol("batch"), steps = g.symbol("steps", {.low = 1});
  const Value text = g.input("text", Type(kF32, {batch, s.channels, steps}));
  const Value style = g.input("style", Type(kF32, {batch, s.style}));
  g.output("audio", DecoderBlock(g, s).build(text, style));
  return g;
}

}  // namespace lamella::examples
