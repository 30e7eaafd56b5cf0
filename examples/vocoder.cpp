// A vocoder: ConvNeXt blocks over frames, then magnitudes and phases that an inverse STFT turns
// into audio. Nothing is upsampled on the way, which makes it fast.
#include "examples/graphs.h"
#include "examples/layers.h"
#include "lamella/ops/math/cos.h"
#include "lamella/ops/math/exp.h"
#include "lamella/ops/math/gelu.h"
#include "lamella/ops/math/minimum.h"
#include "lamella/ops/math/sin.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/slice.h"
#include "lamella/ops/shape/split.h"
#include "lamella/ops/shape/unsqueeze.h"
#include "lamella/ops/signal/istft.h"

namespace lamella::examples {
namespace {

// x [batch, frames, channels]: a depthwise convolution, then a perceptron for each frame.
Value conv_next_block(Layers& l, Value x, const std::string& name, const VocoderSizes& s) {
  Value y = l.conv(swap_last_axes(x), name + ".dwconv", s.channels, {7},
                   {.dilations = {}, .pads_begin = {3}, .pads_end = {3}, .groups = s.channels});
  y = l.layer_norm(swap_last_axes(y), name + ".norm");
  y = gelu(l.linear(y, name + ".pwconv1", s.hidden));
  y = l.linear(y, name + ".pwconv2", s.channels);
  return x + y * l.weight(name + ".gamma", {s.channels});
}

// Real and imaginary parts as pairs: [batch, frames, bins, 2].
Value polar(Value magnitude, Value phase) {
  return concat(
      {unsqueeze(magnitude * cos(phase), {{-1}}), unsqueeze(magnitude * sin(phase), {{-1}})},
      {.axis = -1});
}

}  // namespace

Graph vocoder(const VocoderSizes& s) {
  Graph g("vocoder");
  Layers l(g);
  const Dim batch = g.symbol("batch"), frames = g.symbol("frames", {.low = 1});
  const Value mel = g.input("mel", Type(kF32, {batch, s.mels, frames}));

  Value x = l.conv(mel, "embed", s.channels, {7}, {.pads_begin = {3}, .pads_end = {3}});
  x = l.layer_norm(swap_last_axes(x), "norm");
  for (int64_t i = 0; i < s.blocks; ++i) x = conv_next_block(l, x, str("blocks.", i), s);
  x = l.layer_norm(x, "final_norm");

  const int64_t bins = s.n_fft / 2 + 1;
  const Values head = split(l.linear(x, "head", 2 * bins), {.sizes = {bins, bins}, .axis = -1});
  const Value magnitude = minimum(exp(head[0]), scalar_like(head[0], 100));
  Value audio = istft(polar(magnitude, head[1]), hann(g, s.n_fft),
                      {.n_fft = s.n_fft, .hop = s.hop, .center = false});
  // Frames overhang their hop evenly on both sides.
  const int64_t overhang = (s.n_fft - s.hop) / 2;
  audio = slice_axis(audio, 1, overhang, overhang + frames * s.hop);
  g.output("audio", audio);
  return g;
}

}  // namespace lamella::examples
