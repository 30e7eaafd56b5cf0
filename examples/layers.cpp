#include "examples/layers.h"

#include <cmath>
#include <numbers>

#include "lamella/ops/linalg/linear.h"
#include "lamella/ops/nn/layer_norm.h"
#include "lamella/ops/recurrent/lstm.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/transpose.h"

namespace lamella::examples {

Value Layers::weight(const std::string& name, Shape shape) {
  return g_.parameter(name, Type(kF32, std::move(shape)));
}

Value Layers::linear(Value x, const std::string& name, int64_t out) {
  const auto scope = g_.origin(name);
  return lamella::linear(x, weight(name + ".weight", {out, x.shape().last()}),
                         weight(name + ".bias", {out}));
}

Value Layers::conv(Value x, const std::string& name, int64_t out, const std::vector<int64_t>& taps,
                   ConvAttrs attrs) {
  const auto scope = g_.origin(name);
  Shape shape{out, floordiv(x.shape()[1], attrs.groups)};
  for (int64_t n : taps) shape.dims.push_back(n);
  return lamella::conv(x, weight(name + ".weight", std::move(shape)), weight(name + ".bias", {out}),
                       std::move(attrs));
}

Value Layers::conv_transpose(Value x, const std::string& name, int64_t out, int64_t taps,
                             ConvTranspose::Attrs attrs) {
  const auto scope = g_.origin(name);
  const Value w = weight(name + ".weight", {x.shape()[1], out / attrs.groups, taps});
  return lamella::conv_transpose(x, w, weight(name + ".bias", {out}), std::move(attrs));
}

Value Layers::layer_norm(Value x, const std::string& name) {
  const auto scope = g_.origin(name);
  const Dim size = x.shape().last();
  return lamella::layer_norm(x, weight(name + ".weight", {size}), weight(name + ".bias", {size}),
                             {.eps = 1e-6});
}

Layers::Recurrence Layers::recurrence(const std::string& name, int64_t directions, Dim in,
                                      int64_t hidden) {
  return {weight(name + ".w", {directions, 4 * hidden, in}),
          weight(name + ".r", {directions, 4 * hidden, hidden}),
          weight(name + ".bias", {directions, 8 * hidden})};
}

Value Layers::lstm_both_ways(Value x, const std::string& name, int64_t hidden) {
  const auto scope = g_.origin(name);
  const Dim steps = x.shape()[0], batch = x.shape()[1];
  const auto [w, r, bias] = recurrence(name, 2, x.shape()[2], hidden);
  const Value y = lstm(x, w, r, bias, {.direction = Direction::bidirectional})[0];
  return reshape_to(transpose(y, {{0, 2, 1, 3}}), {steps, batch, 2 * hidden});
}

Value hann(Graph& graph, int64_t n) {
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i)
    values.push_back(0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) /
                                          static_cast<double>(n)));
  return graph.constant(Tensor::from(kF32, {n}, values));
}

Value swap_last_axes(Value x) { return transpose(x, {{0, 2, 1}}); }

}  // namespace lamella::examples
