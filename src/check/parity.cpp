#include "lamella/check/parity.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "lamella/base/error.h"
#include "lamella/check/cases.h"
#include "lamella/ir/rewrite.h"
#include "lamella/passes/passes.h"

namespace lamella::check {
namespace {

constexpr size_t kGuard = 256;
constexpr const char* kLayoutNames[] = {"", ", strided", ", known"};
constexpr std::byte kGuardByte{0xa5}, kNanByte{0xff};

// A dense tensor between guard bytes.
class Guarded {
 public:
  Guarded(DType dtype, std::vector<int64_t> shape)
      : size_(tensor_bytes(dtype, shape)), memory_(size_ + 2 * kGuard + 64) {
    std::fill(memory_.begin(), memory_.end(), kGuardByte);
    const size_t address = reinterpret_cast<size_t>(memory_.data()) + kGuard;
    at_ = memory_.data() + kGuard + (64 - address % 64) % 64;
    std::fill(at_, at_ + size_, kNanByte);
    tensor_ = Tensor::view_of(dtype, std::move(shape), at_);
  }
  explicit Guarded(const Tensor& values) : Guarded(values.dtype(), values.shape()) {
    if (size_ > 0) std::memcpy(at_, values.data(), size_);
  }
  const Tensor& tensor() const { return tensor_; }
  bool guards_hold() const {
    return std::all_of(memory_.data(), static_cast<const std::byte*>(at_),
                       [](std::byte b) { return b == kGuardByte; }) &&
           std::all_of(static_cast<const std::byte*>(at_ + size_), memory_.data() + memory_.size(),
                       [](std::byte b) { return b == kGuardByte; });
  }
  bool equals(const Tensor& other) const {
    return size_ == 0 || std::memcmp(at_, other.data(), size_) == 0;
  }

 private:
  size_t size_;
  std::vector<std::byte> memory_;
  std::byte* at_;
  Tensor tensor_;
};

// Equal bytes, the gaps between the planes of an encoded tensor aside.
bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return false;
  const quant::Format* f = a.dtype().info().format;
  if (!f) return a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
  const int64_t k = a.shape().back(), n_rows = k == 0 ? 0 : a.numel() / k;
  for (int p = 0; p < f->n_planes; ++p) {
    const int64_t at = quant::plane_offset(*f, p, n_rows, k);
    const size_t bytes =
        static_cast<size_t>(n_rows * f->blocks(k) * f->planes[static_cast<size_t>(p)].block_bytes);
    if (bytes > 0 && std::memcmp(a.data() + at, b.data() + at, bytes) != 0) return false;
  }
  return true;
}

RefTensors given(const Case& c, bool absolute, const Graph& graph) {
  RefTensors out;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    RefTensor r = RefTensor::from(c.inputs[i]);
    if (absolute)
      for (double& v : r.f) v = std::abs(v);
    out[c.names[i]] = std::move(r);
  }
  (void)graph;
  return out;
}

// The reference's outputs, and the scale of each element where the bound asks for one.
struct Expected {
  std::vector<RefTensor> values, scale;
};

// Each element replaced by the largest magnitude over the last `n_axes` axes.
std::vector<RefTensor> maxima_over(std::vector<RefTensor> values, size_t n_axes) {
  for (RefTensor& t : values) {
    size_t k = 1;
    for (size_t i = t.rank(); i-- > 0 && t.rank() - i <= n_axes;)
      k *= static_cast<size_t>(t.shape[i]);
    for (size_t row = 0; k > 0 && row + k <= t.f.size(); row += k) {
      double most = 0;
      for (size_t i = 0; i < k; ++i) most = std::max(most, std::abs(t.f[row + i]));
      std::fill_n(t.f.begin() + static_cast<int64_t>(row), k, most);
    }
  }
  return values;
}

Expected expected_of(const Case& c, const Graph& graph) {
  Expected e;
  e.values = evaluate_graph(graph, given(c, false, graph)).outputs;
  if (c.op->has(kMatrixScale))
    e.scale = maxima_over(e.values, 2);
  else if (c.op->has(kRowScale))
    e.scale = maxima_over(e.values, 1);
  else if (c.op->info.ulps_per_length > 0)
    e.scale = evaluate_graph(graph, given(c, true, graph)).outputs;
  return e;
}

double largest(DType t) {
  if (t == kF16) return 65504;
  if (t == kF32 || t == kBF16) return static_cast<double>(std::numeric_limits<float>::max());
  return std::numeric_limits<double>::max();
}

double smallest_normal(DType t) { return t == kF16 ? 0x1p-14 : t == kF64 ? 0x1p-1022 : 0x1p-126; }

