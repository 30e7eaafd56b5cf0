// Recurrences over tokens of sequences of different lengths. Their states are output 0 already: the
// plan copies them there.
#include <cmath>

#include "lamella/backends/cpu/kernels.h"
#include "lamella/backends/cpu/operands.h"
#include "lamella/backends/cpu/widened_launch.h"
#include "lamella/kernels/cpu/state_space.h"
#include "lamella/ops/recurrent/causal_conv1d.h"
#include "lamella/ops/recurrent/gated_delta_net_grad.h"
#include "lamella/ops/recurrent/mamba2_grad.h"
#include "lamella/ops/recurrent/selective_scan_grad.h"

namespace lamella::cpu {
namespace {

bool float_accepts(const Graph& g, const Node& n, const void*) {
  return is_f32_or_narrower(type_of_input(g, n, 0).dtype) &&
         is_f32_or_narrower(type_of_input(g, n, 1).dtype);
}

bool or_f64_accepts(const Graph& g, const Node& n, const void* device) {
  const auto is_f64 = [&](size_t i) { return type_of_input(g, n, i).dtype == kF64; };
  return float_accepts(g, n, device) || (is_f64(0) && is_f64(1));
}

bool conv_accepts(const Graph& g, const Node& n, const void* device) {
  const Dim taps = type_of_input(g, n, 2).shape[1];
  return or_f64_accepts(g, n, device) && taps.is_const() && taps.value() <= CausalConv::kMaxTaps;
}

// Where an op has the inputs q_start, slot, kept and length.
struct SequenceInputs {
  size_t q_start, kept, length;  // slot is behind q_start
};
constexpr size_t kNone = ~size_t{0};
constexpr SequenceInputs kConvInputs{3, 6, kNone}, kDeltaInputs{6, 8, 9}, kSpaceInputs{6, 9, 10},
    kGradInputs{6, kNone, kNone};

// Reads them, of a state with that many slots.
planned::Status read_sequences(const planned::StepCx& cx, const SequenceInputs& at, Sequences& s) {
  s.q_start = cx.in(at.q_start).as<const int32_t>();
  s.slot = cx.in(at.q_start + 1).as<const int32_t>();
  s.n = cx.in(at.q_start + 1).size(0);
  s.slots = cx.out(0).size(0);
  s.tokens = cx.out(1).size(0);
  if (at.length != kNone && cx.has(at.length)) s.length = cx.in(at.length).as<const int32_t>();
  if (at.kept != kNone && cx.has(at.kept)) {
    s.kept = cx.in(at.kept).as<const int32_t>();
    s.n_kept = cx.in(at.kept).size(1);
  }
  planned::Status status = status_of(check_starts(s), &cx.in(at.q_start));
  if (!status.code) status = status_of(check_slots(s), &cx.in(at.q_start + 1));
  if (!status.code && s.kept) status = status_of(check_kept(s), &cx.in(at.kept));
  return status;
}

using Accepts = bool (*)(const Graph&, const Node&, const void*);
template <Accepts accepts, const SequenceInputs& at>
bool kept(const Graph& g, const Node& n, const void* device) {
  return has_input(n, at.kept) && accepts(g, n, device);
}

template <class T = float>
const T* floats(const planned::StepCx& cx, size_t i) {
  return cx.has(i) ? cx.in(i).as<const T>() : nullptr;
}

// The kernels of a type, under one name.
planned::Status run(const planned::StepCx& cx, const CausalConv& job) {
  causal_conv(job, *device_of(cx).pool, device_of(cx).isa);
  return {};
}
planned::Status run(const planned::StepCx& cx, const StateSpace& job) {
  return status_of(state_space(job, *device_of(cx).pool, device_of(cx).isa));
}
planned::Status run(const planned::StepCx& cx, const DeltaRule& job) {
  return status_of(delta_rule(job, *device_of(cx).pool, device_of(cx).isa));
}
planned::Status run(const planned::StepCx& cx, const CausalConvOf<double>& job) {
  causal_conv(job, *device_of(cx).pool);
  return {};
}
planned::Status run(const planned::StepCx& cx, const StateSpaceOf<double>& job) {
  state_space(job, *device_of(cx).pool);
  return {};
}
planned::Status run(const planned::StepCx& cx, const DeltaRuleOf<double>& job) {
  delta_rule(job, *device_of(cx).pool);
  return {};
}

struct LaunchCausalConv {
  template <class T>
  static planned::Status run(const planned::StepCx& cx) {
    CausalConvOf<T> job;
    const planned::Status status = read_sequences(cx, kConvInputs, job.seqs);
    if (status.code) return status;
    job.channels = cx.in(1).size(1), job.taps = cx.in(2).size(1);
    job.state = cx.out(0).as<T>(), job.y = cx.out(1).as<T>();
    job.x = floats<T>(cx, 1), job.w = floats<T>(cx, 2), job.bias = floats<T>(cx, 5);
    return cpu::run(cx, job);
  }
};

template <class T>
planned::Status launch_space(const planned::StepCx& cx, StateSpaceOf<T> job) {
  const planned::Status status = read_sequences(cx, kSpaceInputs, job.seqs);
  if (status.code) return status;
  job.heads = cx.in(1).size(1);
  job.state = cx.out(0).as<T>(), job.y = cx.out(1).as<T>();
  job.x = floats<T>(cx, 1), job.dt = floats<T>(cx, 2), job.a = floats<T>(cx, 3);
  job.b = floats<T>(cx, 4), job.c = floats<T>(cx, 5), job.d = floats<T>(cx, 8);
  return run(cx, job);
}

struct LaunchSelectiveScan {
  template <class T>
  static planned::Status run(const planned::StepCx& cx) {
    StateSpaceOf<T> job;
    job.n = cx.out(0).size(2);
    job.a_per_element = true;
    return launch_space(cx, job);
  }
};

struct LaunchMamba2 {
  template <class T>
  static planned::Status run(const planned::StepCx& cx) {
    StateSpaceOf<T> job;
    job.p = cx.out(0).size(2), job.n = cx.out(0).size(3), job.groups = cx.in(4).size(1);
    // As LaunchDeltaRule has it.
    job.chunked = device_of(cx).phase == lamella::Phase::bulk;
    return launch_space(cx, job);
  }
};

// Sizes, mapping and inputs from q on, which the rule and its gradient share.
template <class T>
void set_delta_sizes(const planned::StepCx& cx, const GatedDeltaNet::Attrs& a,
                     DeltaRuleOf<T>& job) {
  job.hk = cx.in(1).size(1), job.dk = cx.in(1).size(2);
  job.hv = cx.in(3).size(1), job.dv = cx.in(3).size(2);
  job.modulo = a.head_map == HeadMap::modulo;
  job.g_per_channel = cx.in(4).rank == 3;
  job.scale = static_cast<T>(a.scale.value_or(1 / std::sqrt(static_cast<double>(job.dk))));
  job.q = floats<T>(cx, 1), job.k = floats<T>(cx, 2), job.v = floats<T>(cx, 3);
  job.g = floats<T>(cx, 4), job.beta = floats<T>(cx, 5);
}

struct LaunchDeltaRule {
  template <class T>
  static planned::Status run(const planned::StepCx& cx) {
    const auto& a = cx.attrs<GatedDeltaNet::Attrs>();
    DeltaRuleOf<T> job;
    const planned::Status status = read_sequences(cx, kDeltaInputs, job.seqs);
    if (status.code) return status;
    set_delta_sizes(cx, a, job);
    // A token alone has the bits that it has among others of a decode step.
    job.chunked = !job.g_per_channel && device_of(cx).phase == lamella::Phase::bulk;
    job.state = cx.out(0).as<T>(), job.y = cx.out(1).as<T>();
    return cpu::run(cx, job);
  }
};

bool delta_grad_accepts(const Graph& g, const Node& n, const void* device) {
  return float_accepts(g, n, device) && type_of_input(g, n, 4).shape.rank() == 2;
}

planned::Status launch_delta_rule_grad(const planned::StepCx& cx) {
  const auto& a = cx.attrs<GatedDeltaNet::Attrs>();
  DeltaRuleGrad job;
  DeltaRule& rule = job.rule;
  const planned::Status status = read_sequences(cx, kGradInputs, rule.seqs);
  if (status.code) return status;
  set_delta_sizes(cx, a, rule);
  rule.state = const_cast<float*>(floats(cx, 0));
  job.d_y = floats(cx, 9);
  float** const outputs[] = {&job.d_state, &job.d_q, &job.d_k, &job.d_v, &job.d_g, &job.d_beta};
  for (size_t i = 0; i < std::size(outputs); ++i) *outputs[i] = cx.out(i).as<float>();
  return status_of(delta_rule_grad(job, *device_of(cx).pool, device_of(cx).isa));
}

planned::Status launch_space_grad(const planned::StepCx& cx, StateSpaceGrad job) {
  StateSpace& rule = job.rule;
  const planned::Status status = read_sequences(cx, kGradInputs, rule.seqs);
  if (status.code) return status;
  rule.heads = cx.in(1).size(1);
  rule.state = const_cast<float*>(floats(cx, 0));
  rule.x = floats(cx, 1), rule.dt = floats(cx, 2), rule.a = floats(cx, 3);
  rule.b = floats(cx, 4), rule.c = floats(cx, 5), job.d_y = floats(cx, 9);
  float** const outputs[] = {&job.d_state, &job.d_x, &job.d_dt, &job.d_a, &job.d_b, &job.d_c};
  for (size_t i = 0; i < std::size(outputs); ++i) *outputs[i] = cx.out(i).as<float>();
  return status_of(state_space_grad(job, *device_of(cx).pool, device_of(cx).isa));
}

planned::Status launch_selective_scan_grad(const planned::StepCx& cx) {
  StateSpaceGrad job;
  job.rule.n = cx.in(0).size(2);
  job.rule.a_per_element = true;
  return launch_space_grad(cx, job);
}

planned::Status launch_mamba2_grad(const planned::StepCx& cx) {
  StateSpaceGrad job;
  job.rule.p = cx.in(0).size(2), job.rule.n = cx.in(0).size(3);
  job.rule.groups = cx.in(4).size(1);
  return launch_space_grad(cx, job);
}

}  // namespace

std::span<const planned::Row> state_space_rows() {
  // With `kept`, what is written is nobody's state yet.
  static constexpr planned::Row kRows[] = {
      {.op = &op<CausalConv1d>,
       .name = "causal_conv1d_kept",
       .accepts = kept<conv_accepts, kConvInputs>,
       .launch = in_f32_or_f64<LaunchCausalConv>,
       .appends = true},
      {.op = &op<CausalConv1d>,
       .name = "causal_conv1d",
       .accepts = conv_accepts,
       .launch = in_f32_or_f64<LaunchCausalConv>},
      {.op = &op<GatedDeltaNet>,
       .name = "gated_delta_net_kept",
       .accepts = kept<or_f64_accepts, kDeltaInputs>,
       .launch = in_f32_or_f64<LaunchDeltaRule>,
       .appends = true},
      {.op = &op<GatedDeltaNet>,
       .name = "gated_delta_net",
       .accepts = or_f64_accepts,
       .launch = in_f32_or_f64<LaunchDeltaRule>},
      {.op = &op<GatedDeltaNetGrad>,
       .name = "gated_delta_net_grad",
       .accepts = delta_grad_accepts,
       .launch = in_f32<launch_delta_rule_grad>},
      {.op = &op<Mamba2>,
       .name = "mamba2_kept",
       .accepts = kept<or_f64_accepts, kSpaceInputs>,
       .launch = in_f32_or_f64<LaunchMamba2>,
       .appends = true},
      {.op = &op<Mamba2>,
       .name = "mamba2",
       .accepts = or_f64_accepts,
       .launch = in_f32_or_f64<LaunchMamba2>},
      {.op = &op<Mamba2Grad>,
       .name = "mamba2_grad",
       .accepts = float_accepts,
       .launch = in_f32<launch_mamba2_grad>},
      {.op = &op<SelectiveScan>,
       .name = "selective_scan_kept",
       .accepts = kept<or_f64_accepts, kSpaceInputs>,
       .launch = in_f32_or_f64<LaunchSelectiveScan>,
       .appends = true},
      {.op = &op<SelectiveScan>,
       .name = "selective_scan",
       .accepts = or_f64_accepts,
       .launch = in_f32_or_f64<LaunchSelectiveScan>},
      {.op = &op<SelectiveScanGrad>,
       .name = "selective_scan_grad",
       .accepts = float_accepts,
       .launch = in_f32<launch_selective_scan_grad>},
  };
  return kRows;
}

}  // namespace lamella::cpu
