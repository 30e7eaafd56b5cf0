// A step of a diffusion transformer: blocks of attention and a gated perceptron whose norms and
// residuals are modulated by the time, positions along two axes, and an Euler update.
#include <cmath>

#include "examples/graphs.h"
#include "examples/layers.h"
#include "lamella/ops/activation/glu.h"
#include "lamella/ops/attention/attention.h"
#include "lamella/ops/math/cos.h"
#include "lamella/ops/math/mod.h"
#include "lamella/ops/math/silu.h"
#include "lamella/ops/math/sin.h"
#include "lamella/ops/nn/ada_layer_norm.h"
#include "lamella/ops/nn/axial_rope.h"
#include "lamella/ops/nn/gated_residual.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/split.h"
#include "lamella/ops/shape/transpose.h"
#include "lamella/ops/shape/unsqueeze.h"

namespace lamella::examples {
namespace {

Values equal_parts(Value x, int64_t n) {
  const Dim size = floordiv(x.shape().last(), n);
  return split(x, {.sizes = Shape(std::vector<Dim>(static_cast<size_t>(n), size)), .axis = -1});
}

class Transformer {
 public:
  Transformer(Graph& g, const DiffusionSizes& s) : g_(g), s_(s), l_(g) {}

  // The velocity at latent [batch, rows, columns, channels].
  Value velocity(Value latent, Value time) {
    batch_ = latent.shape()[0];
    tokens_ = latent.shape()[1] * latent.shape()[2];
    set_positions(latent.shape()[1], latent.shape()[2]);
    condition_ = silu(embed_time(time));
    Value x = l_.linear(reshape_to(latent, {batch_, tokens_, s_.channels}), "embed", s_.width);
    for (int64_t i = 0; i < s_.blocks; ++i) x = block(x, str("blocks.", i));
    const Values shift_scale = modulation("final", 2);
    x = l_.linear(modulated(x, shift_scale[0], shift_scale[1]), "head", s_.channels);
    return reshape_to(x, latent.shape());
  }

 private:
  // cos and sin of the time at falling frequencies, through a perceptron.
  Value embed_time(Value time) {
    const int64_t half = s_.time_size / 2;
    std::vector<double> frequencies;
    for (int64_t i = 0; i < half; ++i)
      frequencies.push_back(s_.time_scale * std::exp(-std::log(10000.0) * static_cast<double>(i) /
                                                     static_cast<double>(half)));
    const Value angles =
        unsqueeze(time, {{-1}}) * g_.constant(Tensor::from(kF32, {half}, frequencies));
    const Value waves = concat({cos(angles), sin(angles)}, {.axis = -1});
    return l_.linear(silu(l_.linear(waves, "time.0", s_.width)), "time.2", s_.width);
  }

  // Row and column of each token of each latent.
  void set_positions(Dim rows, Dim columns) {
    const Value token = iota_of(g_, batch_ * tokens_);
    const Value row = mod(token / g_.sizes({columns}), g_.sizes({rows}));
    const Value column = mod(token, g_.sizes({columns}));
    positions_ = concat({unsqueeze(row, {{0}}), unsqueeze(column, {{0}})}, {.axis = 0});
  }

  // Numbers for n uses, [batch, width] each, from the time.
  Values modulation(const std::string& name, int64_t n) {
    return equal_parts(l_.linear(condition_, name + ".modulation", n * s_.width), n);
  }
  Value modulated(Value x, Value shift, Value scale) {
    return ada_layer_norm(x, scale, shift, {.eps = 1e-6});
  }

  Value attend(Value x, const std::string& name) {
    const int64_t size = s_.width / s_.heads;
    Values qkv = equal_parts(l_.linear(x, name + ".qkv", 3 * s_.width), 3);
    for (size_t i = 0; i < 3; ++i) {
      Value heads = reshape_to(qkv[i], {batch_ * tokens_, s_.heads, size});
      if (i < 2) heads = axial_rope(heads, positions_);
      qkv[i] = transpose(reshape_to(heads, {batch_, tokens_, s_.heads, size}), {{0, 2, 1, 3}});
    }
    const Value y = transpose(attention(qkv[0], qkv[1], qkv[2]), {{0, 2, 1, 3}});
    return l_.linear(reshape_to(y, {batch_, tokens_, s_.width}), name + ".proj", s_.width);
  }

  Value block(Value x, const std::string& name) {
    const Values m = modulation(name, 6);
    x = gated_residual(x, attend(modulated(x, m[0], m[1]), name + ".attn"), m[2]);
    const Value up = l_.linear(modulated(x, m[3], m[4]), name + ".mlp.up", 2 * s_.hidden);
    const Value gated = glu(up, {.gate = Gate::silu, .gate_first = true});
    return gated_residual(x, l_.linear(gated, name + ".mlp.down", s_.width), m[5]);
  }

  Graph& g_;
  const DiffusionSizes& s_;
  Layers l_;
  Dim batch_, tokens_;
  Value positions_, condition_;
};

}  // namespace

Graph diffusion_step(const DiffusionSizes& s) {
  Graph g("diffusion_step");
  const Dim batch = g.symbol("batch"), rows = g.symbol("rows"), columns = g.symbol("columns");
  const Value latent = g.input("latent", Type(kF32, {batch, rows, columns, s.channels}));
  const Value time = g.input("time", Type(kF32, {batch}));
  const Value step = g.input("step", Type(kF32, {batch}));
  const Value velocity = Transformer(g, s).velocity(latent, time);
  g.output("next", latent + velocity * unsqueeze(step, {{1, 2, 3}}));
  return g;
}

}  // namespace lamella::examples
