#include "lamella/ops/recurrent/selective_scan.h"

#include "lamella/ops/math/exp.h"
#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/recurrent/selective_scan_grad.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {
namespace {

enum : size_t { kState, kX, kDt, kA, kB, kC, kStart, kSlot, kD, kKept };

}  // namespace

void check_selective_scan_inputs(TypeCx& cx) {
  cx.require_rank(kX, 2), cx.require_float(kX), cx.require_rank(kState, 3);
  const Dim tokens = cx.shape(kX)[0], channels = cx.shape(kX)[1], n = cx.shape(kState)[2];
  require_sizes(cx, kState, {cx.shape(kState)[0], channels, n});
  require_sizes(cx, kDt, {tokens, channels});
  require_sizes(cx, kA, {channels, n});
  require_sizes(cx, kB, {tokens, n});
  require_sizes(cx, kC, {tokens, n});
  check_ragged(cx, kStart);
}

void SelectiveScan::type(TypeCx& cx, const NoAttrs&) {
  check_selective_scan_inputs(cx);
  check_kept(cx, kKept, kSlot);
  if (cx.has(kD)) require_sizes(cx, kD, {cx.shape(kX)[1]});
  cx.out(cx.in(kState).dtype, cx.shape(kState));
  cx.out(cx.in(kX).dtype, cx.shape(kX));
}

Values SelectiveScan::expand(const Args& args, const NoAttrs&) {
  const Dim channels = args[kX].shape()[1], n = args[kState].shape()[2];
  const DType type = wide_dtype(args[kX].dtype());
  const auto step = [&](Value h, const Values& x, const Values& captures) {
    const Value dt = reshape_to(x[1], {channels, 1}), in = reshape_to(x[0], {channels, 1});
    const Value next = h * exp(dt * captures[0]) + dt * in * reshape_to(x[2], {1, n});
    return std::pair(next, sum(next * reshape_to(x[3], {1, n}), {.axes = {1}}));
  };
  Values out = ragged_scan(args[kState], {args[kX], args[kDt], args[kB], args[kC]}, {args[kA]},
                           {args[kStart], args[kSlot], args[kKept]}, type, step);
  if (args.has(kD)) out[1] = out[1] + as_dtype(args[kD], type) * as_dtype(args[kX], type);
  out[1] = as_dtype(out[1], args[kX].dtype());
  return out;
}

void SelectiveScan::vjp(VjpCx& cx, const NoAttrs&) {
  CHECK_USER(!cx.has(kKept), "selective_scan: no gradient with kept; want it without");
  const auto gradient = [&](size_t output, size_t like) {
    const Type& type = cx.in(like).type();
    return cx.has_grad(output) ? cx.grad(output) : full(cx.graph(), type.shape, type.dtype, 0);
  };
  const Value d_y = gradient(1, kX);
  const Values d =
      selective_scan_grad({cx.in(kState), cx.in(kX), cx.in(kDt), cx.in(kA), cx.in(kB), cx.in(kC),
                           cx.in(kStart), cx.in(kSlot), gradient(0, kState), d_y});
  for (size_t i = 0; i < d.size(); ++i) cx.set(i, d[i]);
  if (!cx.has(kD)) return;
  cx.set(kX, d[kX] + d_y * cx.in(kD));
  cx.set(kD, sum(d_y * cx.in(kX), {.axes = {0}}));
}

std::vector<In> selective_scan_inputs(int64_t slots, int64_t tokens, int64_t channels, int64_t n,
                                      In q_start, In slot) {
  return {In{.shape = {slots, channels, n}},
          In{.shape = {tokens, channels}},
          In{.shape = {tokens, channels}, .domain = {0, 1}},
          In{.shape = {channels, n}, .domain = {-2, 0}},
          In{.shape = {tokens, n}},
          In{.shape = {tokens, n}},
          std::move(q_start),
          std::move(slot)};
}