// "" when y is within the bound of the reference at every element.
std::string compare_values(const Case& c, const Expected& e, size_t o, const Tensor& y) {
  const RefTensor &want = e.values[o], got = RefTensor::from(y);
  if (got.shape != want.shape) return str("output ", o, " has the wrong shape");
  const double ulps =
      c.op->info.ulps + c.op->info.ulps_per_length * static_cast<double>(c.sample->length);
  const double eps = y.dtype().info().eps;
  for (size_t i = 0; i < want.i.size(); ++i)
    if (got.i[i] != want.i[i])
      return str("output ", o, " element ", i, "; got ", got.i[i], "; want ", want.i[i]);
  for (size_t i = 0; i < want.f.size(); ++i) {
    const double r = want.f[i], v = got.f[i];
    if (std::isnan(r) || std::isnan(v)) {
      if (std::isnan(r) && std::isnan(v)) continue;
      return str("output ", o, " element ", i, "; got ", v, "; want ", r);
    }
    const double limit = largest(y.dtype());
    if (std::abs(r) >= limit || std::isinf(v)) {
      const double near = limit * (1 - (ulps + 1) * eps);
      if (std::abs(r) >= near && (r > 0) == (v > 0) && std::abs(v) >= near) continue;
      return str("output ", o, " element ", i, "; got ", v, "; want ", r);
    }
    const double scale =
        e.scale.empty() || !std::isfinite(e.scale[o].f[i]) ? 0 : std::abs(e.scale[o].f[i]);
    const double bound = ulps * eps * std::max({std::abs(r), scale, smallest_normal(y.dtype())});
    if (std::abs(v - r) <= bound) continue;
    return str("output ", o, " element ", i, "; got ", v, "; want ", r, " within ", bound,
               "; off by ", std::abs(v - r) / bound * ulps, " ulps");
  }
  return "";
}

// Runs the executable on guarded copies of the inputs; "" or what went wrong.
std::string run_guarded(const Executable& executable, const Case& c, const Expected* e,
                        std::vector<Tensor>& outputs) {
  std::vector<Guarded> inputs, results;
  inputs.reserve(c.inputs.size());
  for (const Tensor& t : c.inputs) inputs.emplace_back(t);
  std::vector<Tensor> in, out;
  for (const Guarded& g : inputs) in.push_back(g.tensor());
  const size_t n_out = executable.graph().outputs().size();
  results.reserve(n_out);
  for (size_t o = 0; o < n_out; ++o) {
    if (!e) {
      out.emplace_back();
      continue;
    }
    results.emplace_back(executable.graph().type(executable.graph().outputs()[o].id).dtype,
                         e->values[o].shape);
    out.push_back(results.back().tensor());
  }
  auto frame = executable.new_frame();
  for (int round = 0; round < 2; ++round) {
    std::vector<Tensor> again = round == 0 ? out : std::vector<Tensor>(n_out);
    frame->run({in, {}, {}, again});
    if (round == 0) {
      outputs.clear();
      for (const Tensor& t : again) outputs.push_back(t.clone());
      continue;
    }
    for (size_t o = 0; o < n_out; ++o)
      if (!same_bits(again[o], outputs[o])) return "a second run gives other bits";
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].guards_hold()) return str("wrote beside input ", i);
    if (!inputs[i].equals(c.inputs[i])) return str("changed input ", i);
  }
  for (size_t o = 0; o < results.size(); ++o)
    if (!results[o].guards_hold()) return str("wrote beside output ", o);
  return "";
}

// The graph ready for the back end, its composites expanded where no row claims them.
Graph prepared(const Graph& graph, const Target& target) {
  return prune(expand_unclaimed(graph, target));
}

Tensor row_of(const Tensor& t, int64_t row) {
  std::vector<int64_t> shape = t.shape();
  const int64_t n = shape[0];
  shape[0] = 1;
  if (const quant::Format* f = t.dtype().info().format; f && f->n_planes > 1) {
    Tensor one(t.dtype(), shape);
    const int64_t k = shape.back(), rows_each = one.numel() / std::max<int64_t>(k, 1);
    for (int p = 0; p < f->n_planes; ++p) {
      const int64_t bytes = rows_each * f->blocks(k) * f->planes[p].block_bytes;
      std::memcpy(one.data() + quant::plane_offset(*f, p, rows_each, k),
                  t.data() + quant::plane_offset(*f, p, rows_each * n, k) + row * bytes,
                  static_cast<size_t>(bytes));
    }
    return one;
  }
  const size_t bytes = tensor_bytes(t.dtype(), shape);
  return Tensor::copy_of(t.dtype(), shape, t.data() + static_cast<size_t>(row) * bytes);
}

