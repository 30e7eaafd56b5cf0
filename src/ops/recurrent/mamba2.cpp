#include "lamella/ops/recurrent/mamba2.h"

#include "lamella/ops/math/exp.h"
#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/recurrent/mamba2_grad.h"
#include "lamella/ops/recurrent/mamba2_heads.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {
namespace {

enum : size_t { kState, kX, kDt, kA, kB, kC, kStart, kSlot, kD, kKept, kLength };

}  // namespace

void check_mamba2_inputs(TypeCx& cx) {
  cx.require_rank(kX, 3), cx.require_float(kX), cx.require_rank(kState, 4), cx.require_rank(kB, 3);
  const Dim tokens = cx.shape(kX)[0], heads = cx.shape(kX)[1], p = cx.shape(kX)[2],
            n = cx.shape(kState)[3], groups = cx.shape(kB)[1];
  cx.require_at_least(groups, 1, "groups");
  cx.require_equal(dim_mod(heads, groups), 0, "heads modulo groups, and zero");
  require_sizes(cx, kState, {cx.shape(kState)[0], heads, p, n});
  require_sizes(cx, kDt, {tokens, heads});
  require_sizes(cx, kA, {heads});
  require_sizes(cx, kB, {tokens, groups, n});
  require_sizes(cx, kC, {tokens, groups, n});
  check_ragged(cx, kStart);
}

void Mamba2::type(TypeCx& cx, const NoAttrs&) {
  check_mamba2_inputs(cx);
  check_kept(cx, kKept, kSlot), check_length(cx, kLength, kSlot);
  if (cx.has(kD)) require_sizes(cx, kD, {cx.shape(kX)[1]});
  cx.out(cx.in(kState).dtype, cx.shape(kState));
  cx.out(cx.in(kX).dtype, cx.shape(kX));
}

Values Mamba2::expand(const Args& args, const NoAttrs&) {
  const Dim heads = args[kX].shape()[1], p = args[kX].shape()[2];
  const DType type = wide_dtype(args[kX].dtype());
  const auto step = [&](Value h, const Values& x, const Values& captures) {
    const Value dt = reshape_to(x[1], {heads, 1, 1}), in = reshape_to(x[0], {heads, p, 1});
    const Value decay = exp(dt * reshape_to(captures[0], {heads, 1, 1}));
    const Value next = h * decay + dt * in * for_heads(x[2], heads);
    return std::pair(next, sum(next * for_heads(x[3], heads), {.axes = {2}}));
  };
  Values out = ragged_scan(args[kState], {args[kX], args[kDt], args[kB], args[kC]}, {args[kA]},
                           {args[kStart], args[kSlot], args[kKept]}, type, step);
  if (args.has(kD))
    out[1] = out[1] + reshape_to(as_dtype(args[kD], type), {heads, 1}) * as_dtype(args[kX], type);
  out[1] = as_dtype(out[1], args[kX].dtype());
  return out;
}

void Mamba2::vjp(VjpCx& cx, const NoAttrs&) {
  CHECK_USER(!cx.has(kKept), "mamba2: no gradient with kept; want it without");
  const auto gradient = [&](size_t output, size_t like) {
    const Type& type = cx.in(like).type();
    return cx.has_grad(output) ? cx.grad(output) : full(cx.graph(), type.shape, type.dtype, 0);
  };
  const Value d_y = gradient(1, kX);
  const Values d = mamba2_grad({cx.in(kState), cx.in(kX), cx.in(kDt), cx.in(kA), cx.in(kB),
                                cx.in(kC), cx.in(kStart), cx.in(kSlot), gradient(0, kState), d_y});
  const Dim tokens = cx.in(kX).shape()[0], heads = cx.in(kX).shape()[1],
            groups = cx.in(kB).shape()[1], n = cx.in(kB).shape()[2];
  const auto of_groups = [&](Value x) {
    return sum(reshape_to(x, {tokens, groups, floordiv(heads, groups), n}), {.axes = {2}});
  };
  cx.set(kState, d[kState]), cx.set(kDt, d[kDt]), cx.set(kA, sum(d[kA], {.axes = {0}}));
  cx.set(kB, of_groups(d[kB])), cx.set(kC, of_groups(d[kC]));
  if (!cx.has(kD)) return cx.set(kX, d[kX]);
  cx.set(kX, d[kX] + d_y * reshape_to(cx.in(kD), {heads, 1}));
  cx.set(kD, sum(d_y * cx.in(kX), {.axes = {0, 2}}));
}

