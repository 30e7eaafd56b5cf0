#include "lamella/check/perf.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "lamella/base/error.h"
#include "lamella/check/cases.h"
#include "lamella/ir/rewrite.h"
#include "lamella/ops/cost.h"
#include "lamella/passes/passes.h"

namespace lamella::check {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kWantedElements = 1 << 19;
constexpr double kSeconds = 0.02;  // spent on one row
constexpr size_t kTypes = 2;

int64_t numel(const In& in) {
  int64_t n = 1;
  for (int64_t d : in.shape) n *= d;
  return n;
}

int64_t largest_input(const Sample& s) {
  int64_t most = 0;
  for (const In& in : s.inputs)
    if (!in.is_absent) most = std::max(most, numel(in));
  return most;
}

// The sample with axis 0 of its first input, and of all inputs of the same height, `times` as high.
Sample taller(const Sample& s, int64_t times) {
  Sample out = s;
  out.expect.clear();
  int64_t height = -1;
  for (In& in : out.inputs) {
    if (in.is_absent || in.shape.empty()) continue;
    if (height < 0) height = in.shape[0];
    if (in.shape[0] == height && in.values.empty()) in.shape[0] *= times;
  }
  return out;
}

// The largest sample, without encoded inputs where there is one, made taller where the op's shape
// rule agrees.
std::optional<Sample> sample_to_time(const Op& op, const Samples& samples) {
  const Sample* best = nullptr;
  // Inputs without a type of their own can be timed at several.
  const auto rank = [](const Sample& s) {
    const bool is_free = std::all_of(s.inputs.begin(), s.inputs.end(), [](const In& in) {
      return in.is_absent || !in.dtype.is_block();
    });
    return std::pair(is_free, largest_input(s));
  };
  for (const Sample& s : samples.list) {
    if (!s.error.empty() || s.inputs.empty()) continue;
    if (!best || rank(s) > rank(*best)) best = &s;
  }
  if (!best || largest_input(*best) == 0) return std::nullopt;
  const Sample high = taller(*best, std::max<int64_t>(1, kWantedElements / largest_input(*best)));
  try {
    graph_of_case(op, high, samples.types()[0]);
    return high;
  } catch (const UserError&) {
    return *best;
  }
}

// The best time of a run, in seconds.
double time_of(const Executable& executable, const Case& c) {
  auto frame = executable.new_frame();
  std::vector<Tensor> outputs(executable.graph().outputs().size());
  double best = 0, total = 0;
  for (int i = 0; i < 3 || (total < kSeconds && i < 10000); ++i) {
    const auto start = Clock::now();
    frame->run({c.inputs, {}, {}, outputs});
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (i == 0) continue;  // it binds sizes and makes outputs
    total += seconds;
    if (best == 0 || seconds < best) best = seconds;
  }
  return best;
}

std::string describe(const Case& c, const Graph& meaning, double seconds,
                     const PerfLimits& limits) {
  const uint32_t node = meaning.outputs()[0].id.node;
  const Cost cost = cost_of(meaning, node, DimBinding(meaning.dims()->n_symbols()));
  const bool int8 = c.inputs[0].dtype().is_block();
  const double ideal = std::max(cost.flops / (int8 ? limits.int8_ops : limits.flops),
                                cost.bytes / limits.read_bytes);
  char text[160];
  std::snprintf(text, sizeof text, "%.1f us, %.2f Gop/s, %.2f GB/s, %.0f %% of the roofline",
                seconds * 1e6, cost.flops / seconds / 1e9, cost.bytes / seconds / 1e9,
                100 * ideal / seconds);
  return text;
}

void time_case(const PerfOptions& o, const Case& c, Report& report) {
  std::vector<std::string> rows = o.backend->rows(*c.op);
  if (rows.empty()) rows = {""};
  const Graph meaning = graph_of_case(*c.op, *c.sample, c.dtype);
  for (const std::string& row : rows) {
    const std::string name = c.label + (row.empty() ? "" : ", " + row);
    const CompileOptions how{
        .phase = Phase::bulk, .exact = true, .allow_fallback = false, .force_row = row};
    try {
      const Graph ready = prune(expand_unclaimed(meaning, o.backend->target(how)));
      const auto executable = o.backend->build(ready, how);
      report.entries.push_back(
          {Outcome::passed, name, describe(c, meaning, time_of(*executable, c), o.limits)});
    } catch (const UserError& e) {
      report.skip(name, e.what());
    }
  }
}

}  // namespace

Report measure_perf(const PerfOptions& options) {
  Report report;
  for (const Op* op : all_ops()) {
    if (op->has(kStructural) || !matches(options.op_pattern, op->info.name)) continue;
    const Samples samples = samples_of(*op);
    const auto sample = sample_to_time(*op, samples);
    if (!sample) {
      report.skip(std::string(op->info.name), "no sample with inputs to time");
      continue;
    }
    for (size_t t = 0; t < std::min(kTypes, samples.types().size()); ++t)
      time_case(options, make_case(*op, 0, *sample, samples.types()[t], options.seed), report);
  }
  return report;
}

}  // namespace lamella::check
