// lamella explain: how a model runs here, per node: what was fused, which row runs it and why
// others do not, what it costs, and how close it comes to the machine's limits.
#include "lamella/cli/explain.h"

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/cli/mlx_counts.h"
#include "lamella/cli/model_flags.h"
#include "lamella/cli/table.h"

namespace lamella::cli {
namespace {

using nlohmann::ordered_json;

struct Options {
  ModelFlags model;
  std::string dump, phase = "decode";
  int64_t prompt = 256;
  bool each = false, why = false, json = false;
};

std::string phase_name(Phase phase) { return phase == Phase::bulk ? "prefill" : "decode"; }

// "blk.17.attn_q.weight" -> "attn_q": what is alike in all layers.
std::string without_layer(const std::string& name) {
  std::string out = name;
  if (out.rfind("blk.", 0) == 0) {
    const size_t dot = out.find('.', 4);
    if (dot != std::string::npos) out = out.substr(dot + 1);
  }
  constexpr std::string_view kEnding = ".weight";
  if (out.size() > kEnding.size() && out.substr(out.size() - kEnding.size()) == kEnding)
    out.resize(out.size() - kEnding.size());
  return out;
}

std::string place_of(const NodeStory& n, bool each) {
  if (each) return n.report.origin;
  std::string out;
  for (const std::string& w : n.weights) out += (out.empty() ? "" : ", ") + without_layer(w);
  return out.empty() ? without_layer(n.report.origin) : out;
}

// "linear = matmul, add"; an op that occurs several times in a row is counted.
std::string op_text(const NodeStory& n) {
  std::string out = n.report.op;
  for (size_t i = 0, end; i < n.stands_for.size(); i = end) {
    for (end = i; end < n.stands_for.size() && n.stands_for[end] == n.stands_for[i];) ++end;
    out += (i ? ", " : " = ") + n.stands_for[i];
    if (end - i > 1) out += str(" x", end - i);
  }
  return out;
}

// Nodes of a phase that are alike, in the order of the first of them.
struct Group {
  std::string op, place, row;
  int64_t count = 0;
  double flops = 0, bytes = 0, seconds = 0, ideal = 0;
  std::string_view limit;
};

std::vector<Group> groups_of(const PhaseStory& story, bool each) {
  std::vector<Group> out;
  std::map<std::string, size_t> known;
  for (const NodeStory& n : story.nodes) {
    const std::string op = op_text(n), place = place_of(n, each);
    const std::string key =
        each ? std::to_string(n.report.node) : str(op, '|', place, '|', n.report.row);
    const auto [it, is_new] = known.emplace(key, out.size());
    if (is_new) out.emplace_back();
    Group& g = out[it->second];
    if (is_new) g.op = op, g.place = place, g.row = n.report.row;
    ++g.count;
    g.flops += n.report.flops, g.bytes += n.report.bytes;
    g.seconds += n.seconds, g.ideal += n.roofline.seconds;
    g.limit = n.roofline.limit;
  }
  return out;
}

std::string percent(double part, double whole) {
  return whole > 0 ? fixed(100 * part / whole, 0) + " %" : "-";
}

void print_phase(const PhaseStory& story, const Options& o) {
  std::printf("%s of %lld token%s to position %lld: %.2f ms a step; %zu nodes became %zu steps\n\n",
              phase_name(story.phase).c_str(), static_cast<long long>(story.sizes.tokens),
              story.sizes.tokens == 1 ? "" : "s", static_cast<long long>(story.sizes.length),
              story.seconds * 1e3, story.n_source_nodes, story.nodes.size());
  Table table(
      {">n", "op", "where", "row", ">MFLOP", ">MB", ">us", ">of step", ">of limit", "limited by"});
  double seconds = 0, ideal = 0;
  for (const Group& g : groups_of(story, o.each)) {
    table.add({std::to_string(g.count), g.op, g.place, g.row, fixed(g.flops / 1e6, 2),
               fixed(g.bytes / 1e6, 2), g.seconds > 0 ? fixed(g.seconds * 1e6, 0) : "-",
               percent(g.seconds, story.seconds), percent(g.ideal, g.seconds),
               std::string(g.limit)});
    seconds += g.seconds, ideal += g.ideal;
  }
  std::fputs(table.text().c_str(), stdout);
  std::printf("all steps %.2f ms, at the limits %.2f ms (%s)\n", seconds * 1e3, ideal * 1e3,
              percent(ideal, story.seconds).c_str());
}

// Why these rows run the nodes, each reason once.
void print_reasons(const PhaseStory& story) {
  std::map<std::string, std::string> reasons;
  for (const NodeStory& n : story.nodes)
    if (!n.why.empty()) reasons[str(n.report.op, " by ", n.report.row)] = n.why;
  Table table({"why", ""});
  for (const auto& [what, why] : reasons) table.add({what, why});
  std::printf("\n%s", table.text().c_str());
}

// Copies that updating in place would have saved.
void print_copies(const PhaseStory& story) {
  for (const NodeStory& n : story.nodes)
    if (!n.report.copied.empty())
      std::printf("copied: %s %%%u (%s): %s\n", n.report.op.c_str(), n.report.node,
                  n.report.origin.c_str(), n.report.copied.c_str());
}

void print_stages(const PhaseStory& story) {
  Table table({"stage", ">ms", ">nodes after"});
  for (const StageTime& t : story.stages)
    table.add({t.name, fixed(t.seconds * 1e3, 2), std::to_string(t.n_nodes)});
  std::printf("\n%s", table.text().c_str());
}

ordered_json node_json(const NodeStory& n) {
  return {{"node", n.report.node},
          {"op", n.report.op},
          {"stands_for", n.stands_for},
          {"origin", n.report.origin},
          {"weights", n.weights},
          {"type", n.report.type.text()},
          {"row", n.report.row},
          {"why", n.why},
          {"copied", n.report.copied},
          {"flops", n.report.flops},
          {"bytes", n.report.bytes},
          {"seconds", n.seconds},
          {"roofline_seconds", n.roofline.seconds},
          {"share_of_roofline", n.share()},
          {"bound_by", n.roofline.limit}};
}

ordered_json phase_json(const PhaseStory& story) {
  ordered_json j{{"phase", phase_name(story.phase)},     {"tokens", story.sizes.tokens},
                 {"length", story.sizes.length},         {"seconds", story.seconds},
                 {"source_nodes", story.n_source_nodes}, {"nodes", ordered_json::array()},
                 {"stages", ordered_json::array()}};
  for (const NodeStory& n : story.nodes) j["nodes"].push_back(node_json(n));
  for (const StageTime& t : story.stages)
    j["stages"].push_back({{"name", t.name}, {"seconds", t.seconds}, {"nodes", t.n_nodes}});
  return j;
}

void print_requantized(const std::vector<RequantizedWeight>& weights) {
  if (weights.empty()) return;
  Table table({"prompts multiply, requantized", ">relative error"});
  for (const RequantizedWeight& w : weights) table.add({w.name, fixed(100 * w.error, 3) + " %"});
  std::fputs(table.text().c_str(), stdout);
}

int run(const Options& o) {
  LoadOptions load = load_options(o.model);
  if (!o.dump.empty()) {
    dump_stage(load, o.model.model, o.dump, o.phase == "prefill" ? Phase::bulk : Phase::decode);
    return kDone;
  }
  const int64_t room = o.prompt + 64;
  CHECK_USER(load.context == 0 || load.context >= room, "--ctx: too small to explain a prompt of ",
             o.prompt, " tokens; got ", load.context, "; want ", room, " or more");
  if (load.context == 0) load.context = room;
  const auto model = load_model(o.model, load);
  const Machine machine = measure_machine(o.model.threads, load_options(o.model).isa);
  const Model source = build_model(load_checkpoint(model->path()),
                                   {.kv_type = load.kv_type, .context = load.context});
  const std::vector<PhaseStory> story =
      explain_model(*model, source.graph, o.prompt, machine.limits);
  const std::vector<RequantizedWeight> requantized =
      requantized_weights(model->engine().program(Phase::bulk), source.weights);
  if (o.json) {
    ordered_json j{{"model", model->path()},
                   {"backend", o.model.backend},
                   {"threads", machine.threads},
                   {"isa", machine.isa},
                   {"read_bytes_per_s", machine.limits.read_bytes},
                   {"f32_flops_per_s", machine.limits.f32_flops},
                   {"int8_ops_per_s", machine.limits.int8_ops},
                   {"bf16_flops_per_s", machine.limits.bf16_flops},
                   {"phases", ordered_json::array()}};
    for (const PhaseStory& p : story) j["phases"].push_back(phase_json(p));
    for (const RequantizedWeight& w : requantized)
      j["requantized"].push_back({{"weight", w.name}, {"relative_error", w.error}});
    std::puts(j.dump(1).c_str());
    return kDone;
  }
  std::printf("%s on %s, %d threads, %s; reads %.1f GB/s, f32 %.0f GFLOP/s, int8 %.0f Gop/s\n\n",
              model->path().c_str(), o.model.backend.c_str(), machine.threads, machine.isa.c_str(),
              machine.limits.read_bytes / 1e9, machine.limits.f32_flops / 1e9,
              machine.limits.int8_ops / 1e9);
  for (const PhaseStory& p : story) {
    print_phase(p, o);
    print_copies(p);
    if (o.why) print_reasons(p);
    print_stages(p);
    std::puts("");
  }
  if (model->backend().name() == "mlx")
    std::fputs(mlx_counts_text(model->backend()).c_str(), stdout);
  print_requantized(requantized);
  return kDone;
}

}  // namespace

void add_explain(Command c) {
  auto o = std::make_shared<Options>();
  add_model_flags(c, o->model);
  c.integer("--prefill", "N", o->prompt, {1, 1 << 16}, "tokens of the prompt that is run");
  c.flag("--each", o->each, "every node by itself, not those of all layers together");
  c.flag("--why", o->why, "why these rows run the nodes, and no others");
  c.choice("--dump", "STAGE", o->dump, stage_names(),
           "print the graph after a stage of the pipeline instead; `source` is before the first");
  c.choice("--phase", "PHASE", o->phase, {"prefill", "decode"}, "whose graph --dump prints");
  c.flag("--json", o->json, "one JSON object, every node by itself");
  c.action([o] { return run(*o); });
}

}  // namespace lamella::cli
