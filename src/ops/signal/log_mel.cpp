#include "lamella/ops/signal/log_mel.h"

#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/math/log.h"
#include "lamella/ops/math/log10.h"
#include "lamella/ops/math/maximum.h"
#include "lamella/ops/math/square.h"
#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/reduce/sum.h"

namespace lamella {

void LogMel::type(TypeCx& cx, const Attrs& a) {
  check_stft(cx, a.n_fft, a.hop, 2);
  const Dim frames = stft_frames(cx, {a.n_fft, a.hop, a.center});
  cx.require_rank(1, 2), cx.require_same_dtype(0, 1);
  cx.require_equal(cx.shape(1)[1], a.n_fft / 2 + 1, "frequencies of filters and n_fft / 2 + 1");
  cx.check(a.floor > 0, "wants a floor above 0; got ", a.floor);
  cx.out(cx.in(0).dtype, {cx.shape(0)[0], frames, cx.shape(1)[0]});
}

Value LogMel::expand(const Args& args, const Attrs& a) {
  const Value x = wide(args[0]);
  const StftAttrs stft_attrs{a.n_fft, a.hop, a.center};
  const Value spectrum = args.has(2) ? stft(x, wide(args[2]), stft_attrs) : stft(x, stft_attrs);
  const Value mel = matmul(sum(square(spectrum), {.axes = {3}}), wide(args[1]));
  const Value most = maximum(mel, scalar_like(mel, a.floor));
  return as_dtype(a.base10 ? log10(most) : log(most), args[0].dtype());
}

namespace {

void add_literal_samples(Samples& s) {
  using Attrs = LogMel::Attrs;
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, tools/golden/signal_samples.py";
  s.expect(source, {In{.shape = {2, 9}, .dtype = kF32, .values = {1.625, -1.5, -2, 0.5, -1.625,
    -0.125, 1.375, 1.375, -1.5, -1.25, 0.875, -1.5, -1.75, -2, 0.75, 2, -1.875, 1.375}}, In{.shape =
    {2, 3}, .dtype = kF32, .values = {0.5, 0.125, 0.5, 2, 1, 1.75}}, In{.shape = {4}, .dtype = kF32,
    .values = {0.875, 1.75, 1, 0.375}}}, Attrs{.n_fft = 4, .hop = 2, .floor = 4}, {Expect{{2, 5, 2},
    {1.08390905, 1.73241732, 0.940917617, 1.64204491, 1.08581131, 1.65083746, 0.602059991,
    0.93919983, 0.999376633, 1.63137489, 1.00881763, 1.56416756, 0.909124648, 1.50399206,
    1.30459118, 1.9365881, 0.602059991, 1.29728566, 1.42307029, 1.98549396}}});
  s.expect(source, {In{.shape = {2, 9}, .dtype = kF32, .values = {1.625, -1.5, -2, 0.5, -1.625,
    -0.125, 1.375, 1.375, -1.5, -1.25, 0.875, -1.5, -1.75, -2, 0.75, 2, -1.875, 1.375}}, In{.shape =
    {2, 3}, .dtype = kF32, .values = {0.5, 0.125, 0.5, 2, 1, 1.75}}, In{.shape = {4}, .dtype = kF32,
    .values = {0.875, 1.75, 1, 0.375}}}, Attrs{.n_fft = 4, .hop = 2, .floor = 4, .base10 = false},
    {Expect{{2, 5, 2}, {2.49579282, 3.9890383, 2.16654288, 3.78094814, 2.50017293, 3.80119373,
    1.38629436, 2.16258753, 2.30114974, 3.75637951, 2.32288844, 3.6016289, 2.09333686, 3.46306969,
    3.0039322, 4.4591589, 1.38629436, 2.98711062, 3.27674044, 4.57176879}}});
  // clang-format on
  // golden:end
}

}  // namespace

void LogMel::samples(Samples& s) {
  s.add({In{.shape = {2, 37}}, In{.shape = {5, 7}, .domain = {0, 1}}, In{.shape = {12}}},
        Attrs{12, 5, true, 1e-3})
      .length = 12;
  s.add({In{.shape = {1, 20}}, In{.shape = {3, 4}, .domain = {0, 1}}},
        Attrs{7, 3, false, 1e-3, false})
      .length = 7;
  s.bad({In{.shape = {1, 20}}, In{.shape = {3, 5}}}, Attrs{7, 3, false}, "frequencies of filters");
  s.bad({In{.shape = {1, 20}}, In{.shape = {3, 4}}}, Attrs{7, 3, false, 0}, "floor above 0");
  add_literal_samples(s);
}

}  // namespace lamella
