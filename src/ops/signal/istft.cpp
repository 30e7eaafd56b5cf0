#include "lamella/ops/signal/istft.h"

#include "lamella/ops/index/scatter_elements.h"
#include "lamella/ops/math/equal.h"
#include "lamella/ops/math/square.h"
#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/slice.h"
#include "lamella/ops/signal/irfft.h"

namespace lamella {

void Istft::type(TypeCx& cx, const Attrs& a) {
  check_stft(cx, a.n_fft, a.hop, 1);
  cx.require_rank(0, 4);
  const Shape& x = cx.shape(0);
  cx.require_equal(x[2], a.n_fft / 2 + 1, "frequencies and n_fft / 2 + 1");
  cx.require_equal(x[3], 2, "last axis and the size of a pair");
  cx.require_at_least(x[1], 1, "frames");
  Dim n = (x[1] - 1) * a.hop + a.n_fft;
  if (a.center) n = n - a.n_fft / 2 * 2;
  cx.out(cx.in(0).dtype, {x[0], n});
}

Value Istft::expand(const Args& args, const Attrs& a) {
  Graph& g = args.graph();
  const Value x = wide(args[0]);
  const Dim batch = x.shape()[0], frames = x.shape()[1], n = (frames - 1) * a.hop + a.n_fft,
            all = frames * a.n_fft;
  const Value at = reshape_to(frame_places(g, frames, a), {1, all});
  // Adds up [rows, frames, n_fft].
  const auto overlapped = [&](Value parts, Dim rows) {
    return scatter_elements(full(g, {rows, n}, x.dtype(), 0), expand_to(at, {rows, all}),
                            reshape_to(parts, {rows, all}), {.axis = 1, .mode = Scatter::add});
  };
  Value parts = irfft(x, {a.n_fft});
  const Value window = args.has(1) ? wide(args[1]) : full(g, {a.n_fft}, x.dtype(), 1);
  parts = parts * window;
  const Value weight = overlapped(expand_to(square(window), {1, frames, a.n_fft}), 1);
  // Where no window reaches, 0 / 1.
  const Value none = cast(equal(weight, scalar_like(weight, 0)), {.to = weight.dtype()});
  Value y = overlapped(parts, batch) / (weight + none);
  if (a.center) y = slice_axis(y, 1, a.n_fft / 2, n - a.n_fft / 2);
  return as_dtype(y, args[0].dtype());
}

namespace {

void add_literal_samples(Samples& s) {
  using Attrs = StftAttrs;
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, tools/golden/signal_samples.py";
  s.expect(source, {In{.shape = {2, 3, 3, 2}, .dtype = kF32, .values = {-1.75, -0.125, -0.625,
    -1.25, -1.75, 1.625, 0.375, 1.875, -1.875, 2, -1, 1.5, 1.125, -0.25, 0.25, -0.75, 1.375, 0,
    -0.375, -1.625, -1.625, -1.75, -1.25, -0.75, 1.125, 0.125, 2, -1.5, 1.625, 2, 1, -1.75, -1.875,
    -0.875, 0.5, 1.125}}, In{.shape = {4}, .dtype = kF32, .values = {0.5, 0.375, 0.125, 0.375}}},
    Attrs{.n_fft = 4, .hop = 2, .center = false}, {Expect{{2, 8}, {-2.375, 1.66666667, -2.32352941,
    -1.70833333, 1.77941176, 2.20833333, 4, -1.16666667, -2.4375, 2.91666667, 3.36764706,
    -0.0416666667, -1.20588235, -0.416666667, 10.5, -0.833333333}}});
  s.expect(source, {In{.shape = {2, 3, 3, 2}, .dtype = kF32, .values = {1.625, -1, 0.5, -1.625,
    1.875, 0.25, 0.375, 0, -0.75, 0.625, -1.5, 1.875, 1.5, 0.5, 2, 0.375, 0.125, 1, 1.25, -0.75,
    1.875, -0.625, -1.75, 0.875, 2, -0.625, 0.5, -0.5, 0.25, -0.5, -0.375, 0.125, -0.625, -0.75,
    -0.5, 1.875}}, In{.shape = {4}, .dtype = kF32, .values = {1.25, 1.25, 2.125, 1.125}}},
    Attrs{.n_fft = 4, .hop = 2, .center = true}, {Expect{{2, 4}, {0.0835475578, -0.279005525,
    0.321979434, 0.379834254, -0.20437018, 0.477900552, 0, 0.254143646}}});
  // clang-format on
  // golden:end
}

}  // namespace

void Istft::samples(Samples& s) {
  s.add({In{.shape = {2, 5, 7, 2}}, In{.shape = {12}, .domain = {0.5, 1}}}, Attrs{12, 5, true})
      .length = 12;
  s.add({In{.shape = {1, 3, 4, 2}}}, Attrs{7, 3, false}).length = 7;
  s.bad({In{.shape = {1, 3, 5, 2}}}, Attrs{7, 3, false}, "frequencies and n_fft / 2 + 1");
  s.bad({In{.shape = {1, 0, 4, 2}}}, Attrs{7, 3, false}, "frames");
  add_literal_samples(s);
}

}  // namespace lamella
