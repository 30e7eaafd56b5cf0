#pragma once

#include "lamella/ops/math/abs.h"
#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/equal.h"
#include "lamella/ops/math/exp.h"
#include "lamella/ops/math/log1p.h"
#include "lamella/ops/math/maximum.h"
#include "lamella/ops/math/sigmoid.h"
#include "lamella/ops/math/where.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct LogAddExp {
  static constexpr Info info{.name = "log_add_exp",
                             .inputs = "a, b",
                             .outputs = "y",
                             .doc =
                                 "log(exp(a) + exp(b)) with broadcasting, as max(a, b) + "
                                 "log1p(exp(-|a - b|)); of equal ones a + log 2, infinite or not.",
                             .ulps = 6,
                             .ulps_per_length = 1,
                             .traits = kElementwise | kCommutative};
  static void type(TypeCx& cx, const NoAttrs&) {
    check_operands(cx, Operands::floats);
    cx.out(cx.in(0).dtype, cx.broadcast(cx.shape(0), cx.shape(1)));
  }
  static Value expand(const Args& args, const NoAttrs&) {
    const Value a = widened(args[0]), b = widened(args[1]);
    const Value apart = maximum(a, b) + log1p(exp(-abs(a - b)));
    return narrowed(where(equal(a, b), a + 0.6931471805599453, apart), args[0].dtype());
  }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    const Value share = sigmoid(cx.in(0) - cx.in(1));
    cx.set(0, cx.grad() * share);
    cx.set(1, cx.grad() * (1.0 - share));
  }
  static void samples(Samples& s) {
    add_broadcast_samples(s, {-6, 6}, {-6, 6});
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {3, 1, 6}, .dtype = kF32, .values = {2.875, 1.375, -3.4375,
      -2.375, 0.5, 3.25, 4, -2.25, 0.875, -3.75, -2.625, -2.4375, -0.4375, -1.25, 1.8125, -0.25,
      -1.3125, 3.25}}, In{.shape = {4, 1}, .dtype = kF32, .values = {1, 1.5625, 2, -1.3125}}},
      NoAttrs{}, {Expect{{3, 4, 6}, {3.01767506, 1.89812326, 1.01175609, 1.0336457, 1.47407698,
      3.35020656, 3.11334451, 2.16628529, 1.56921535, 1.58180927, 1.85933314, 3.41972708,
      3.22344458, 2.42870068, 2.00434091, 2.01250957, 2.20141328, 3.50192908, 2.89007007,
      1.44083536, -1.19967772, -1.01566686, 0.651213954, 3.26038186, 4.04858735, 1.03804137,
      1.63259904, 1.00861448, 1.0263002, 1.03163911, 4.08377024, 1.58435237, 1.96985105, 1.56741748,
      1.57757007, 1.58064993, 4.12692801, 2.01416346, 2.28115014, 2.00317773, 2.00975591,
      2.01175609, 4.00491748, -0.982041792, 0.98133724, -1.22872976, -1.07415549, -1.03134986,
      1.21311004, 1.10020656, 2.17974203, 1.25192908, 1.09441288, 3.35020656, 1.68942801,
      1.62082048, 2.38843942, 1.71371395, 1.61738218, 3.41972708, 2.08377024, 2.03804137,
      2.60378529, 2.10020656, 2.03577729, 3.50192908, -0.089055419, -0.587614618, 1.85549908,
      0.0468331379, -0.619352819, 3.26038186}}});
    s.expect(source, {In{.shape = {18}, .dtype = kF32, .values = {INFINITY, -INFINITY, -INFINITY, 1,
      2, 700, -3, INFINITY, -INFINITY, -INFINITY, 1, 2, 700, -3, INFINITY, -INFINITY, -INFINITY,
      1}}, In{.shape = {18}, .dtype = kF32, .values = {INFINITY, -INFINITY, 0, 1, NAN, 690,
      INFINITY, -INFINITY, 0, 1, NAN, 690, INFINITY, -INFINITY, 0, 1, NAN, 690}}}, NoAttrs{},
      {Expect{{18}, {INFINITY, -INFINITY, 0, 1.69314718, NAN, 700.000045, INFINITY, INFINITY, 0, 1,
      NAN, 690, INFINITY, -3, INFINITY, 1, NAN, 690}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<LogAddExp> log_add_exp;

}  // namespace lamella
