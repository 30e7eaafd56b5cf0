// Matrix products: packed and exact through the kernels of matmul.h, with their epilogues and
// groups; whatever else the op allows by a plain loop. And packing, which feeds them.
#include <array>

#include "lamella/backends/cpu/kernels.h"
#include "lamella/backends/cpu/operands.h"
#include "lamella/backends/cpu/plain_matmul.h"
#include "lamella/kernels/cpu/grouped_matmul.h"
#include "lamella/kernels/cpu/matmul.h"
#include "lamella/kernels/cpu/pack.h"
#include "lamella/ops/linalg/gated_mlp_up.h"
#include "lamella/ops/linalg/grouped_matmul.h"
#include "lamella/ops/linalg/linear.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/linalg/multi_linear.h"
#include "lamella/ops/quant/pack.h"

namespace lamella::cpu {
namespace {

constexpr size_t kMaxJobs = 16;

struct ActivationRow {
  lamella::Activation ir;
  Activation kernel;
};
constexpr ActivationRow kActivations[] = {
    {lamella::Activation::none, Activation::none},
    {lamella::Activation::silu, Activation::silu},
    {lamella::Activation::gelu, Activation::gelu_erf},
    {lamella::Activation::gelu_tanh, Activation::gelu_tanh},
};
std::optional<Activation> activation_of(lamella::Activation a) {
  for (const ActivationRow& row : kActivations)
    if (row.ir == a) return row.kernel;
  return std::nullopt;
}

bool is_bulk(const Device& device) { return device.phase == lamella::Phase::bulk; }

Phase phase_of(const Device& device) {
  return device.phase == lamella::Phase::decode ? Phase::decode : Phase::bulk;
}

// x is f32, or packed as the weights want it; w is one matrix [n, k], or several (rank 3).
bool operands_fit(const Graph& g, const Node& n, std::span<const size_t> weights, bool transpose_w,
                  Compute compute, const void* device, size_t rank = 2) {
  const Type& x = type_of_input(g, n, 0);
  const Device& cpu = *static_cast<const Device*>(device);
  if (!transpose_w || x.rank() < 1) return false;
  const bool rounded = compute == Compute::bf16;
  if (rounded && !has_bf16_unit(cpu.isa)) return false;
  for (size_t i : weights) {
    const Type& w = type_of_input(g, n, i);
    if (rounded && !is_bulk(cpu) && w.dtype != kBF16) return false;
    if (w.rank() != rank || !is_weight_type(w.dtype)) return false;
    const bool exact = x.dtype == kF32;
    const bool packed =
        x.dtype.is_block() && w.dtype.is_block() && !rounded &&
        x.dtype.info().format == activation_encoding(*w.dtype.info().format, phase_of(cpu));
    if (!exact && !packed) return false;
  }
  return n.outputs[0].dtype == kF32;
}

// The encoding that all the weights want, if x is f32 and they agree.
DType wanted_encoding(const Graph& g, const Node& n, std::span<const size_t> weights,
                      const void* device) {
  if (type_of_input(g, n, 0).dtype != kF32) return {};
  DType wanted;
  for (size_t i : weights) {
    const DType w = type_of_input(g, n, i).dtype;
    if (!w.is_block()) return {};
    const quant::Format* e =
        activation_encoding(*w.info().format, phase_of(*static_cast<const Device*>(device)));
    if (!e || (!wanted.is_none() && wanted != dtype_of(*e))) return {};
    wanted = dtype_of(*e);
  }
  return wanted;
}

// Whether both operands are better rounded to bf16: tiles multiply those many times faster than
// other units multiply codes with many scales (in bulk, where unpacking weights pays), and dot
// products of bf16 take weights of bf16 as they are.
bool wants_bf16(const Graph& g, const Node& n, std::span<const size_t> weights,
                const Device& device) {
  if (!has_bf16_unit(device.isa) || type_of_input(g, n, 0).dtype != kF32) return false;
  return std::all_of(weights.begin(), weights.end(), [&](size_t i) {
    const DType w = type_of_input(g, n, i).dtype;
    return w == kBF16 ||
           (is_bulk(device) && w.is_block() && rounds_weights(device.isa, *w.info().format));
  });
}

bool is_f32_or_absent(const Graph& g, const Node& n, size_t i) {
  return !has_input(n, i) || type_of_input(g, n, i).dtype == kF32;
}

// The jobs of a step, built on the stack at each launch.
struct Jobs {
  std::array<MatmulJob, kMaxJobs> jobs{};
  Weights gated;
  size_t n = 0;
  MatmulCall call;
};

Activations activations_of(const planned::Operand& x) {
  Activations a;
  if (x.dtype.is_block()) {
    a.format = x.dtype.info().format;
    a.planes = planes_of(x);
  } else {
    a.planes[0] = x.as<const uint8_t>();
    a.row_stride = x.size(-1);
  }
  return a;
}

void start(const planned::StepCx& cx, Compute compute, Jobs& out) {
  const planned::Operand& x = cx.in(0);
  out.call.bf16 = compute == Compute::bf16;
  out.call.isa = device_of(cx).isa;
  out.call.phase = phase_of(device_of(cx));
  out.call.k = x.size(-1);
  // Counted by the other axes: k may be 0.
  out.call.m = 1;
  for (uint32_t d = 0; d + 1 < x.rank; ++d) out.call.m *= x.shape[d];
  out.call.x = activations_of(x);
}

MatmulJob& add_job(Jobs& out, const planned::Operand& w, const planned::Operand& y) {
  MatmulJob& job = out.jobs[out.n++];
  job.w = weights_of(w);
  job.n = w.size(0);
  job.y = y.as<float>();
  job.y_stride = job.n;
  return job;
}

void finish(Jobs& out) { out.call.jobs = {out.jobs.data(), out.n}; }

void set_residual(MatmulJob& job, const planned::Operand& residual) {
  job.residual = residual.as<const float>();
  job.residual_stride = job.n;
}

// One of these an op: which inputs are weights, what the node must have, which jobs it makes.
struct MatmulJobs {
  using Attrs = Matmul::Attrs;
  static constexpr size_t kWeights[] = {1};
  static std::span<const size_t> weights(const Node&) { return kWeights; }
  static bool accepts(const Graph& g, const Node& n, const void* device) {
    const auto& a = n.attrs.as<Matmul::Attrs>();
    return operands_fit(g, n, kWeights, a.transpose_w, a.compute, device);
  }
  static void jobs(const planned::StepCx& cx, Jobs& out) { add_job(out, cx.in(1), cx.out(0)); }
};

struct LinearJobs {
  using Attrs = Linear::Attrs;
  static constexpr size_t kWeights[] = {1};
  static std::span<const size_t> weights(const Node&) { return kWeights; }
  static bool accepts(const Graph& g, const Node& n, const void* device) {
    const auto& a = n.attrs.as<Linear::Attrs>();
    return operands_fit(g, n, kWeights, a.transpose_w, a.compute, device) &&
           activation_of(a.activation) && is_f32_or_absent(g, n, 2) && is_f32_or_absent(g, n, 3);
  }
  static void jobs(const planned::StepCx& cx, Jobs& out) {
    MatmulJob& job = add_job(out, cx.in(1), cx.out(0));
    job.activation = *activation_of(cx.attrs<Linear::Attrs>().activation);
    if (cx.has(2)) job.bias = cx.in(2).as<const float>();
    if (cx.has(3)) set_residual(job, cx.in(3));
  }
};

struct MultiLinearJobs {
  using Attrs = MultiLinear::Attrs;
  static constexpr std::array<size_t, kMaxJobs> kWeights{1, 2,  3,  4,  5,  6,  7,  8,
                                                         9, 10, 11, 12, 13, 14, 15, 16};
  static std::span<const size_t> weights(const Node& n) {
    return {kWeights.data(), n.outputs.size()};
  }
  static bool accepts(const Graph& g, const Node& n, const void* device) {
    const auto& a = n.attrs.as<MultiLinear::Attrs>();
    if (n.outputs.size() > kMaxJobs) return false;
    for (size_t i = n.outputs.size() + 1; i < n.inputs.size(); ++i)
      if (!is_f32_or_absent(g, n, i)) return false;
    return operands_fit(g, n, weights(n), a.transpose_w, a.compute, device);
  }
  static void jobs(const planned::StepCx& cx, Jobs& out) {
    const size_t n = cx.node().outputs.size();
    for (size_t i = 0; i < n; ++i) {
      MatmulJob& job = add_job(out, cx.in(1 + i), cx.out(i));
      if (cx.has(1 + n + i)) job.bias = cx.in(1 + n + i).as<const float>();
    }
  }
};

struct GatedMlpUpJobs {
  using Attrs = GatedMlpUp::Attrs;
  static constexpr size_t kWeights[] = {1, 2};
  static std::span<const size_t> weights(const Node&) { return kWeights; }
  static bool accepts(const Graph& g, const Node& n, const void* device) {
    const auto& a = n.attrs.as<GatedMlpUp::Attrs>();
    return operands_fit(g, n, kWeights, a.transpose_w, a.compute, device) &&
           activation_of(a.activation) &&
           type_of_input(g, n, 1).dtype == type_of_input(g, n, 2).dtype;
  }
  static void jobs(const planned::StepCx& cx, Jobs& out) {
    MatmulJob& job = add_job(out, cx.in(1), cx.out(0));
    job.activation = *activation_of(cx.attrs<GatedMlpUp::Attrs>().activation);
    out.gated = weights_of(cx.in(2));
    job.gated = &out.gated;
  }
};

constexpr size_t kGroupedWeights[] = {1};

bool grouped_accepts(const Graph& g, const Node& n, const void* device) {
  const auto& a = n.attrs.as<lamella::GroupedMatmul::Attrs>();
  return operands_fit(g, n, kGroupedWeights, a.transpose_w, Compute::exact, device, 3);
}

DType grouped_activation(const Graph& g, const Node& n, const void* device) {
  return wanted_encoding(g, n, kGroupedWeights, device);
}

cpu::GroupedMatmul grouped_of(const planned::StepCx& cx) {
  const planned::Operand &x = cx.in(0), &w = cx.in(1), &expert = cx.in(2);
  cpu::GroupedMatmul job;
  job.isa = device_of(cx).isa;
  job.phase = device_of(cx).phase == lamella::Phase::decode ? Phase::decode : Phase::bulk;
  job.tokens = expert.size(0);
  job.slots = expert.size(1);
  job.experts = w.size(0);
  job.n = w.size(1);
  job.k = w.size(2);
  job.shares_x = x.rank == 2;
  job.x = activations_of(x);
  job.w = weights_of(w);
  job.expert = expert.as<const int32_t>();
  job.y = cx.out(0).as<float>();
  return job;
}

int64_t grouped_workspace(const planned::StepCx& cx) {
  return grouped_matmul_workspace(grouped_of(cx), *device_of(cx).pool);
}

planned::Status launch_grouped(const planned::StepCx& cx) {
  return status_of(grouped_matmul(grouped_of(cx), cx.workspace(), *device_of(cx).pool), &cx.in(2));
}

template <class J>
planned::Status launch(const planned::StepCx& cx) {
  Jobs jobs;
  start(cx, cx.attrs<typename J::Attrs>().compute, jobs);
  J::jobs(cx, jobs);
  finish(jobs);
  matmul(jobs.call, cx.workspace(), *device_of(cx).pool);
  return {};
}

template <class J>
int64_t workspace(const planned::StepCx& cx) {
  Jobs jobs;
  start(cx, cx.attrs<typename J::Attrs>().compute, jobs);
  J::jobs(cx, jobs);
  finish(jobs);
  return matmul_workspace(jobs.call, device_of(cx).pool->size());
}

template <class J>
DType activation(const Graph& g, const Node& n, const void* device) {
  if (n.attrs.as<typename J::Attrs>().compute != Compute::exact) return {};
  if (wants_bf16(g, n, J::weights(n), *static_cast<const Device*>(device))) return kBF16;
  return wanted_encoding(g, n, J::weights(n), device);
}

template <class T, class J>
planned::Row row_of(std::string_view name) {
  planned::Row row{.op = &op<T>, .name = name};
  row.accepts = J::accepts;
  row.launch = launch<J>;
  row.workspace = workspace<J>;
  row.activation = activation<J>;
  return row;
}

bool pack_accepts(const Graph& g, const Node& n, const void*) {
  const DType to = n.outputs[0].dtype;
  const DType x = type_of_input(g, n, 0).dtype;
  return (to == find_dtype("q8_32") || to == find_dtype("q8_256")) && is_weight_type(x) &&
         !x.is_block();
}

planned::Status launch_pack(const planned::StepCx& cx) {
  const planned::Operand &x = cx.in(0), &y = cx.out(0);
  PackCall call;
  call.isa = device_of(cx).isa;
  call.element = *elem_of(x.dtype);
  call.x = x.data;
  call.k = call.row_stride = x.size(-1);
  call.m = call.k == 0 ? 0 : x.numel() / call.k;
  call.format = y.dtype.info().format;
  const quant::BlockPtr planes = planes_of(y);
  for (size_t p = 0; p < planes.size(); ++p) call.planes[p] = const_cast<uint8_t*>(planes[p]);
  pack_rows(call, *device_of(cx).pool);
  return {};
}

bool encode_accepts(const Graph& g, const Node& n, const void*) {
  const quant::Format& f = *n.outputs[0].dtype.info().format;
  const DType x = type_of_input(g, n, 0).dtype;
  return (x == kF32 || x == kF64) && f.encode;
}

// Any format with a plain encoder, row by row.
planned::Status launch_encode(const planned::StepCx& cx) {
  const planned::Operand &x = cx.in(0), &y = cx.out(0);
  const quant::Format& f = *y.dtype.info().format;
  const int64_t k = x.size(-1), n_rows = k == 0 ? 0 : x.numel() / k;
  const quant::BlockPtr planes = planes_of(y);
  device_of(cx).pool->run_ranges(n_rows, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) {
      quant::MutableBlockPtr row{};
      for (size_t p = 0; p < static_cast<size_t>(f.n_planes); ++p)
        row[p] = const_cast<uint8_t*>(planes[p]) + r * f.blocks(k) * f.planes[p].block_bytes;
      if (x.dtype == kF32) {
        quant::encode_row(f, x.as<const float>() + r * k, k, row);
        continue;
      }
      const double* wide = x.as<const double>() + r * k;
      const std::vector<float> narrow(wide, wide + k);
      quant::encode_row(f, narrow.data(), k, row);
    }
  });
  return {};
}

}  // namespace

