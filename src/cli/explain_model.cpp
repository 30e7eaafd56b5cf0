// Where the facts of `lamella explain` come from: the program's report, the ops, and a watch.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "lamella/cli/explain.h"
#include "lamella/ops/op.h"
#include "lamella/ops/quant/pack.h"
#include "lamella/ops/quant/unpack.h"
#include "lamella/quant/format.h"

namespace lamella::cli {
namespace {

constexpr int kPrefillTries = 3, kDecodeSteps = 16;

// What a node stands for that the passes made: the ops of its formula, in order. Empty for ops that
// the model itself has, and for what is no formula or needs more than types.
std::vector<std::string> formula_of(const Graph& source, const Graph& graph, const Node& node) {
  std::vector<std::string> ops;
  const bool is_own = std::any_of(source.nodes().begin(), source.nodes().end(),
                                  [&](const Node& n) { return n.op == node.op; });
  if (is_own || !node.op->is_composite()) return ops;
  Graph g = graph.sub_graph("formula");
  std::vector<Value> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    inputs.push_back(node.inputs[i].absent()
                         ? Value{}
                         : g.input("x" + std::to_string(i), graph.type(node.inputs[i])));
  try {
    node.op->expand(Args(g, inputs), node.attrs.data());
  } catch (const Error&) {
    return ops;
  }
  for (const Node& n : g.nodes())
    if (!n.op->has(kStructural)) ops.emplace_back(n.op->info.name);
  return ops;
}

// Rows that were asked before and did not take the node, and rows that were not asked any more.
std::string why_this_row(const Backend& backend, const Node& node, const NodeReport& report) {
  std::string out = report.why;
  const std::vector<std::string> rows = backend.rows(*node.op);
  const auto own = std::find(rows.begin(), rows.end(), report.row);
  if (own == rows.end()) return out;
  std::string others;
  for (auto row = own + 1; row != rows.end(); ++row) others += (others.empty() ? "" : ", ") + *row;
  if (!others.empty()) out += (out.empty() ? "" : "; ") + ("preferred to " + others);
  return out.empty() ? "the only row for this op" : out;
}

std::vector<std::string> weights_of(const Graph& graph, const Node& node) {
  std::vector<std::string> names;
  for (ValueId id : node.inputs)
    if (!id.absent() && graph.node(id).is(op<Parameter>)) names.push_back(graph.input_name(id));
  return names;
}

size_t n_computing(const Graph& graph) {
  return static_cast<size_t>(std::count_if(graph.nodes().begin(), graph.nodes().end(),
                                           [](const Node& n) { return !n.op->has(kStructural); }));
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Seconds of each step, the mean of some runs.
std::vector<double> mean_seconds(const std::vector<StepSpan>& spans, int n_runs) {
  std::vector<double> seconds;
  for (const StepSpan& s : spans) {
    if (s.step == StepSpan::kBinding) continue;
    if (seconds.size() <= s.step) seconds.resize(s.step + 1);
    seconds[s.step] += std::chrono::duration<double>(s.end - s.start).count() / n_runs;
  }
  return seconds;
}

// The step once more for warmth, then timed; `steps` receives the seconds of each of its nodes.
double time_prefill(Engine& engine, int64_t prompt, std::vector<double>& steps) {
  std::vector<StepSpan> spans;
  const std::vector<int32_t> tokens = some_tokens(prompt, engine.info().vocabulary);
  double total = 0;
  for (int i = -1; i < kPrefillTries; ++i) {
    Sequence sequence(engine);
    if (i == 0) engine.record_steps(Phase::bulk, &spans);
    const auto start = std::chrono::steady_clock::now();
    prefill(engine, sequence, tokens, prompt, Rows::last);
    if (i >= 0) total += seconds_since(start);
  }
  engine.record_steps(Phase::bulk, nullptr);
  steps = mean_seconds(spans, kPrefillTries);
  return total / kPrefillTries;
}

double time_decode(Engine& engine, int64_t prompt, std::vector<double>& steps) {
  Sequence sequence(engine);
  const std::vector<int32_t> tokens = some_tokens(prompt + 1, engine.info().vocabulary);
  prefill(engine, sequence, std::span(tokens).first(static_cast<size_t>(prompt)), prompt,
          Rows::last);
  std::vector<StepSpan> spans;
  double total = 0;
  for (int i = -1; i < kDecodeSteps; ++i) {
    if (i == 0) engine.record_steps(Phase::decode, &spans);
    const StepItem item{&sequence, {&tokens.back(), 1}, Rows::last};
    const auto start = std::chrono::steady_clock::now();
    engine.step({&item, 1}, Phase::decode);
    if (i >= 0) total += seconds_since(start);
  }
  engine.record_steps(Phase::decode, nullptr);
  steps = mean_seconds(spans, kDecodeSteps);
  return total / kDecodeSteps;
}

}  // namespace

std::vector<PhaseStory> explain_model(LanguageModel& model, const Graph& source, int64_t prompt,
                                      const cpu::MachineLimits& limits) {
  Engine& engine = model.engine();
  std::vector<PhaseStory> out;
  for (Phase phase : {Phase::bulk, Phase::decode}) {
    const Program& program = engine.program(phase);
    PhaseStory story;
    story.phase = phase;
    story.sizes =
        phase == Phase::bulk ? StepSizes{prompt, prompt} : StepSizes{1, prompt + kDecodeSteps / 2};
    std::vector<double> steps;
    story.seconds = (phase == Phase::bulk ? time_prefill : time_decode)(engine, prompt, steps);
    story.n_source_nodes = n_computing(source);
    story.stages = program.stage_times();
    for (NodeReport& report :
         program.report(bind_step(program.graph(), engine.context(), story.sizes))) {
      const Node& node = program.graph().nodes()[report.node];
      NodeStory n;
      n.weights = weights_of(program.graph(), node);
      n.stands_for = formula_of(source, program.graph(), node);
      n.why = why_this_row(model.backend(), node, report);
      n.roofline = roofline(program.graph(), report, limits);
      if (story.nodes.size() < steps.size()) n.seconds = steps[story.nodes.size()];
      n.report = std::move(report);
      story.nodes.push_back(std::move(n));
    }
    out.push_back(std::move(story));
  }
  return out;
}

namespace {

double requantizing_error(const Tensor& w, const quant::Format& to) {
  const quant::Format& from = *w.dtype().info().format;
  const int64_t k = w.shape().back(), n_rows = k == 0 ? 0 : w.numel() / k;
  std::vector<float> old(static_cast<size_t>(k)), changed(old.size());
  std::vector<uint8_t> bytes(static_cast<size_t>(quant::plane_offset(to, to.n_planes, 1, k)));
  double difference = 0, size = 0;
  for (int64_t row = 0; row < n_rows; ++row) {
    quant::BlockPtr at{}, read{};
    quant::MutableBlockPtr write{};
    for (int p = 0; p < from.n_planes; ++p)
      at[p] = w.as<const uint8_t>() + quant::plane_offset(from, p, n_rows, k) +
              row * from.blocks(k) * from.planes[p].block_bytes;
    for (int p = 0; p < to.n_planes; ++p)
      read[p] = write[p] = bytes.data() + quant::plane_offset(to, p, 1, k);
    quant::decode_row(from, at, k, old.data());
    quant::encode_row(to, old.data(), k, write);
    quant::decode_row(to, read, k, changed.data());
    for (size_t i = 0; i < old.size(); ++i) {
      difference += std::pow(double{changed[i]} - old[i], 2);
      size += std::pow(old[i], 2);
    }
  }
  return size > 0 ? std::sqrt(difference / size) : 0;
}

}  // namespace

std::vector<RequantizedWeight> requantized_weights(
    const Program& program, const std::map<std::string, Tensor, std::less<>>& weights) {
  std::vector<RequantizedWeight> out;
  if (!program.prologue()) return out;
  const Graph& g = program.prologue()->graph();
  for (const Node& n : g.nodes()) {
    if (!n.is(op<Pack>)) continue;
    const Node& unpacked = g.node(n.inputs[0]);
    if (!unpacked.is(op<Unpack>) || !g.node(unpacked.inputs[0]).is(op<Parameter>)) continue;
    const std::string& name = g.input_name(unpacked.inputs[0]);
    const auto w = weights.find(name);
    if (w == weights.end()) continue;
    out.push_back({name, requantizing_error(w->second, *n.outputs[0].dtype.info().format)});
  }
  return out;
}

}  // namespace lamella::cli