namespace {

void add_literal_samples(Samples& s) {
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, tools/golden/ragged_samples.py";
  s.expect(source, {In{.shape = {3, 2, 2, 2}, .dtype = kF32, .values = {0.5, 1, -0.125, -0.5, 0,
    -0.5, -0.5, 0.375, -1, -1, 1, -0.125, 0.625, 0.375, -0.5, 0.125, 0.125, -0.625, -0.75, 0.625,
    -0.5, 0.125, -0.375, 0.125}}, In{.shape = {5, 2, 2}, .dtype = kF32, .values = {-1, -0.25,
    -0.875, 1, -0.625, -1, -0.25, -0.5, 0.375, 0.5, -0.375, -0.375, 0.375, 0.5, -0.5, 0.5, 1,
    -0.125, -0.375, 0.75}}, In{.shape = {5, 2}, .dtype = kF32, .values = {1, 0.75, 0.375, 0.75, 0,
    0.5, 0.125, 0.625, 0, 1}}, In{.shape = {2}, .dtype = kF32, .values = {-0.75, -0.25}}, In{.shape
    = {5, 2, 2}, .dtype = kF32, .values = {-0.25, -0.5, 0.5, 0.875, 0.5, 0.25, -0.875, 0, 0, 0.125,
    0.75, 0.125, 0.25, 0, -0.125, 1, -1, 0.5, -0.375, -0.875}}, In{.shape = {5, 2, 2}, .dtype =
    kF32, .values = {0.375, -0.5, 0.25, -0.25, 0.625, 1, 0.875, 0.125, -0.375, 0.25, -0.75, 1,
    -0.25, 0.75, 0.75, -0.5, 0.75, -0.5, 1, 0.25}}, In{.shape = {4}, .dtype = kI32, .values = {0, 2,
    2, 5}}, In{.shape = {3}, .dtype = kI32, .values = {2, 1, 0}}, In{.shape = {2}, .dtype = kF32,
    .values = {0.875, 0}}}, NoAttrs{}, {Expect{{3, 2, 2, 2}, {0.466973931, 0.910510361,
    -0.0981887952, -0.455255181, 0.0773704603, -0.224797822, -0.699283187, -0.208036369, -1, -1, 1,
    -0.125, 0.625, 0.375, -0.5, 0.125, 0.116092523, 0.0959754381, -0.40774326, 0.223455563,
    -0.451607319, -0.390132904, 0.38127744, 0.629961519}}, Expect{{5, 2, 2}, {-0.86149327,
    -0.538280141, -0.0680123622, -0.17394114, -0.378341735, -0.906383975, -0.443923017, 0.41236295,
    0.390625, 0.359375, -0.359217201, 0.743903927, 0.894264288, 0.120605813, 0.294068151,
    -0.690332776, 0.769975267, 0.044610994, 0.0211710048, -0.75129228}}});
  s.expect(source, {In{.shape = {3, 2, 2, 2}, .dtype = kF32, .values = {0.125, -1, 0.5, 0.125, 1, 1,
    -1, 0.375, -0.625, -0.75, -1, 0.375, 0.125, -0.625, -0.5, 1, -0.25, 0.125, 0.5, 0.875, 0.25,
    0.625, -0.25, 1}}, In{.shape = {5, 2, 2}, .dtype = kF32, .values = {0.5, 0, 0.125, 0, -0.25,
    -0.875, 0.75, 0.375, 0.875, -0.5, -0.5, -0.5, -0.375, 0.25, 0.625, 0.375, 1, -0.75, -0.25,
    0.125}}, In{.shape = {5, 2}, .dtype = kF32, .values = {0.75, 0, 0.375, 0, 0.375, 0.625, 0.125,
    0.75, 0.75, 0.375}}, In{.shape = {2}, .dtype = kF32, .values = {-1.375, -0.75}}, In{.shape = {5,
    1, 2}, .dtype = kF32, .values = {0.625, 0.75, 0.5, 0.125, 0.625, 0.875, -0.875, 0, -0.625,
    0.625}}, In{.shape = {5, 1, 2}, .dtype = kF32, .values = {-0.25, 0.375, 0.25, 0.25, 0.125, 0,
    0.25, 0.625, 0.375, 0.25}}, In{.shape = {4}, .dtype = kI32, .values = {0, 2, 2, 5}}, In{.shape =
    {3}, .dtype = kI32, .values = {2, 1, 0}}}, NoAttrs{}, {Expect{{3, 2, 2, 2}, {-0.370138544,
    0.375665747, 0.396271778, -0.37841173, -0.0658649413, 0.0929485954, -0.568207392, 0.0126227525,
    -0.625, -0.75, -1, 0.375, 0.125, -0.625, -0.5, 1, 0.0398486332, 0.182837331, -0.0576063569,
    0.145282625, 0.25, 0.625, -0.25, 1}}, Expect{{5, 2, 2}, {0.0858738573, 0.0724264492, 0.171875,
    0.4375, 0.0556714911, 0.0219190671, 0.21875, 0.1875, 0.0349648793, 0.0226720171, 0.0538089387,
    -0.102637064, -0.0940226108, -0.0157152631, 0.0842553741, -0.192291124, -0.0448855173,
    0.053998984, -0.00146220412, -0.209922084}}});
  // clang-format on
  // golden:end
}

}  // namespace