std::span<const planned::Row> matmul_rows() {
  static const std::vector<planned::Row> rows{
      row_of<GatedMlpUp, GatedMlpUpJobs>("gated_matmul"),
      {.op = &op<lamella::GroupedMatmul>,
       .name = "grouped_matmul",
       .accepts = grouped_accepts,
       .launch = launch_grouped,
       .workspace = grouped_workspace,
       .activation = grouped_activation},
      {.op = &op<lamella::GroupedMatmul>,
       .name = "grouped_matmul_plain",
       .accepts = plain_grouped_accepts,
       .launch = launch_plain_grouped},
      {.op = &op<lamella::GroupedMatmul>,
       .name = "grouped_matmul_decoded",
       .accepts = decoded_grouped_accepts,
       .launch = launch_decoded_grouped},
      row_of<Linear, LinearJobs>("matmul_epilogue"),
      row_of<Matmul, MatmulJobs>("matmul"),
      {.op = &op<Matmul>,
       .name = "matmul_plain",
       .accepts = plain_matmul_accepts,
       .launch = launch_plain_matmul,
       .strided_inputs = 3},
      {.op = &op<Matmul>,
       .name = "matmul_decoded",
       .accepts = decoded_matmul_accepts,
       .launch = launch_decoded_matmul},
      row_of<MultiLinear, MultiLinearJobs>("matmul_group"),
      {.op = &op<Pack>, .name = "pack_activation", .accepts = pack_accepts, .launch = launch_pack},
      {.op = &op<Pack>, .name = "pack_encode", .accepts = encode_accepts, .launch = launch_encode},
  };
  return rows;
}

}  // namespace lamella::cpu
