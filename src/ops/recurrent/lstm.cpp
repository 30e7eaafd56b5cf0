#include "lamella/ops/recurrent/lstm.h"

#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/math/sigmoid.h"
#include "lamella/ops/math/tanh.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/recurrent/recurrence_grad.h"

namespace lamella {

Values Lstm::expand(const Args& args, const Attrs& a) {
  const bool is_ifgo = a.gates == LstmGates::ifgo;
  return recurrent_formula(args, a.direction, 2, false, [&](const RecurrentStep& s) -> Values {
    const Dim hidden = s.states[0].shape()[1];
    const Value gates = s.gates + matmul(s.states[0], s.r);
    const auto gate = [&](int64_t i) { return gate_of(gates, i, hidden); };
    const Value i = sigmoid(gate(0)), f = sigmoid(gate(is_ifgo ? 1 : 2)),
                g = tanh(gate(is_ifgo ? 2 : 3)), o = sigmoid(gate(is_ifgo ? 3 : 1));
    const Value c = f * s.states[1] + i * g;
    return {o * tanh(c), c};
  });
}

void Lstm::vjp(VjpCx& cx, const Attrs& a) {
  recurrence_vjp(cx, {.direction = a.direction,
                      .cell = RecurrenceCell::lstm,
                      .onnx_gates = a.gates == LstmGates::iofg});
}

namespace {

void add_literal_samples(Samples& s) {
  using Attrs = Lstm::Attrs;
  // golden:begin
  // clang-format off
  const std::string source =
    "ONNX Runtime 1.32.0, tools/golden/recurrent_samples.py";
  s.expect(source, {In{.shape = {3, 2, 2}, .dtype = kF32, .values = {0.375, 1.125, 0, 0.125, 0.25,
    -0.125, -2, 1.875, 1.375, -0.5, -0.5, 0.625}}, In{.shape = {1, 8, 2}, .dtype = kF32, .values =
    {0.25, -0.125, -0.25, 0.875, -0.125, -0.375, -1, 0.5, 1, 0.625, -0.375, 0.125, -0.25, -0.5,
    0.75, -0.875}}, In{.shape = {1, 8, 2}, .dtype = kF32, .values = {0.75, -0.375, -0.125, 0.875,
    0.625, -0.25, -0.25, 0.25, 0.875, 0.5, 0.375, 0.25, -0.625, 0.875, 0.375, -0.125}}, In{.shape =
    {1, 16}, .dtype = kF32, .values = {0.75, -0.125, 0.25, 0.25, -0.25, 0.875, 0.5, -0.125, -0.5,
    -1, 0.125, 0.5, -0.75, -0.125, 0.5, -0.875}}, In::absent(), In{.shape = {1, 2, 2}, .dtype =
    kF32, .values = {0.875, 0.125, -0.5, -0.875}}, In{.shape = {1, 2, 2}, .dtype = kF32, .values =
    {0, -0.75, 0.25, 0.625}}}, Attrs{.direction = Direction::forward, .gates = LstmGates::ifgo},
    {Expect{{3, 1, 2, 2}, {0.219574124, -0.0305209942, -0.223304644, 0.102901734, -0.0297506731,
    0.0122009329, -0.311157972, 0.0117267687, 0.00181350484, 0.0193304047, -0.416121334,
    0.0980944932}}, Expect{{1, 2, 2}, {0.00181350484, 0.0193304047, -0.416121334, 0.0980944932}},
    Expect{{1, 2, 2}, {0.00252509676, 0.0315919518, -0.642483413, 1.26530492}}});
  s.expect(source, {In{.shape = {3, 2, 2}, .dtype = kF32, .values = {0, -1.625, -1.875, -1.75,
    -0.125, -1.875, -0.875, 0.375, -1.625, 1.875, -1.25, 0.125}}, In{.shape = {1, 8, 2}, .dtype =
    kF32, .values = {0.625, 0, -0.75, 0.375, -0.625, -0.125, -0.625, 0.75, -1, 0.75, -0.5, -0.125,
    -0.125, -0.75, 0.625, 0.75}}, In{.shape = {1, 8, 2}, .dtype = kF32, .values = {0.625, 0, 0.875,
    0.125, 0.25, 0, 0, -1, 0.75, 0, -0.75, -0.875, 0.875, -0.875, 0.625, 0.75}}, In{.shape = {1,
    16}, .dtype = kF32, .values = {0.125, -0.75, -0.125, 0.5, -1, -0.125, 0, 0, 0.625, 0, -0.5,
    -0.75, 0.125, -0.875, -1, 0.25}}, In{.shape = {2}, .dtype = kI32, .values = {2, 3}},
    In::absent(), In::absent()}, Attrs{.direction = Direction::reverse, .gates = LstmGates::iofg},
    {Expect{{3, 1, 2, 2}, {0.101660684, -0.0398841836, -0.0584361777, -0.222273946, 0.108934216,
    -0.0292076208, -0.254970431, -0.136947364, 0, 0, -0.185336545, -0.147095248}}, Expect{{1, 2, 2},
    {0.101660684, -0.0398841836, -0.0584361777, -0.222273946}}, Expect{{1, 2, 2}, {0.258092046,
    -0.211232811, -0.0876237303, -0.561016083}}});
  s.expect(source, {In{.shape = {3, 2, 2}, .dtype = kF32, .values = {-0.875, 2, -1.125, 1.375, -0.5,
    -1.25, -0.5, -1.375, -1, 0.875, -0.25, -1.125}}, In{.shape = {2, 8, 2}, .dtype = kF32, .values =
    {1, -1, 0.75, 0.125, 0.625, -0.75, -0.875, 0.375, -0.125, 0.875, 0.125, -0.625, -0.375, 0,
    -0.625, 0.375, 0.875, 1, 0.125, 0.25, -0.25, -0.25, 0.375, 0.75, 0.875, 0.75, 0.75, 0.25, 0.5,
    0.75, 0.625, -0.625}}, In{.shape = {2, 8, 2}, .dtype = kF32, .values = {0.125, 0.5, 0.25, 0.125,
    0.375, 0, 0, 0, 0.625, 0, 0.875, -1, -0.5, -0.125, 0.125, -0.375, -0.125, 1, 1, 1, -0.625, 0.75,
    -0.5, -0.5, -0.125, -1, -1, -0.625, 0, 0.5, 0.5, -0.625}}, In{.shape = {2, 16}, .dtype = kF32,
    .values = {-0.5, 0.625, -0.5, 1, 0.625, 0.625, -0.75, 0.75, -0.125, -0.375, 0.75, 0.375, 0.125,
    -1, -0.5, 0.125, 0.375, -0.875, 0, -0.375, 0.375, -0.875, -0.75, 0.5, 0.5, 0, -0.5, 0.375, -0.5,
    -0.875, 0.125, -0.875}}, In{.shape = {2}, .dtype = kI32, .values = {2, 3}}, In{.shape = {2, 2,
    2}, .dtype = kF32, .values = {0.125, 0.75, 0.625, 0.5, 0.625, 0.625, 0.375, -0.25}}, In{.shape =
    {2, 2, 2}, .dtype = kF32, .values = {0.875, 0.625, 0, 0.875, -0.125, 0.75, -0.25, -0.5}}},
    Attrs{.direction = Direction::bidirectional, .gates = LstmGates::ifgo}, {Expect{{3, 2, 2, 2},
    {0.0432063974, 0.093977727, 0.0130790044, 0.362081736, 0.241747484, -0.0591591597,
    -0.0288414769, -0.0585973449, -0.00340258982, 0.136442021, -0.0440274328, 0.226229936,
    -0.0823542029, -0.18624562, -0.0402617604, -0.149973422, 0, 0, -0.0610653572, 0.183708027, 0, 0,
    -0.0483548045, -0.231118515}}, Expect{{2, 2, 2}, {-0.00340258982, 0.136442021, -0.0610653572,
    0.183708027, 0.241747484, -0.0591591597, -0.0288414769, -0.0585973449}}, Expect{{2, 2, 2},
    {-0.0135830417, 0.207897112, -0.262198091, 0.301879525, 0.439300776, -0.60506916, -0.0652788505,
    -0.46787554}}});
  // clang-format on
  // golden:end
}

}  // namespace

void Lstm::samples(Samples& s) {
  add_recurrent_samples(s, 4, 2, [](Direction d) {
    return Attrs{d, d == Direction::reverse ? LstmGates::iofg : LstmGates::ifgo};
  });
  add_literal_samples(s);
}

}  // namespace lamella
