#include "lamella/ops/recurrent/rnn.h"

#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/math/relu.h"
#include "lamella/ops/math/tanh.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/recurrent/recurrence_grad.h"

namespace lamella {

Values Rnn::expand(const Args& args, const Attrs& a) {
  return recurrent_formula(args, a.direction, 1, false, [&](const RecurrentStep& s) -> Values {
    const Value sum = s.gates + matmul(s.states[0], s.r);
    return {a.activation == RnnActivation::tanh ? tanh(sum) : relu(sum)};
  });
}

void Rnn::vjp(VjpCx& cx, const Attrs& a) {
  recurrence_vjp(cx, {.direction = a.direction,
                      .cell = a.activation == RnnActivation::tanh ? RecurrenceCell::rnn_tanh
                                                                  : RecurrenceCell::rnn_relu});
}

namespace {

void add_literal_samples(Samples& s) {
  using Attrs = Rnn::Attrs;
  // golden:begin
  // clang-format off
  const std::string source =
    "ONNX Runtime 1.32.0, tools/golden/recurrent_samples.py";
  s.expect(source, {In{.shape = {3, 2, 2}, .dtype = kF32, .values = {0.875, 0.375, 1.5, -0.875,
    -1.125, -0.5, 0.5, 0.125, -1.25, -1.375, 0.875, 0}}, In{.shape = {1, 2, 2}, .dtype = kF32,
    .values = {0.25, -0.125, 0.625, 0.625}}, In{.shape = {1, 2, 2}, .dtype = kF32, .values = {0.875,
    -0.625, -0.875, 0.5}}, In{.shape = {1, 4}, .dtype = kF32, .values = {-0.75, -0.375, 0, 0.875}},
    In::absent(), In{.shape = {1, 2, 2}, .dtype = kF32, .values = {-0.75, 0.25, 0.75, 1}}},
    Attrs{.direction = Direction::forward}, {Expect{{3, 1, 2, 2}, {-0.883308351, 0.968187213,
    -0.230175734, 0.625734687, -0.981857359, 0.629968286, -0.843479872, 0.886405349, -0.972879529,
    0.0334718227, -0.949166238, 0.977054596}}, Expect{{1, 2, 2}, {-0.972879529, 0.0334718227,
    -0.949166238, 0.977054596}}});
  s.expect(source, {In{.shape = {3, 2, 2}, .dtype = kF32, .values = {-0.25, -0.5, -1, -1.875, -2, 0,
    0.625, -0.5, -1.375, 1.375, -0.75, 0}}, In{.shape = {1, 2, 2}, .dtype = kF32, .values = {0.375,
    0, 1, 0.75}}, In{.shape = {1, 2, 2}, .dtype = kF32, .values = {-1, 0.75, 1, -0.625}}, In{.shape
    = {1, 4}, .dtype = kF32, .values = {-0.25, 0.75, 0.625, 0.875}}, In{.shape = {2}, .dtype = kI32,
    .values = {2, 3}}, In::absent()}, Attrs{.direction = Direction::reverse}, {Expect{{3, 1, 2, 2},
    {0.354725718, 0.699139953, -0.0964641571, -0.515882909, -0.35835743, -0.35835743, 0.779395223,
    0.910173655, 0, 0, 0.0934762955, 0.703905463}}, Expect{{1, 2, 2}, {0.354725718, 0.699139953,
    -0.0964641571, -0.515882909}}});
  s.expect(source, {In{.shape = {3, 2, 2}, .dtype = kF32, .values = {0.5, -0.5, 0.875, 1.5, -1.5,
    -2, -1.25, -1.5, 0.25, -1.375, 0.25, -1.625}}, In{.shape = {2, 2, 2}, .dtype = kF32, .values =
    {-0.875, -0.75, -0.125, 0.25, 1, 1, -0.5, 0.625}}, In{.shape = {2, 2, 2}, .dtype = kF32, .values
    = {-0.5, -0.875, -0.875, -0.75, 0.25, 0, -0.375, 0.5}}, In{.shape = {2, 4}, .dtype = kF32,
    .values = {0.5, 0, -1, -0.25, 0.625, -1, -0.75, 0.125}}, In{.shape = {2}, .dtype = kI32, .values
    = {2, 3}}, In{.shape = {2, 2, 2}, .dtype = kF32, .values = {-0.75, 0.375, 0.5, 0.75, -0.75,
    -0.625, 0.125, -0.125}}}, Attrs{.direction = Direction::bidirectional}, {Expect{{3, 2, 2, 2},
    {-0.474316299, -0.0624186993, -0.997265935, -0.754953563, -0.35814482, -0.906264782, 0.96409905,
    -0.411068082, 0.989120364, -0.100320637, 0.99369204, 0.748736382, -0.999024272, -0.886695147,
    -0.995948017, -0.870752692, 0, 0, -0.573008358, -0.971511781, 0, 0, -0.899338722,
    -0.971872747}}, Expect{{2, 2, 2}, {0.989120364, -0.100320637, -0.573008358, -0.971511781,
    -0.35814482, -0.906264782, 0.96409905, -0.411068082}}});
  // clang-format on
  // golden:end
}

}  // namespace

void Rnn::samples(Samples& s) {
  for (RnnActivation activation : {RnnActivation::tanh, RnnActivation::relu})
    add_recurrent_samples(s, 1, 1, [activation](Direction d) { return Attrs{d, activation}; });
  add_literal_samples(s);
}

}  // namespace lamella