// Each row alone against the same row among all.
std::string check_rows(const Case& c, const Backend& backend, const CompileOptions& options,
                       const std::vector<Tensor>& all) {
  Sample one_row = *c.sample;
  int64_t n_rows = -1;
  for (size_t i = 0; i < one_row.inputs.size(); ++i) {
    if (!(c.sample->row_inputs >> i & 1)) continue;
    n_rows = one_row.inputs[i].shape[0];
    one_row.inputs[i].shape[0] = 1;
  }
  if (n_rows < 2) return "";
  const Graph graph = prepared(graph_of_case(*c.op, one_row, c.dtype), backend.target(options));
  const auto executable = backend.build(graph, options);
  for (int64_t row = 0; row < n_rows; row += std::max<int64_t>(1, n_rows / 7)) {
    Case alone = c;
    size_t present = 0;
    for (size_t i = 0; i < one_row.inputs.size(); ++i) {
      if (one_row.inputs[i].is_absent) continue;
      if (c.sample->row_inputs >> i & 1) alone.inputs[present] = row_of(c.inputs[present], row);
      ++present;
    }
    std::vector<Tensor> outputs;
    const std::string problem = run_guarded(*executable, alone, nullptr, outputs);
    if (!problem.empty()) return problem;
    for (size_t o = 0; o < outputs.size(); ++o) {
      const Tensor want = row_of(all[o], row);
      if (!same_bits(want, outputs[o]))
        return str("row ", row, " alone gives other bits than among ", n_rows);
    }
  }
  return "";
}

// One case in one layout on one row of one subject.
std::string check_case(const Case& c, InputLayout layout, const Backend& backend,
                       const CompileOptions& options) {
  Case laid = c;
  if (layout == InputLayout::strided)
    for (size_t i = 0; i < laid.inputs.size(); ++i) {
      Tensor& t = laid.inputs[i];
      if (t.dtype().is_block() || t.rank() < 2) continue;
      // Store the axes in reverse order; the graph transposes back.
      std::vector<int64_t> shape(t.shape().rbegin(), t.shape().rend());
      std::vector<int64_t> strides(t.strides().rbegin(), t.strides().rend());
      t = t.strided(shape, strides, t.byte_offset()).clone();
    }
  const Graph meaning = graph_of_case(*c.op, *c.sample, c.dtype, layout);
  // What has become a constant of the graph is no input of it.
  for (size_t i = laid.inputs.size(); i-- > 0;) {
    const auto& ids = meaning.inputs();
    const bool is_input = std::any_of(ids.begin(), ids.end(), [&](ValueId id) {
      return meaning.input_name(id) == laid.names[i];
    });
    if (is_input) continue;
    laid.inputs.erase(laid.inputs.begin() + static_cast<int64_t>(i));
    laid.names.erase(laid.names.begin() + static_cast<int64_t>(i));
  }
  const Expected expected = expected_of(laid, meaning);
  const auto executable = backend.build(prepared(meaning, backend.target(options)), options);
  std::vector<Tensor> outputs;
  std::string problem = run_guarded(*executable, laid, &expected, outputs);
  for (size_t o = 0; o < outputs.size() && problem.empty(); ++o)
    problem = compare_values(c, expected, o, outputs[o]);
  if (problem.empty() && layout == InputLayout::dense && c.sample->row_inputs)
    problem = check_rows(c, backend, options, outputs);
  return problem;
}

// Rows of the op, each to be forced; "" is the back end's own choice.
std::vector<std::string> rows_to_force(const Backend& backend, const Op& op) {
  std::vector<std::string> rows = backend.rows(op);
  if (rows.size() < 2) return {""};
  return rows;
}

bool has_known(const Sample& sample) {
  return std::any_of(sample.inputs.begin(), sample.inputs.end(), [](const In& in) {
    return !in.values.empty() && !in.dtype.is_none() && in.dtype.is_int();
  });
}

void check_sample(const ParityOptions& options, const Op& op, size_t index, const Sample& sample,
                  DType dtype, Report& report) {
  const Case c = make_case(op, index, sample, dtype, options.seed);
  for (const Subject& subject : options.subjects)
    for (const std::string& row : rows_to_force(*subject.backend, op))
      for (Phase phase : {Phase::bulk, Phase::decode})
        for (InputLayout layout : {InputLayout::dense, InputLayout::strided, InputLayout::known}) {
          if (layout == InputLayout::known && !has_known(sample)) continue;
          const std::string name =
              str(c.label, row.empty() ? "" : ", " + row, " on ", subject.name,
                  phase == Phase::bulk ? "" : ", decode", kLayoutNames[static_cast<int>(layout)]);
          const CompileOptions how{
              .phase = phase, .exact = true, .allow_fallback = false, .force_row = row};
          try {
            const std::string problem = check_case(c, layout, *subject.backend, how);
            if (problem.empty())
              report.pass(name);
            else
              report.fail(name, str(problem, "; rerun: lamella check parity --op ", op.info.name,
                                    " --seed ", options.seed));
          } catch (const std::exception& e) {
            const bool unsupported = std::strstr(e.what(), "no kernel runs");
            if (unsupported)
              report.skip(name, e.what());
            else
              report.fail(name, e.what());
          }
        }
}

