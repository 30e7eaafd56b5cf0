// Kernels over rows: norms, softmax, cross-entropy, the rotary embedding.
#include "lamella/backends/cpu/kernels.h"
#include "lamella/backends/cpu/operands.h"
#include "lamella/kernels/cpu/rope.h"
#include "lamella/kernels/cpu/rows.h"
#include "lamella/ops/nn/ada_layer_norm.h"
#include "lamella/ops/nn/add_rms_norm.h"
#include "lamella/ops/nn/layer_norm.h"
#include "lamella/ops/nn/log_softmax.h"
#include "lamella/ops/nn/rms_norm.h"
#include "lamella/ops/nn/rope.h"
#include "lamella/ops/nn/softmax.h"
#include "lamella/ops/nn/softmax_cross_entropy.h"

namespace lamella::cpu {
namespace {

bool is_row_type(DType t) { return t == kF32 || t == kF16 || t == kBF16; }

// x in a type of rows; weights f32 or that type, all the same.
bool norm_fits(const Graph& g, const Node& n, std::initializer_list<size_t> vectors) {
  const DType x = type_of_input(g, n, 0).dtype;
  DType vector;
  for (size_t i : vectors) {
    if (!has_input(n, i)) continue;
    const DType t = type_of_input(g, n, i).dtype;
    if ((t != kF32 && t != x) || (!vector.is_none() && vector != t)) return false;
    vector = t;
  }
  return is_row_type(x);
}

Norm norm_of(const planned::StepCx& cx, Norm::Kind kind, const planned::Operand& y) {
  const planned::Operand& x = cx.in(0);
  Norm job;
  job.kind = kind;
  job.type = *elem_of(x.dtype);
  job.cols = x.size(-1);
  job.rows = job.cols == 0 ? 0 : x.numel() / job.cols;
  job.eps = static_cast<float>(cx.attrs<NormAttrs>().eps);
  job.x = x.data;
  job.y = y.data;
  job.x_stride = job.y_stride = job.residual_stride = job.sum_stride = job.cols;
  return job;
}

void set_vectors(const planned::StepCx& cx, Norm& job, size_t weight, size_t bias) {
  for (size_t i : {weight, bias})
    if (cx.has(i)) job.weight_type = *elem_of(cx.in(i).dtype);
  if (cx.has(weight)) job.weight = cx.in(weight).data;
  if (cx.has(bias)) job.bias = cx.in(bias).data;
}

constexpr size_t kNoInput = 99;

planned::Status run_norm(const planned::StepCx& cx, const Norm& job) {
  norm(job, *device_of(cx).pool, device_of(cx).isa);
  return {};
}

planned::Status launch_rms(const planned::StepCx& cx) {
  Norm job = norm_of(cx, Norm::Kind::rms, cx.out(0));
  set_vectors(cx, job, 1, kNoInput);
  return run_norm(cx, job);
}
planned::Status launch_add_rms(const planned::StepCx& cx) {
  Norm job = norm_of(cx, Norm::Kind::rms, cx.out(1));
  job.residual = cx.in(1).data;
  job.sum = cx.out(0).data;
  set_vectors(cx, job, 2, kNoInput);
  return run_norm(cx, job);
}
planned::Status launch_layer(const planned::StepCx& cx) {
  Norm job = norm_of(cx, Norm::Kind::layer, cx.out(0));
  set_vectors(cx, job, 1, 2);
  return run_norm(cx, job);
}
planned::Status launch_ada_layer(const planned::StepCx& cx) {
  Norm job = norm_of(cx, Norm::Kind::layer, cx.out(0));
  set_vectors(cx, job, 1, 2);
  job.shared_rows = 1;
  for (uint32_t d = 1; d + 1 < cx.in(0).rank; ++d) job.shared_rows *= cx.in(0).shape[d];
  job.weight_plus = 1;
  return run_norm(cx, job);
}

bool rms_accepts(const Graph& g, const Node& n, const void*) { return norm_fits(g, n, {1}); }
bool add_rms_accepts(const Graph& g, const Node& n, const void*) { return norm_fits(g, n, {2}); }
bool layer_accepts(const Graph& g, const Node& n, const void*) { return norm_fits(g, n, {1, 2}); }
bool softmax_accepts(const Graph& g, const Node& n, const void*) {
  return is_row_type(type_of_input(g, n, 0).dtype);
}

template <bool kLog>
planned::Status launch_softmax(const planned::StepCx& cx) {
  const planned::Operand &x = cx.in(0), &y = cx.out(0);
  int64_t axis = cx.attrs<AxisAttrs>().axis;
  if (axis < 0) axis += x.rank;
  cpu::Softmax job;
  job.type = *elem_of(x.dtype);
  job.log = kLog;
  job.outer = job.inner = 1;
  for (int64_t d = 0; d < axis; ++d) job.outer *= x.shape[d];
  for (int64_t d = axis + 1; d < x.rank; ++d) job.inner *= x.shape[d];
  job.axis = x.shape[axis];
  job.x = x.data;
  job.y = y.data;
  if (y.numel() > 0) softmax(job, *device_of(cx).pool, device_of(cx).isa);
  return {};
}

bool cross_entropy_accepts(const Graph& g, const Node& n, const void*) {
  const Type &x = type_of_input(g, n, 0), &labels = type_of_input(g, n, 1);
  const int64_t axis = n.attrs.as<SoftmaxCrossEntropy::Attrs>().axis;
  const bool is_last = axis == -1 || axis + 1 == static_cast<int64_t>(x.rank());
  return is_last && is_row_type(x.dtype) &&
         (labels.dtype.is_int() || labels.dtype == kF32 || labels.dtype == x.dtype);
}

int64_t cross_entropy_workspace(const planned::StepCx& cx) {
  return cx.in(0).numel() / cx.in(0).size(-1) * static_cast<int64_t>(sizeof(float));
}

planned::Status launch_cross_entropy(const planned::StepCx& cx) {
  const auto& a = cx.attrs<SoftmaxCrossEntropy::Attrs>();
  const planned::Operand &x = cx.in(0), &labels = cx.in(1), &y = cx.out(0);
  CrossEntropy job;
  job.type = *elem_of(x.dtype);
  job.label_type = *elem_of(labels.dtype);
  job.cols = x.size(-1);
  job.rows = x.numel() / job.cols;
  job.x = x.data;
  job.labels = labels.data;
  job.ignored = a.ignore_index;
  job.smoothing = static_cast<float>(a.smoothing);
  job.loss = reinterpret_cast<float*>(cx.workspace());
  const Status status = cross_entropy(job, *device_of(cx).pool, device_of(cx).isa);
  if (!status.ok()) return status_of(status, &labels);
  if (a.reduction == LossReduction::none) {
    for (int64_t row = 0; row < job.rows; ++row)
      store_double(y.dtype, y.data + row * y.dtype.bytes(), static_cast<double>(job.loss[row]));
    return {};
  }
  // In one order, whatever the number of threads.
  double total = 0;
  int64_t counted = 0;
  for (int64_t row = 0; row < job.rows; ++row) {
    total += static_cast<double>(job.loss[row]);
    counted += is_float(job.label_type) || label_of(job, row) != job.ignored;
  }
  if (a.reduction == LossReduction::mean) total /= static_cast<double>(counted);
  store_double(y.dtype, y.data, total);
  return {};
}

bool rope_accepts(const Graph& g, const Node& n, const void*) {
  // Factors are divided into the frequencies when the step runs; they are few.
  return type_of_input(g, n, 0).dtype == kF32 && type_of_input(g, n, 1).dtype == kI32 &&
         (!has_input(n, 2) || type_of_input(g, n, 2).dtype == kF32) &&
         n.outputs[0].shape.last().is_const();
}

struct RopePlan {
  int64_t n_rot;
  std::vector<double> frequencies;
  float magnitude;
};

std::shared_ptr<const void> prepare_rope(const Graph&, const Node& n, const void*) {
  const auto& a = n.attrs.as<lamella::Rope::Attrs>();
  auto plan = std::make_shared<RopePlan>();
  plan->n_rot = a.n_rot ? a.n_rot : n.outputs[0].shape.last().value();
  plan->frequencies = lamella::Rope::frequencies(a, plan->n_rot);
  plan->magnitude = static_cast<float>(lamella::Rope::magnitude(a));
  return plan;
}

int64_t rope_workspace(const planned::StepCx& cx) {
  return cx.has(2) ? cx.prepared<RopePlan>().n_rot / 2 * static_cast<int64_t>(sizeof(double)) : 0;
}

planned::Status launch_rope(const planned::StepCx& cx) {
  const auto& plan = cx.prepared<RopePlan>();
  const planned::Operand &x = cx.in(0), &y = cx.out(0);
  cpu::Rope job;
  job.pairing = cx.attrs<lamella::Rope::Attrs>().pairing == RopePairing::halves
                    ? cpu::Rope::Pairing::halves
                    : cpu::Rope::Pairing::neighbours;
  job.tokens = x.size(0);
  job.heads = x.size(1);
  job.dim = x.size(2);
  job.n_rot = plan.n_rot;
  job.x = x.as<const float>();
  job.y = y.as<float>();
  job.x_token_stride = job.y_token_stride = job.heads * job.dim;
  job.x_head_stride = job.y_head_stride = job.dim;
  job.positions = cx.in(1).as<const int32_t>();
  job.inv_freq = plan.frequencies.data();
  if (cx.has(2)) {
    double* divided = reinterpret_cast<double*>(cx.workspace());
    const float* factors = cx.in(2).as<const float>();
    for (size_t i = 0; i < plan.frequencies.size(); ++i)
      divided[i] = plan.frequencies[i] / static_cast<double>(factors[i]);
    job.inv_freq = divided;
  }
  job.mscale = plan.magnitude;
  rope(job, *device_of(cx).pool, device_of(cx).isa);
  return {};
}

}  // namespace

std::span<const planned::Row> norm_rows() {
  static constexpr planned::Row kRows[] = {
      {.op = &op<AdaLayerNorm>,
       .name = "ada_layer_norm",
       .accepts = layer_accepts,
       .launch = launch_ada_layer},
      {.op = &op<AddRmsNorm>,
       .name = "add_rms_norm",
       .accepts = add_rms_accepts,
       .launch = launch_add_rms},
      {.op = &op<LayerNorm>,
       .name = "layer_norm",
       .accepts = layer_accepts,
       .launch = launch_layer},
      {.op = &op<LogSoftmax>,
       .name = "log_softmax",
       .accepts = softmax_accepts,
       .launch = launch_softmax<true>},
      {.op = &op<RmsNorm>,
       .name = "rms_norm",
       .accepts = rms_accepts,
       .launch = launch_rms,
       .in_place_inputs = 1},
      {.op = &op<lamella::Rope>,
       .name = "rope",
       .accepts = rope_accepts,
       .launch = launch_rope,
       .prepare = prepare_rope,
       .workspace = rope_workspace,
       .in_place_inputs = 1},
      {.op = &op<lamella::Softmax>,
       .name = "softmax",
       .accepts = softmax_accepts,
       .launch = launch_softmax<false>,
       .in_place_inputs = 1},
      {.op = &op<SoftmaxCrossEntropy>,
       .name = "softmax_cross_entropy",
       .accepts = cross_entropy_accepts,
       .launch = launch_cross_entropy,
       .workspace = cross_entropy_workspace},
  };
  return kRows;
}

}  // namespace lamella::cpu
