// lamella bench: a model's speed beside what the machine could do, measured in the same run.
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "lamella/base/error.h"
#include "lamella/base/memory.h"
#include "lamella/base/text.h"
#include "lamella/cli/model_flags.h"
#include "lamella/cli/step.h"
#include "lamella/cli/table.h"

namespace lamella::cli {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::ordered_json;

struct Options {
  ModelFlags model;
  int64_t prefill = 256, decode = 64, depth = 128, sequences = 1, repeat = 3;
  bool machine = false, json = false;
};

ordered_json machine_json(const Machine& m) {
  return {{"threads", m.threads},
          {"isa", m.isa},
          {"read_bytes_per_s", m.limits.read_bytes},
          {"f32_flops_per_s", m.limits.f32_flops},
          {"int8_ops_per_s", m.limits.int8_ops}};
}

std::string machine_text(const Machine& m) {
  Table table(
      {str("limits, ", m.threads, m.threads == 1 ? " thread, " : " threads, ", m.isa), ">"});
  table.add({"memory read", fixed(m.limits.read_bytes / 1e9, 1) + " GB/s"});
  table.add({"f32 multiply-add", fixed(m.limits.f32_flops / 1e9, 1) + " GFLOP/s"});
  table.add({"int8 dot", fixed(m.limits.int8_ops / 1e9, 1) + " Gop/s"});
  return table.text();
}

// Seconds of one phase, the best of some tries, and what its steps cost.
struct Measured {
  double seconds = 0;  // a step
  double flops = 0, bytes = 0, ideal_seconds = 0;
  double share() const { return ideal_seconds / seconds; }
};

void add_costs(Measured& m, const Engine& engine, Phase phase, const StepSizes& sizes,
               const cpu::MachineLimits& limits) {
  const Program& program = engine.program(phase);
  for (const NodeReport& n : program.report(bind_step(program.graph(), engine.context(), sizes))) {
    m.flops += n.flops;
    m.bytes += n.bytes;
    m.ideal_seconds += roofline(program.graph(), n, limits).seconds;
  }
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double time_prefill(Engine& engine, const Options& o) {
  const std::vector<int32_t> tokens = some_tokens(o.prefill, engine.info().vocabulary);
  double best = 0;
  for (int64_t i = 0; i < o.repeat; ++i) {
    Sequence sequence(engine);
    const auto start = Clock::now();
    prefill(engine, sequence, tokens, GenerateOptions{}.chunk, Rows::last);
    const double seconds = seconds_since(start);
    if (i == 0 || seconds < best) best = seconds;
  }
  return best;
}

// Each step gives every sequence a token.
double time_decode(Engine& engine, const Options& o) {
  const std::vector<int32_t> before = some_tokens(o.depth, engine.info().vocabulary);
  const std::vector<int32_t> tokens = some_tokens(o.decode, engine.info().vocabulary);
  std::vector<std::unique_ptr<Sequence>> sequences;
  std::vector<StepItem> items;
  for (int64_t i = 0; i < o.sequences; ++i) {
    sequences.push_back(std::make_unique<Sequence>(engine));
    prefill(engine, *sequences.back(), before, GenerateOptions{}.chunk, Rows::last);
    items.push_back({sequences.back().get(), {}, Rows::last});
  }
  double best = 0;
  for (int64_t i = 0; i < o.repeat; ++i) {
    for (const auto& sequence : sequences) sequence->truncate(o.depth);
    const auto start = Clock::now();
    for (const int32_t& token : tokens) {
      for (StepItem& item : items) item.tokens = {&token, 1};
      engine.step(items, Phase::decode);
    }
    const double seconds = seconds_since(start) / static_cast<double>(o.decode);
    if (i == 0 || seconds < best) best = seconds;
  }
  return best;
}

struct Result {
  Machine machine;
  Measured prefill, decode;
  double prefill_rate = 0, decode_rate = 0, load_seconds = 0;
  int64_t peak_bytes = 0, weight_bytes = 0;
};

ordered_json phase_json(const Measured& m, const cpu::MachineLimits& limits) {
  return {{"step_s", m.seconds},
          {"flops", m.flops},
          {"bytes", m.bytes},
          {"share_of_roofline", m.share()},
          {"share_of_read_bandwidth", m.bytes / m.seconds / limits.read_bytes},
          {"share_of_int8_peak", m.flops / m.seconds / limits.int8_ops}};
}

ordered_json result_json(const Result& r) {
  return {{"prefill_tokens_per_s", r.prefill_rate},
          {"decode_tokens_per_s", r.decode_rate},
          {"load_s", r.load_seconds},
          {"peak_rss_bytes", r.peak_bytes},
          {"weight_bytes", r.weight_bytes},
          {"machine", machine_json(r.machine)},
          {"prefill", phase_json(r.prefill, r.machine.limits)},
          {"decode", phase_json(r.decode, r.machine.limits)}};
}

std::string result_text(const Result& r, const Options& o) {
  Table table({"", ">tokens/s", ">ms a step", ">GFLOP/s", ">GB/s", ">of the roofline"});
  const auto row = [&](const std::string& name, double rate, const Measured& m) {
    table.add({name, fixed(rate, 1), fixed(m.seconds * 1e3, 2), fixed(m.flops / m.seconds / 1e9, 1),
               fixed(m.bytes / m.seconds / 1e9, 2), fixed(m.share() * 100, 0) + " %"});
  };
  row(str("prefill ", o.prefill), r.prefill_rate, r.prefill);
  row(o.sequences == 1 ? str("decode ", o.decode) : str("decode ", o.decode, " x ", o.sequences),
      r.decode_rate, r.decode);
  return str(table.text(), "\nloaded in ", fixed(r.load_seconds, 2), " s; weights ",
             human_bytes(static_cast<uint64_t>(r.weight_bytes)), ", peak resident ",
             human_bytes(static_cast<uint64_t>(r.peak_bytes)), "\n\n", machine_text(r.machine));
}

int run(const Options& o) {
  if (o.machine) {
    const Machine m = measure_machine(o.model.threads);
    std::fputs(o.json ? (machine_json(m).dump(1) + "\n").c_str() : machine_text(m).c_str(), stdout);
    return kDone;
  }
  CHECK_USER(!o.model.model.empty(), "which MODEL? or --machine for this machine's limits");
  LoadOptions load = load_options(o.model);
  load.max_sequences = o.sequences;
  if (load.context == 0) load.context = std::max(o.prefill, o.depth + o.decode);
  const auto model = LanguageModel::load(o.model.model, load);
  Result r;
  Engine& engine = model->engine();
  r.prefill.seconds = time_prefill(engine, o);
  r.decode.seconds = time_decode(engine, o);
  r.peak_bytes = peak_rss_bytes();  // measuring the limits takes memory of its own
  r.machine = measure_machine(o.model.threads);
  add_costs(r.prefill, engine, Phase::bulk, {o.prefill, o.prefill}, r.machine.limits);
  add_costs(r.decode, engine, Phase::decode, {1, o.depth + o.decode / 2, o.sequences},
            r.machine.limits);
  r.prefill_rate = static_cast<double>(o.prefill) / r.prefill.seconds;
  r.decode_rate = static_cast<double>(o.sequences) / r.decode.seconds;
  r.load_seconds = model->load_seconds();
  r.weight_bytes = engine.weight_bytes();
  std::fputs(o.json ? (result_json(r).dump(1) + "\n").c_str() : result_text(r, o).c_str(), stdout);
  return kDone;
}

}  // namespace

void add_bench(Command c) {
  auto o = std::make_shared<Options>();
  add_model_flags(c, o->model, false);
  c.integer("--prefill", "N", o->prefill, {1, 1 << 20}, "tokens of the prompt that is timed");
  c.integer("--decode", "N", o->decode, {1, 1 << 20}, "tokens of the answer that is timed");
  c.integer("--depth", "N", o->depth, {1, 1 << 20}, "tokens that stand before those of decode");
  c.integer("--sequences", "N", o->sequences, {1, 1024}, "that decode together");
  c.integer("--repeat", "N", o->repeat, {1, 1000}, "tries; the best one counts");
  c.flag("--machine", o->machine, "measure this machine's limits only");
  c.flag("--json", o->json, "one JSON object");
  c.action([o] { return run(*o); });
}

}  // namespace lamella::cli
