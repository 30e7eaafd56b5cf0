// A detector of speech in audio that comes chunk by chunk: a short-time spectrum, a convolution
// over frames and an LSTM. What each of them needs of the past is a state of the graph: an input
// that a run replaces.
#include "examples/graphs.h"
#include "examples/layers.h"
#include "lamella/ops/math/log1p.h"
#include "lamella/ops/math/relu.h"
#include "lamella/ops/math/sigmoid.h"
#include "lamella/ops/math/square.h"
#include "lamella/ops/recurrent/lstm.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/slice.h"
#include "lamella/ops/shape/transpose.h"
#include "lamella/ops/signal/stft.h"

namespace lamella::examples {
namespace {

constexpr int64_t kTaps = 3;

// The state `name` of `size` places, then x, along the last axis; the last places of both are the
// next state.
Value with_past(Graph& g, const std::string& name, Value x, int64_t size) {
  Shape shape = x.shape();
  shape[-1] = size;
  const Value all = concat({g.state(name, Type(kF32, shape)), x}, {.axis = -1});
  const Dim end = all.shape().last();
  g.set_state(name, slice_axis(all, -1, end - size, end));
  return all;
}

}  // namespace

Graph voice_detector(const DetectorSizes& s) {
  Graph g("voice_detector");
  Layers l(g);
  const Dim batch = g.symbol("batch"), hops = g.symbol("hops", {.low = 1});
  const Value chunk = g.input("chunk", Type(kF32, {batch, hops, s.hop}));

  // The logarithm of 1 + the power at each frequency.
  const Value audio =
      with_past(g, "audio", reshape_to(chunk, {batch, hops * s.hop}), s.n_fft - s.hop);
  const Value spectrum =
      stft(audio, hann(g, s.n_fft), {.n_fft = s.n_fft, .hop = s.hop, .center = false});
  const Value power = log1p(sum(square(spectrum), {.axes = {-1}}));

  const Value frames = with_past(g, "frames", swap_last_axes(power), kTaps - 1);
  Value x = relu(l.conv(frames, "conv", s.channels, {kTaps}));
  x = transpose(x, {{2, 0, 1}});

  const auto [w, r, bias] = l.recurrence("lstm", 1, s.channels, s.lstm);
  const Type memory(kF32, {1, batch, s.lstm});
  const Value h = g.state("h", memory), c = g.state("c", memory);
  const Values after = lstm({x, w, r, bias, Value{}, h, c});
  g.set_state("h", after[1]);
  g.set_state("c", after[2]);

  const Value y = reshape_to(after[0], {hops, batch, s.lstm});
  const Value speech = sigmoid(l.linear(relu(y), "head", 1));
  g.output("speech", transpose(reshape_to(speech, {hops, batch})));
  return g;
}

}  // namespace lamella::examples