void Mamba2::samples(Samples& s) {
  const auto inputs = [](int64_t slots, int64_t tokens, int64_t heads, int64_t groups, int64_t p,
                         int64_t n, bool d, In q_start, In slot) {
    std::vector<In> in =
        mamba2_inputs(slots, tokens, heads, groups, p, n, std::move(q_start), std::move(slot));
    if (d) in.push_back(In{.shape = {heads}});
    return in;
  };
  const In starts = ragged_ints({0, 2, 2, 7}), slots = ragged_ints({3, 0, 1});
  s.add(inputs(4, 7, 4, 2, 3, 17, true, starts, slots)).length = 17;
  s.add(inputs(4, 7, 2, 1, 5, 4, false, starts, slots)).length = 7;
  std::vector<In> kept = inputs(6, 8, 2, 1, 5, 4, true, ragged_ints({0, 3, 3, 8}), slots);
  kept[7] = ragged_ints({2, 0, 3});
  kept.push_back(ragged_table(4, {-1, 1, -1, 2, -1, -1, -1, -1, 4, -1, 5, 3}));
  kept.push_back(ragged_ints({3, 0, 67}));
  Sample& with_kept = s.add(std::move(kept));
  with_kept.length = 8, with_kept.grad = false;
  s.add(inputs(1, 0, 2, 1, 3, 4, true, ragged_ints({0, 0}), ragged_ints({0})));
  Sample& longer =
      s.add(inputs(2, 150, 2, 1, 20, 33, true, ragged_ints({0, 67, 150}), ragged_ints({1, 0})));
  longer.length = 83, longer.grad = false;
  auto bad = [&](size_t i, In with, const char* message) {
    std::vector<In> in = inputs(2, 4, 4, 2, 3, 5, true, ragged_ints({0, 4}), ragged_ints({0}));
    in[i] = std::move(with);
    s.bad(std::move(in), NoAttrs{}, message);
  };
  bad(2, In{.shape = {4, 2}}, "sizes of dt at axis 1");
  bad(4, In{.shape = {4, 3, 5}}, "modulo groups");
  bad(5, In{.shape = {4, 2, 4}}, "sizes of c at axis 2");
  bad(8, In{.shape = {3}}, "sizes of d at axis 0");
  bad(7, ragged_ints({2}), "out of range");
  add_literal_samples(s);
}

}  // namespace lamella
