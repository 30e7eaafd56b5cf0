#include "lamella/ops/signal/stft.h"

#include "lamella/ops/index/gather.h"
#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/pad.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/signal/rfft.h"

namespace lamella {

void check_stft(TypeCx& cx, int64_t n_fft, int64_t hop, size_t window) {
  cx.check(n_fft >= 1 && n_fft <= int64_t{1} << 31 && hop >= 1 && hop <= int64_t{1} << 31,
           "n_fft or hop out of range; got ", n_fft, " and ", hop, "; want 1 to 2^31");
  cx.require_float(0);
  if (!cx.has(window)) return;
  cx.require_rank(window, 1), cx.require_same_dtype(0, window);
  cx.require_equal(cx.shape(window)[0], n_fft, "sizes of window and n_fft");
}

Dim stft_frames(TypeCx& cx, const StftAttrs& a) {
  cx.require_rank(0, 2);
  Dim n = cx.shape(0)[1];
  if (a.center) {
    cx.require_at_least(n, 1, "numbers to mirror");
    n = n + a.n_fft / 2 * 2;
  }
  cx.require_at_least(n, a.n_fft, "numbers and n_fft");
  return floordiv(n - a.n_fft, a.hop) + 1;
}

Value frame_places(Graph& g, Dim frames, const StftAttrs& a) {
  return reshape_to(iota_of(g, frames), {frames, 1}) * static_cast<double>(a.hop) +
         reshape_to(iota_of(g, a.n_fft), {1, a.n_fft});
}

void Stft::type(TypeCx& cx, const Attrs& a) {
  check_stft(cx, a.n_fft, a.hop, 1);
  const Dim frames = stft_frames(cx, a);
  cx.out(cx.in(0).dtype, {cx.shape(0)[0], frames, a.n_fft / 2 + 1, 2});
}

Value Stft::expand(const Args& args, const Attrs& a) {
  Value x = wide(args[0]);
  if (a.center) x = pad(x, {{0, a.n_fft / 2}, {0, a.n_fft / 2}, PadMode::reflect});
  const Dim frames = floordiv(x.shape()[1] - a.n_fft, a.hop) + 1;
  Value framed = gather(x, frame_places(args.graph(), frames, a), {.axis = 1});
  if (args.has(1)) framed = framed * wide(args[1]);
  return as_dtype(rfft(framed), args[0].dtype());
}

namespace {

void add_literal_samples(Samples& s) {
  using Attrs = StftAttrs;
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, tools/golden/signal_samples.py";
  s.expect(source, {In{.shape = {2, 11}, .dtype = kF32, .values = {-1, 0.5, -2, 0.5, 0.125, -1.125,
    -1.375, -1, 2, -0.5, -0.25, 0.25, 2, 1, 0.25, -1.875, 0, 0.25, -1.625, 1.875, 0.625, -1.125}},
    In{.shape = {4}, .dtype = kF32, .values = {0, 0.875, 0, 0}}}, Attrs{.n_fft = 4, .hop = 3,
    .center = false}, {Expect{{2, 3, 3, 2}, {0.4375, 0, 0, -0.4375, -0.4375, 0, 0.109375, 0, 0,
    -0.109375, -0.109375, 0, -0.875, 0, -0, 0.875, 0.875, 0, 1.75, 0, 0, -1.75, -1.75, 0, -1.640625,
    0, 0, 1.640625, 1.640625, 0, -1.421875, 0, 0, 1.421875, 1.421875, 0}}});
  s.expect(source, {In{.shape = {2, 11}, .dtype = kF32, .values = {0.75, 1.25, 1.125, -1.375, -2,
    0.625, -1.125, -1.125, -0.25, 1.875, 1.375, 1.5, 0.875, 0.125, 0.875, 0.625, 2, 1.375, -0.375,
    -1.375, 0.75, -1.25}}, In{.shape = {4}, .dtype = kF32, .values = {1.625, 0, 1.5, 1}}},
    Attrs{.n_fft = 4, .hop = 3, .center = true}, {Expect{{2, 4, 3, 2}, {4.203125, 0, 0.703125, 1.25,
    1.703125, 0, -2.03125, 0, 4.09375, -2, 1.96875, 0, -6.0625, 0, -1.5625, -1.125, -3.8125, 0,
    2.359375, 0, -4.640625, 1.375, -0.390625, 0, 3.328125, 0, -2.046875, 0.875, 1.578125, 0,
    3.359375, 0, 0.109375, 0.625, 2.109375, 0, 2.703125, 0, -1.046875, -0.375, 3.453125, 0,
    -0.734375, 0, -1.734375, -1.25, 1.765625, 0}}});
  // clang-format on
  // golden:end
}

}  // namespace

void Stft::samples(Samples& s) {
  s.add({In{.shape = {2, 37}}, In{.shape = {12}}}, Attrs{12, 5, true}).length = 12;
  s.add({In{.shape = {1, 20}}}, Attrs{7, 3, false}).length = 7;
  s.bad({In{.shape = {20}}}, Attrs{7, 3, false}, "rank");
  s.bad({In{.shape = {1, 6}}}, Attrs{7, 3, false}, "numbers and n_fft");
  s.bad({In{.shape = {1, 20}}}, Attrs{7, 0, false}, "n_fft or hop out of range");
  s.bad({In{.shape = {1, 20}}, In{.shape = {6}}}, Attrs{7, 3, false}, "sizes of window");
  add_literal_samples(s);
}

}  // namespace lamella
