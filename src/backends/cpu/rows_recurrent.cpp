// Recurrent networks.
#include "lamella/backends/cpu/kernels.h"
#include "lamella/backends/cpu/operands.h"
#include "lamella/backends/cpu/widened_launch.h"
#include "lamella/kernels/cpu/recurrent_grad.h"
#include "lamella/ops/recurrent/gru.h"
#include "lamella/ops/recurrent/lstm.h"
#include "lamella/ops/recurrent/recurrence_grad.h"
#include "lamella/ops/recurrent/rnn.h"

namespace lamella::cpu {
namespace {

bool float_accepts(const Graph& g, const Node& n, const void*) {
  return is_f32_or_narrower(type_of_input(g, n, 0).dtype);
}
bool or_f64_accepts(const Graph& g, const Node& n, const void* device) {
  return float_accepts(g, n, device) || type_of_input(g, n, 0).dtype == kF64;
}

template <class T>
RecurrentOf<T> job_of(const planned::StepCx& cx, Direction direction) {
  RecurrentOf<T> job;
  const planned::Operand &x = cx.in(0), &r = cx.in(2);
  job.steps = x.size(0), job.batch = x.size(1), job.in = x.size(2), job.hidden = r.size(2);
  job.directions = static_cast<int>(n_directions(direction));
  job.reverse = direction == Direction::reverse;
  const auto input = [&](size_t i) { return cx.has(i) ? cx.in(i).as<const T>() : nullptr; };
  job.x = input(0), job.w = input(1), job.r = input(2), job.bias = input(3);
  if (cx.has(4)) job.lengths = cx.in(4).data, job.lengths_are_i64 = cx.in(4).dtype == kI64;
  job.h0 = input(5), job.c0 = input(6);
  return job;
}
template <class T>
RecurrentOf<T> forward_job(const planned::StepCx& cx, Direction direction) {
  RecurrentOf<T> job = job_of<T>(cx, direction);
  job.y = cx.out(0).as<T>(), job.h = cx.out(1).as<T>();
  return job;
}

planned::Status run(const planned::StepCx& cx, const Recurrent& job) {
  return status_of(recurrent(job, *device_of(cx).pool, device_of(cx).isa));
}
planned::Status run(const planned::StepCx& cx, const RecurrentOf<double>& job) {
  return status_of(recurrent(job, *device_of(cx).pool));
}

struct LaunchLstm {
  template <class T>
  static planned::Status run(const planned::StepCx& cx) {
    const auto& a = cx.attrs<Lstm::Attrs>();
    RecurrentOf<T> job = forward_job<T>(cx, a.direction);
    job.c = cx.out(2).as<T>();
    if (a.gates == LstmGates::iofg) job.gate_at[1] = 2, job.gate_at[2] = 3, job.gate_at[3] = 1;
    return cpu::run(cx, job);
  }
};

struct LaunchGru {
  template <class T>
  static planned::Status run(const planned::StepCx& cx) {
    const auto& a = cx.attrs<Gru::Attrs>();
    RecurrentOf<T> job = forward_job<T>(cx, a.direction);
    job.cell = a.linear_before_reset ? RecurrentCell::gru : RecurrentCell::gru_reset_before;
    if (a.gates == GruGates::zrn) job.gate_at[0] = 1, job.gate_at[1] = 0;
    return cpu::run(cx, job);
  }
};

struct LaunchRnn {
  template <class T>
  static planned::Status run(const planned::StepCx& cx) {
    const auto& a = cx.attrs<Rnn::Attrs>();
    RecurrentOf<T> job = forward_job<T>(cx, a.direction);
    job.cell =
        a.activation == RnnActivation::tanh ? RecurrentCell::rnn_tanh : RecurrentCell::rnn_relu;
    return cpu::run(cx, job);
  }
};

planned::Status launch_grad(const planned::StepCx& cx) {
  const auto& a = cx.attrs<RecurrenceGrad::Attrs>();
  const auto floats = [&](size_t i) { return cx.has(i) ? cx.in(i).as<const float>() : nullptr; };
  cpu::RecurrentGrad job;
  job.phase = device_of(cx).phase == lamella::Phase::decode ? Phase::decode : Phase::bulk;
  Recurrent& rule = job.rule = job_of<float>(cx, a.direction);
  constexpr Recurrent::Cell kCells[] = {Recurrent::Cell::lstm, Recurrent::Cell::gru,
                                        Recurrent::Cell::gru_reset_before,
                                        Recurrent::Cell::rnn_tanh, Recurrent::Cell::rnn_relu};
  rule.cell = kCells[static_cast<int>(a.cell)];
  if (a.onnx_gates && rule.cell == Recurrent::Cell::lstm)
    rule.gate_at[1] = 2, rule.gate_at[2] = 3, rule.gate_at[3] = 1;
  else if (a.onnx_gates && n_gates(rule.cell) == 3)
    rule.gate_at[0] = 1, rule.gate_at[1] = 0;
  rule.y = const_cast<float*>(floats(7));
  job.d_y = floats(8), job.d_h = floats(9), job.d_c = floats(10);
  job.d_gates = cx.out(0).as<float>(), job.d_parts = cx.out(1).as<float>();
  job.seen = cx.out(2).as<float>(), job.d_h0 = cx.out(3).as<float>();
  if (rule.cell == Recurrent::Cell::lstm) job.d_c0 = cx.out(4).as<float>();
  return status_of(recurrent_grad(job, *device_of(cx).pool, device_of(cx).isa));
}

}  // namespace

std::span<const planned::Row> recurrent_rows() {
  static constexpr planned::Row kRows[] = {
      {.op = &op<Gru>,
       .name = "gru",
       .accepts = or_f64_accepts,
       .launch = in_f32_or_f64<LaunchGru>},
      {.op = &op<Lstm>,
       .name = "lstm",
       .accepts = or_f64_accepts,
       .launch = in_f32_or_f64<LaunchLstm>},
      {.op = &op<RecurrenceGrad>,
       .name = "recurrence_grad",
       .accepts = float_accepts,
       .launch = in_f32<launch_grad>},
      {.op = &op<Rnn>,
       .name = "rnn",
       .accepts = or_f64_accepts,
       .launch = in_f32_or_f64<LaunchRnn>},
  };
  return kRows;
}

}  // namespace lamella::cpu
