#include "lamella/ops/recurrent/gru.h"

#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/math/sigmoid.h"
#include "lamella/ops/math/tanh.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/recurrent/recurrence_grad.h"
#include "lamella/ops/shape/slice.h"

namespace lamella {

Values Gru::expand(const Args& args, const Attrs& a) {
  const int64_t reset = a.gates == GruGates::rzn ? 0 : 1;
  return recurrent_formula(args, a.direction, 1, true, [&](const RecurrentStep& s) -> Values {
    const Value h = s.states[0];
    const Dim hidden = h.shape()[1];
    // r's part of gates [first, end), from a state.
    const auto recurrent = [&](Value state, int64_t first, int64_t end) {
      const Value part = matmul(state, slice_axis(s.r, 0, hidden * first, hidden * end));
      if (s.r_bias.absent()) return part;
      return part + slice_axis(s.r_bias, 0, hidden * first, hidden * end);
    };
    const Value both = slice_axis(s.gates, 1, 0, hidden * 2) + recurrent(h, 0, 2);
    const Value r = sigmoid(gate_of(both, reset, hidden));
    const Value z = sigmoid(gate_of(both, 1 - reset, hidden));
    const Value h_n = a.linear_before_reset ? r * recurrent(h, 2, 3) : recurrent(r * h, 2, 3);
    const Value n = tanh(gate_of(s.gates, 2, hidden) + h_n);
    return {n + z * (h - n)};
  });
}

void Gru::vjp(VjpCx& cx, const Attrs& a) {
  recurrence_vjp(
      cx, {.direction = a.direction,
           .cell = a.linear_before_reset ? RecurrenceCell::gru : RecurrenceCell::gru_reset_before,
           .onnx_gates = a.gates == GruGates::zrn});
}

namespace {

void add_literal_samples(Samples& s) {
  using Attrs = Gru::Attrs;
  // golden:begin
  // clang-format off
  const std::string source =
    "ONNX Runtime 1.32.0, tools/golden/recurrent_samples.py";
  s.expect(source, {In{.shape = {3, 2, 2}, .dtype = kF32, .values = {-1.5, -0.75, -0.25, -1.375,
    -0.875, -1.75, 1.25, -1.75, -1.125, 0.25, 0.375, 0}}, In{.shape = {1, 6, 2}, .dtype = kF32,
    .values = {-0.25, -0.625, 0.375, 0.25, -0.625, -0.625, 0.375, -0.875, 0.75, -0.375, -0.375, 0}},
    In{.shape = {1, 6, 2}, .dtype = kF32, .values = {0.875, -0.125, -0.25, -0.875, -0.125, 0.875,
    -0.125, 0.125, 0.625, 0.25, 0.625, -0.125}}, In{.shape = {1, 12}, .dtype = kF32, .values =
    {0.75, 0.25, -0.25, -0.75, 0.125, 0.25, 0, -1, 1, 0.875, 0.375, -0.75}}, In::absent(), In{.shape
    = {1, 2, 2}, .dtype = kF32, .values = {0.125, -0.875, 0.625, -0.625}}}, Attrs{.direction =
    Direction::forward, .gates = GruGates::rzn, .linear_before_reset = true}, {Expect{{3, 1, 2, 2},
    {0.00379351526, -0.190743804, 0.658773422, -0.402644545, 0.0420629084, -0.0636333153,
    0.771041989, -0.392047584, -0.0778808296, 0.261343986, 0.769015849, -0.196262568}}, Expect{{1,
    2, 2}, {-0.0778808296, 0.261343986, 0.769015849, -0.196262568}}});
  s.expect(source, {In{.shape = {3, 2, 2}, .dtype = kF32, .values = {-0.875, 1, 0.5, 0.75, 2, 1.75,
    0.25, 0, 0.125, 0.875, 1.625, -1}}, In{.shape = {1, 6, 2}, .dtype = kF32, .values = {0.875,
    -0.625, 0.375, 0, -1, 0, -0.375, 0.375, 1, 0.375, -0.875, 0.875}}, In{.shape = {1, 6, 2}, .dtype
    = kF32, .values = {-0.25, -0.25, -0.5, -0.75, -0.625, 0.375, -0.75, 1, -0.5, -0.5, -0.25,
    0.25}}, In{.shape = {1, 12}, .dtype = kF32, .values = {0, -0.375, -1, -0.375, -0.625, -0.25,
    -0.5, -0.75, -0.625, -0.5, -0.25, 0.25}}, In{.shape = {2}, .dtype = kI32, .values = {2, 3}},
    In::absent()}, Attrs{.direction = Direction::reverse, .gates = GruGates::zrn,
    .linear_before_reset = true}, {Expect{{3, 1, 2, 2}, {-0.677465796, 0.686931133, 0.0354231894,
    -0.182860419, 0.445220381, -0.225166604, -0.147654682, -0.494557232, 0, 0, 0.0962132663,
    -0.617959678}}, Expect{{1, 2, 2}, {-0.677465796, 0.686931133, 0.0354231894, -0.182860419}}});
  s.expect(source, {In{.shape = {3, 2, 2}, .dtype = kF32, .values = {-1.625, -1.5, -2, 0.625, 1.375,
    -1.125, -0.625, 0, -1.125, -1.125, 1.125, 0.875}}, In{.shape = {2, 6, 2}, .dtype = kF32, .values
    = {0, -1, 1, -0.75, 1, -1, 0.125, 0.25, -0.75, -0.75, -0.875, -0.25, 1, 0.125, 0.75, 0.25,
    0.375, -0.75, 0.125, 1, 1, 0.875, 0, 0.625}}, In{.shape = {2, 6, 2}, .dtype = kF32, .values =
    {-0.25, 0.75, 0.125, 1, 0.5, 1, 0.875, 0, -0.125, 0.25, -0.5, 1, -0.625, 0.625, 0.75, 0.875, 1,
    0.625, -0.75, -0.75, 0.5, 0.5, -0.375, -0.375}}, In{.shape = {2, 12}, .dtype = kF32, .values =
    {0.125, 0, -0.5, -0.25, 0.625, -0.5, -0.5, 0.875, 0.125, -0.5, -0.625, 0.375, 1, -0.25, 0.5, -1,
    -1, 0, 0.625, -0.625, 0.25, 0.5, 0.25, 0.625}}, In{.shape = {2}, .dtype = kI32, .values = {2,
    3}}, In{.shape = {2, 2, 2}, .dtype = kF32, .values = {-0.625, -0.75, -0.25, -0.625, -0.375, -1,
    -0.875, 0.875}}}, Attrs{.direction = Direction::bidirectional, .gates = GruGates::rzn,
    .linear_before_reset = true}, {Expect{{3, 2, 2, 2}, {0.706777275, 0.641156375, 0.880117774,
    0.429464161, -0.68566668, -0.704806924, -0.742679238, 0.361946583, 0.678032339, -0.0811695158,
    0.771634817, 0.357199311, -0.472182035, -0.653454244, -0.309708416, 0.291382134, 0, 0,
    0.231159538, -0.176826894, 0, 0, -0.109878302, 0.816648722}}, Expect{{2, 2, 2}, {0.678032339,
    -0.0811695158, 0.231159538, -0.176826894, -0.68566668, -0.704806924, -0.742679238,
    0.361946583}}});
  s.expect(source, {In{.shape = {3, 2, 2}, .dtype = kF32, .values = {-1.375, 0.75, -1.375, -1.75,
    1.875, 1.875, 0.375, -0.125, 0.75, 2, 0.125, -1.125}}, In{.shape = {1, 6, 2}, .dtype = kF32,
    .values = {0.625, 0.5, 0.875, -0.375, 1, 0.125, -0.875, -0.625, 0.625, -0.375, 0.25, 0.75}},
    In{.shape = {1, 6, 2}, .dtype = kF32, .values = {-0.5, -0.75, 0.875, 0.625, -0.625, 0.375, -0.5,
    -1, 1, 0.125, -0.5, 0.75}}, In{.shape = {1, 12}, .dtype = kF32, .values = {1, -0.5, 0.875,
    -0.625, 0, -1, 0.75, -0.75, 0, -0.5, 0.875, 0.5}}, In::absent(), In{.shape = {1, 2, 2}, .dtype =
    kF32, .values = {0.125, 1, 1, 0.375}}}, Attrs{.direction = Direction::forward, .gates =
    GruGates::rzn, .linear_before_reset = false}, {Expect{{3, 1, 2, 2}, {-0.031907171,
    0.00628435612, 0.818250835, -0.201268658, 0.010359196, 0.866799593, 0.863567472, -0.632059872,
    0.0657987818, 0.881812394, 0.912461638, -0.817973375}}, Expect{{1, 2, 2}, {0.0657987818,
    0.881812394, 0.912461638, -0.817973375}}});
  s.expect(source, {In{.shape = {3, 2, 2}, .dtype = kF32, .values = {0, 0.625, 1.625, -1, -0.375,
    -0.125, 1.75, 1.875, 0.25, 0.25, -0.875, -0.125}}, In{.shape = {1, 6, 2}, .dtype = kF32, .values
    = {-0.625, 0.875, 0.5, 0.5, -0.25, 0.625, 1, -0.875, 0, 0.375, -0.375, -0.625}}, In{.shape = {1,
    6, 2}, .dtype = kF32, .values = {1, -0.5, -0.125, 0.125, 0.625, 0.75, 0.625, 1, -0.125, -0.25,
    -0.75, -0.375}}, In{.shape = {1, 12}, .dtype = kF32, .values = {-0.625, -0.875, 0.125, -0.375,
    0.75, 0.25, 0.125, 0, 0.75, 0.25, 0.375, 0.625}}, In{.shape = {2}, .dtype = kI32, .values = {2,
    3}}, In::absent()}, Attrs{.direction = Direction::reverse, .gates = GruGates::zrn,
    .linear_before_reset = false}, {Expect{{3, 1, 2, 2}, {0.635344863, 0.251468658, 0.57698369,
    0.389124215, 0.469689935, 0.602605462, 0.654568791, 0.252138019, 0, 0, 0.408630162,
    0.683900535}}, Expect{{1, 2, 2}, {0.635344863, 0.251468658, 0.57698369, 0.389124215}}});
  // clang-format on
  // golden:end
}

}  // namespace

void Gru::samples(Samples& s) {
  for (bool linear : {true, false})
    add_recurrent_samples(s, 3, 1, [linear](Direction d) {
      return Attrs{d, d == Direction::reverse ? GruGates::zrn : GruGates::rzn, linear};
    });
  add_literal_samples(s);
}

}  // namespace lamella