bool runs_at(const Sample& sample, size_t type_index) {
  // A sample whose inputs all have types of their own runs once.
  const bool depends = std::any_of(sample.inputs.begin(), sample.inputs.end(), [](const In& in) {
    return !in.is_absent && in.dtype.is_none();
  });
  return depends || type_index == 0;
}

template <class Visit>
void for_each_case(const std::string& pattern, Report& report, Visit visit) {
  for (const Op* op : all_ops()) {
    if (op->has(kStructural) || !matches(pattern, op->info.name)) continue;
    const Samples samples = samples_of(*op);
    if (samples.list.empty()) report.fail(std::string(op->info.name), "the op has no samples");
    for (size_t i = 0; i < samples.list.size(); ++i)
      for (size_t t = 0; t < samples.types().size(); ++t)
        if (runs_at(samples.list[i], t)) visit(*op, i, samples.list[i], samples.types()[t]);
  }
}

}  // namespace

Report check_parity(const ParityOptions& options) {
  Report report;
  const Op* last = nullptr;
  std::set<size_t> taken;
  size_t first = 0;  // of the op's entries
  const auto finish = [&] {
    if (last && options.done) options.done(*last, std::span(report.entries).subspan(first));
    first = report.entries.size();
  };
  for_each_case(
      options.op_pattern, report, [&](const Op& op, size_t i, const Sample& sample, DType dtype) {
        if (&op != last) {
          finish();
          last = &op;
          taken.clear();
        }
        const bool is_full = static_cast<int64_t>(taken.size()) == options.samples_per_op &&
                             options.samples_per_op > 0 && !taken.count(i);
        if (!sample.error.empty() || is_full) return;
        taken.insert(i);
        check_sample(options, op, i, sample, dtype, report);
      });
  finish();
  return report;
}

Report check_samples(const std::string& op_pattern) {
  Report report;
  for_each_case(op_pattern, report, [&](const Op& op, size_t i, const Sample& sample, DType dtype) {
    const Case c = make_case(op, i, sample, dtype, 1);
    try {
      const Graph graph = graph_of_case(op, sample, dtype, InputLayout::known);
      const auto outputs = evaluate_graph(graph, given(c, false, graph)).outputs;
      if (!sample.error.empty())
        return report.fail(c.label, "a bad sample was taken; want '" + sample.error + "'");
      for (size_t o = 0; o < sample.expect.size(); ++o) {
        const Expect& want = sample.expect[o];
        if (outputs[o].shape != want.shape)
          return report.fail(c.label, str("output ", o, " has the wrong shape"));
        const double rounding = dtype.is_float() ? 4 * dtype.info().eps : 0;
        for (size_t k = 0; k < want.values.size(); ++k) {
          const double got = outputs[o].number(static_cast<int64_t>(k)), v = want.values[k];
          const double bound =
              std::max(want.tolerance, rounding * static_cast<double>(sample.length + 4)) *
              std::max(1.0, std::abs(v));
          if (got == v || std::abs(got - v) <= bound || (std::isnan(got) && std::isnan(v)))
            continue;
          return report.fail(c.label, str("output ", o, " element ", k, "; got ", got, "; want ", v,
                                          " (", sample.source, ")"));
        }
      }
      report.pass(c.label);
    } catch (const UserError& e) {
      if (sample.error.empty())
        report.fail(c.label, e.what());
      else if (!std::strstr(e.what(), sample.error.c_str()))
        report.fail(c.label, str("refused with another message; got '", e.what(), "'; want '",
                                 sample.error, "'"));
      else
        report.pass(c.label);
    }
  });
  return report;
}

Report check_support(const Backend& backend, const std::string& op_pattern) {
  Report report;
  const CompileOptions options{.phase = Phase::bulk, .exact = true};
  const Target target = backend.target(options);
  std::string last;
  for_each_case(op_pattern, report, [&](const Op& op, size_t i, const Sample& sample, DType dtype) {
    const std::string name = str(op.info.name, " ", dtype.name());
    if (!sample.error.empty() || name == last || i > 0) return;
    last = name;
    try {
      const Graph graph = graph_of_case(op, sample, dtype);
      const bool claimed = target.claims(graph, graph.outputs()[0].id.node);
      const auto executable = backend.build(prepared(graph, target), options);
      std::string rows;
      for (const NodeReport& n : executable->report(DimBinding(graph.dims()->n_symbols())))
        rows += (rows.empty() ? "" : ", ") + n.row;
      report.entries.push_back(
          {Outcome::passed, name, claimed ? (rows.empty() ? "view" : rows) : "formula: " + rows});
    } catch (const UserError& e) {
      report.skip(name, e.what());
    }
  });
  return report;
}

}  // namespace lamella::check
