// lamella bench: a model's speed beside what the machine could do, measured in the same run.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "lamella/base/error.h"
#include "lamella/base/memory.h"
#include "lamella/base/text.h"
#include "lamella/cli/model_flags.h"
#include "lamella/cli/peer.h"
#include "lamella/cli/step.h"
#include "lamella/cli/table.h"

namespace lamella::cli {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::ordered_json;

struct Options {
  ModelFlags model;
  int64_t prefill = 256, decode = 64, depth = 128, sequences = 1, repeat = 3, rounds = 1, chunk = 0;
  std::string peer;
  bool machine = false, json = false;
};

ordered_json machine_json(const Machine& m) {
  return {{"threads", m.threads},
          {"isa", m.isa},
          {"read_bytes_per_s", m.limits.read_bytes},
          {"f32_flops_per_s", m.limits.f32_flops},
          {"int8_ops_per_s", m.limits.int8_ops},
          {"bf16_flops_per_s", m.limits.bf16_flops}};
}

std::string machine_text(const Machine& m) {
  Table table(
      {str("limits, ", m.threads, m.threads == 1 ? " thread, " : " threads, ", m.isa), ">"});
  table.add({"memory read", fixed(m.limits.read_bytes / 1e9, 1) + " GB/s"});
  table.add({"f32 multiply-add", fixed(m.limits.f32_flops / 1e9, 1) + " GFLOP/s"});
  table.add({"int8 dot", fixed(m.limits.int8_ops / 1e9, 1) + " Gop/s"});
  if (m.limits.bf16_flops > 0) {
    table.add({"bf16 dot", fixed(m.limits.bf16_flops / 1e9, 1) + " GFLOP/s"});
  }
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
    prefill(engine, sequence, tokens, o.chunk, Rows::last);
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
    prefill(engine, *sequences.back(), before, o.chunk, Rows::last);
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
  // One a round: ours over the peer's.
  std::vector<double> peer_prefill, peer_decode, prefill_ratio, decode_ratio;
  int64_t peak_bytes = 0, weight_bytes = 0;
};

ordered_json phase_json(const Measured& m, const cpu::MachineLimits& limits) {
  return {
      {"step_s", m.seconds},
      {"flops", m.flops},
      {"bytes", m.bytes},
      {"share_of_roofline", m.share()},
      {"share_of_read_bandwidth", m.bytes / m.seconds / limits.read_bytes},
      {"share_of_int8_peak", m.flops / m.seconds / limits.int8_ops},
      {"share_of_bf16_peak", limits.bf16_flops > 0 ? m.flops / m.seconds / limits.bf16_flops : 0}};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n == 0 ? 0 : (values[(n - 1) / 2] + values[n / 2]) / 2;
}

ordered_json peer_json(const std::vector<double>& rates, const std::vector<double>& ratios) {
  return {{"tokens_per_s", rates}, {"ratios", ratios}, {"median_ratio", median(ratios)}};
}

ordered_json result_json(const Result& r) {
  ordered_json j{{"prefill_tokens_per_s", r.prefill_rate},
                 {"decode_tokens_per_s", r.decode_rate},
                 {"load_s", r.load_seconds},
                 {"peak_rss_bytes", r.peak_bytes},
                 {"weight_bytes", r.weight_bytes},
                 {"machine", machine_json(r.machine)},
                 {"prefill", phase_json(r.prefill, r.machine.limits)},
                 {"decode", phase_json(r.decode, r.machine.limits)}};
  if (!r.peer_prefill.empty()) {
    j["peer"] = {{"prefill", peer_json(r.peer_prefill, r.prefill_ratio)},
                 {"decode", peer_json(r.peer_decode, r.decode_ratio)}};
  }
  return j;
}

std::string result_text(const Result& r, const Options& o) {
  std::vector<std::string> columns{"",         ">tokens/s", ">ms a step",  ">GFLOP/s",
                                   ">of int8", ">GB/s",     ">of reading", ">of the roofline"};
  if (!o.peer.empty()) columns.insert(columns.end(), {">peer", ">ratio"});
  Table table(columns);
  const auto percent = [](double share) { return fixed(share * 100, 0) + " %"; };
  const auto row = [&](const std::string& name, double rate, const Measured& m,
                       const std::vector<double>& peer, const std::vector<double>& ratio) {
    const double flops = m.flops / m.seconds, bytes = m.bytes / m.seconds;
    std::vector<std::string> cells{name,
                                   fixed(rate, 1),
                                   fixed(m.seconds * 1e3, 2),
                                   fixed(flops / 1e9, 1),
                                   percent(flops / r.machine.limits.int8_ops),
                                   fixed(bytes / 1e9, 2),
                                   percent(bytes / r.machine.limits.read_bytes),
                                   percent(m.share())};
    if (!peer.empty()) cells.insert(cells.end(), {fixed(median(peer), 1), fixed(median(ratio), 2)});
    table.add(cells);
  };
  row(str("prefill ", o.prefill), r.prefill_rate, r.prefill, r.peer_prefill, r.prefill_ratio);
  const std::string decode = str("decode ", o.decode);
  row(o.sequences == 1 ? decode : str(decode, " x ", o.sequences), r.decode_rate, r.decode,
      r.peer_decode, r.decode_ratio);
  return str(table.text(), "\nloaded in ", fixed(r.load_seconds, 2), " s; weights ",
             human_bytes(static_cast<uint64_t>(r.weight_bytes)), ", peak resident ",
             human_bytes(static_cast<uint64_t>(r.peak_bytes)), "\n\n", machine_text(r.machine));
}

// Ours and the peer's in turn; medians of the rounds.
void measure_rounds(Engine& engine, const Options& o, Result& r) {
  CHECK_USER(o.peer.empty() || o.sequences == 1, "--peer measures one sequence; got --sequences ",
             o.sequences);
  std::vector<double> prefill, decode;  // tokens a second
  for (int64_t i = 0; i < o.rounds; ++i) {
    prefill.push_back(static_cast<double>(o.prefill) / time_prefill(engine, o));
    decode.push_back(static_cast<double>(o.sequences) / time_decode(engine, o));
    if (o.peer.empty()) continue;
    const PeerRates peer =
        run_peer(o.peer, {o.model.model, usable_threads(o.model.threads), o.prefill, o.decode});
    r.peer_prefill.push_back(peer.prefill), r.peer_decode.push_back(peer.decode);
    r.prefill_ratio.push_back(prefill.back() / peer.prefill);
    r.decode_ratio.push_back(decode.back() / peer.decode);
  }
  r.prefill_rate = median(prefill), r.decode_rate = median(decode);
  r.prefill.seconds = static_cast<double>(o.prefill) / r.prefill_rate;
  r.decode.seconds = static_cast<double>(o.sequences) / r.decode_rate;
}

int run(const Options& o) {
  if (o.machine) {
    const Machine m = measure_machine(o.model.threads, load_options(o.model).isa);
    std::fputs(o.json ? (machine_json(m).dump(1) + "\n").c_str() : machine_text(m).c_str(), stdout);
    return kDone;
  }
  CHECK_USER(!o.model.model.empty(), "which MODEL? or --machine for this machine's limits");
  LoadOptions load = load_options(o.model);
  load.max_sequences = o.sequences;
  if (load.context == 0) load.context = std::max(o.prefill, o.depth + o.decode);
  const auto model = load_model(o.model, load);
  Result r;
  Engine& engine = model->engine();
  measure_rounds(engine, o, r);
  r.peak_bytes = peak_rss_bytes();  // measuring the limits takes memory of its own
  r.machine = measure_machine(o.model.threads, load_options(o.model).isa);
  add_costs(r.prefill, engine, Phase::bulk, {o.prefill, o.prefill}, r.machine.limits);
  add_costs(r.decode, engine, Phase::decode, {1, o.depth + o.decode / 2, o.sequences},
            r.machine.limits);
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
  c.integer("--chunk", "N", o->chunk, {1},
            "prompt tokens a step; without it: as many as the back end takes best");
  c.integer("--decode", "N", o->decode, {1, 1 << 20}, "tokens of the answer that is timed");
  c.integer("--depth", "N", o->depth, {1, 1 << 20}, "tokens that stand before those of decode");
  c.integer("--sequences", "N", o->sequences, {1, 1024}, "that decode together");
  c.integer("--repeat", "N", o->repeat, {1, 1000}, "tries; the best one counts");
  c.integer("--rounds", "N", o->rounds, {1, 1000}, "of tries, the peer's in turn; medians count");
  c.text("--peer", "COMMAND", o->peer,
         "runs COMMAND MODEL --threads T --prefill N --decode M, whose last line is a JSON object "
         "with tokens a second, ppN and tgM");
  c.flag("--machine", o->machine, "measure this machine's limits only");
  c.flag("--json", o->json, "one JSON object");
  c.action([o] { return run(*o); });
}

}  // namespace lamella::cli