namespace {

void add_literal_samples(Samples& s) {
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, tools/golden/ragged_samples.py";
  s.expect(source, {In{.shape = {3, 2, 3}, .dtype = kF32, .values = {0.5, -0.875, -0.875, 0.625,
    0.875, -0.625, -0.375, 0.375, 0.125, 0.75, 0, 0.5, -0.25, -0.875, -0.25, 0.25, 0.75, -0.75}},
    In{.shape = {5, 2}, .dtype = kF32, .values = {-0.875, 0.75, 0.125, -0.625, 0, -0.625, 1, -0.25,
    -0.625, 0.125}}, In{.shape = {5, 2}, .dtype = kF32, .values = {0.375, 1, 0.5, 0.125, 0, 0.875,
    1, 0.375, 1, 1}}, In{.shape = {2, 3}, .dtype = kF32, .values = {-1.875, -0.75, -1.5, -1.625,
    -0.875, -1}}, In{.shape = {5, 3}, .dtype = kF32, .values = {-0.5, 0.5, 0.875, 0.75, -0.25,
    -0.125, -0.25, -0.25, -1, 0.5, -0.625, -0.875, -0.25, 0.375, -0.25}}, In{.shape = {5, 3}, .dtype
    = kF32, .values = {-0.25, 0.125, 0.375, -0.5, -0.875, 1, -0.5, -0.375, -0.5, 0.75, -0.375, -1,
    1, 0.375, 0.75}}, In{.shape = {4}, .dtype = kI32, .values = {0, 2, 2, 5}}, In{.shape = {3},
    .dtype = kI32, .values = {2, 1, 0}}, In{.shape = {2}, .dtype = kF32, .values = {-0.125,
    -0.875}}}, NoAttrs{}, {Expect{{3, 2, 3}, {0.244686356, -0.724842986, -0.082552575,
    -0.00970001502, 0.234528297, 0.071324749, -0.375, 0.375, 0.125, 0.75, 0, 0.5, 0.0626580875,
    -0.582327417, -0.210719953, -0.324481174, 0.635933602, 0.345414867}}, Expect{{5, 2},
    {-0.164852431, -0.346223508, 0.251862493, 0.498088552, 0.515625, 0.0560915451, 1.76711728,
    -0.146806008, -0.0109191945, 0.0223666583}}});
  s.expect(source, {In{.shape = {3, 2, 3}, .dtype = kF32, .values = {-0.5, 0.125, -0.625, 1, -0.5,
    0.625, -0.875, -1, 0.625, 0.5, -0.75, 0.625, 0.75, 0.875, -1, 0.125, -0.5, -0.125}}, In{.shape =
    {5, 2}, .dtype = kF32, .values = {-1, -0.625, 0.375, 0.25, -0.375, -0.5, -0.625, -0.5, -0.125,
    0.125}}, In{.shape = {5, 2}, .dtype = kF32, .values = {0.75, 0, 0, 0.5, 0.875, 0.25, 0, 0.5, 0,
    0.125}}, In{.shape = {2, 3}, .dtype = kF32, .values = {-0.5, -0.5, -1.625, -0.25, -0.375,
    -0.625}}, In{.shape = {5, 3}, .dtype = kF32, .values = {0.25, 0.875, -1, 0.875, 0.25, 0.25, 0,
    0.5, 0.625, -0.75, -0.75, 0.125, -0.375, 1, 0.25}}, In{.shape = {5, 3}, .dtype = kF32, .values =
    {0.5, 1, 1, 0.875, -0.375, -0.375, -0.75, 0.125, -0.875, 0.375, -1, 0.375, 0.25, -0.125,
    0.375}}, In{.shape = {4}, .dtype = kI32, .values = {0, 2, 2, 5}}, In{.shape = {3}, .dtype =
    kI32, .values = {2, 1, 0}}}, NoAttrs{}, {Expect{{3, 2, 3}, {-0.322824263, -0.0833564342,
    -0.355866392, 0.97939443, -0.21503931, 0.283864954, -0.875, -1, 0.625, 0.5, -0.75, 0.625,
    0.327966959, -0.0548718811, 0.454400565, 0.219687113, -0.383264559, -0.0602019536}}, Expect{{5,
    2}, {0.563512163, -0.5625, 0.137147833, 0.358526166, 0.543081736, -1.1686868, -0.171152562,
    0.736447866, -0.203736409, 0.378177879}}});
  // clang-format on
  // golden:end
}

}  // namespace

void SelectiveScan::samples(Samples& s) {
  const auto inputs = [](int64_t slots, int64_t tokens, int64_t channels, int64_t n, bool d,
                         In q_start, In slot) {
    std::vector<In> in =
        selective_scan_inputs(slots, tokens, channels, n, std::move(q_start), std::move(slot));
    if (d) in.push_back(In{.shape = {channels}});
    return in;
  };
  const In starts = ragged_ints({0, 2, 2, 7}), slots = ragged_ints({3, 0, 1});
  s.add(inputs(4, 7, 5, 16, true, starts, slots)).length = 16;
  s.add(inputs(4, 7, 3, 5, false, starts, slots)).length = 5;
  s.add(inputs(4, 7, 2, 35, true, starts, slots)).length = 35;
  std::vector<In> kept = inputs(6, 8, 3, 5, true, ragged_ints({0, 3, 3, 8}), slots);
  kept[7] = ragged_ints({2, 0, 3});
  kept.push_back(ragged_table(4, {-1, 1, -1, 2, -1, -1, -1, -1, 4, -1, 5, 3}));
  Sample& with_kept = s.add(std::move(kept));
  with_kept.length = 8, with_kept.grad = false;
  s.add(inputs(1, 0, 2, 3, true, ragged_ints({0, 0}), ragged_ints({0})));
  auto bad = [&](size_t i, In with, const char* message) {
    std::vector<In> in = inputs(2, 4, 3, 5, true, ragged_ints({0, 4}), ragged_ints({0}));
    in[i] = std::move(with);
    s.bad(std::move(in), NoAttrs{}, message);
  };
  bad(2, In{.shape = {4, 2}}, "sizes of dt at axis 1");
  bad(3, In{.shape = {3, 4}}, "sizes of a at axis 1");
  bad(4, In{.shape = {3, 5}}, "sizes of b at axis 0");
  bad(8, In{.shape = {4}}, "sizes of d at axis 0");
  bad(7, ragged_ints({2}), "out of range");
  add_literal_samples(s);
}

}  // namespace lamella
