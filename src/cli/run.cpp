// lamella run: a prompt through the chat template to an answer, streamed.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "lamella/base/error.h"
#include "lamella/cli/command.h"
#include "lamella/cli/memory.h"
#include "lamella/lm/language_model.h"

namespace lamella::cli {
namespace {

struct Options {
  std::string model, prompt, system, kv, backend = "cpu";
  int64_t n = 128, context = 0, chunk = 512;
  int threads = 0;
  SamplerOptions sampler;
  bool raw = false, exact = false, json = false, stats = false;
};

std::atomic<bool> interrupted{false};  // set by the signal handler, which can reach nothing else

// Ctrl-C ends the answer; a second one ends the process.
void on_interrupt(int) {
  interrupted.store(true);
  std::signal(SIGINT, SIG_DFL);
}

LoadOptions load_options(const Options& o) {
  LoadOptions load{.backend = o.backend, .threads = o.threads, .context = o.context, .exact = o.exact};
  load.kv_type = o.kv.empty() ? (o.exact ? kF32 : kF16) : find_dtype(o.kv);
  CHECK_USER(load.kv_type == kF16 || load.kv_type == kF32 || load.kv_type == kBF16, "--kv: unknown type; got '", o.kv,
             "'; want f16, bf16 or f32");
  return load;
}

std::vector<int32_t> encode_prompt(const LanguageModel& model, const Options& o) {
  const Tokenizer& tokenizer = model.tokenizer();
  if (o.raw) return tokenizer.encode(o.prompt, {.add_special = true, .parse_special = false});
  std::vector<Message> messages;
  if (!o.system.empty()) messages.push_back({.role = "system", .content = o.system});
  messages.push_back({.role = "user", .content = o.prompt});
  const std::string text = model.render_chat(messages);
  // The template writes its own special tokens, the first one too.
  return tokenizer.encode(text, {.add_special = false, .parse_special = true});
}

void print_json(const Generation& g, LanguageModel& model) {
  nlohmann::json j{{"text", g.text},
                   {"tokens", g.tokens},
                   {"stop", g.stop},
                   {"prompt_tokens", g.prompt_tokens},
                   {"load_s", model.load_seconds()},
                   {"prefill_s", g.prefill_seconds},
                   {"decode_s", g.decode_seconds},
                   {"first_token_s", model.load_seconds() + g.first_token_seconds},
                   {"peak_rss_bytes", peak_rss_bytes()}};
  // Text that ends inside a character is shown with a replacement.
  std::printf("%s\n", j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

void print_timings(const Generation& g, LanguageModel& model) {
  const double decoded = static_cast<double>(std::max<size_t>(g.tokens.size(), 1) - 1);
  std::fprintf(stderr,
               "\n[load %.2f s | prompt %lld tokens, %.1f tokens/s | answer %zu tokens, %.1f tokens/s | first token "
               "%.2f s after start | stopped: %s]\n",
               model.load_seconds(), static_cast<long long>(g.prompt_tokens),
               static_cast<double>(g.prompt_tokens) / std::max(g.prefill_seconds, 1e-9), g.tokens.size(),
               decoded / std::max(g.decode_seconds, 1e-9), model.load_seconds() + g.first_token_seconds,
               g.stop.c_str());
}

void print_stats(LanguageModel& model) {
  Engine& e = model.engine();
  for (Phase phase : {Phase::bulk, Phase::decode}) {
    const Program& p = e.program(phase);
    double total = 0;
    for (const StageTime& t : p.stage_times()) total += t.seconds;
    std::fprintf(stderr, "%s: %zu nodes, compiled in %.1f ms\n", phase == Phase::bulk ? "bulk" : "decode",
                 p.graph().nodes().size(), total * 1e3);
  }
  std::fprintf(stderr, "weights %.1f MB, kv reserved %.1f MB, arena %.1f MB, peak rss %.1f MB\n",
               static_cast<double>(e.weight_bytes()) / 1e6, static_cast<double>(e.kv_bytes()) / 1e6,
               static_cast<double>(e.arena_bytes()) / 1e6, static_cast<double>(peak_rss_bytes()) / 1e6);
}

int run(const Options& o) {
  const auto model = LanguageModel::load(o.model, load_options(o));
  Sequence sequence(model->engine());
  const std::vector<int32_t> prompt = encode_prompt(*model, o);
  std::signal(SIGINT, on_interrupt);
  GenerateOptions generate_options{.max_tokens = o.n, .sampler = o.sampler, .chunk = o.chunk};
  generate_options.cancel = &interrupted;
  if (!o.json)
    generate_options.on_token = [](int32_t, const std::string& text) {
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
      return true;
    };
  const Generation g = generate(*model, sequence, prompt, generate_options);
  if (o.json) print_json(g, *model);
  else {
    std::puts("");
    print_timings(g, *model);
  }
  if (o.stats) print_stats(*model);
  return 0;
}

}  // namespace

void add_run(CLI::App& app, int& status) {
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("run", "Answers a prompt with a language model");
  c->add_option("model", o->model, "a GGUF file, or py:PACKAGE[/FILE]")->required();
  c->add_option("-p,--prompt", o->prompt, "the text; goes through the model's chat template unless --raw")->required();
  c->add_option("-n,--tokens", o->n, "how many tokens at most")->capture_default_str()->check(CLI::NonNegativeNumber);
  c->add_option("--temp", o->sampler.temperature, "temperature; 0 takes the best token")->capture_default_str();
  c->add_option("--top-k", o->sampler.top_k, "only among the k best tokens; 0: all")->capture_default_str();
  c->add_option("--top-p", o->sampler.top_p, "only among the best tokens that hold this much probability")
      ->capture_default_str();
  c->add_option("--seed", o->sampler.seed, "seed of the choice")->capture_default_str();
  c->add_option("--system", o->system, "system message");
  c->add_option("--threads", o->threads, "threads; 0: one a core")->capture_default_str();
  c->add_option("--ctx", o->context, "positions to reserve; 0: what the model was trained for, at most 8192")
      ->capture_default_str();
  c->add_option("--kv", o->kv, "type of the KV cache: f16, bf16, f32 (default f16, with --exact f32)");
  c->add_option("--backend", o->backend, "cpu or reference")->capture_default_str();
  c->add_option("--chunk", o->chunk, "prompt tokens a step")->capture_default_str();
  c->add_flag("--raw", o->raw, "the prompt as it is, without the chat template");
  c->add_flag("--exact", o->exact, "activations stay f32");
  c->add_flag("--json", o->json, "one JSON object at the end instead of a stream");
  c->add_flag("--stats", o->stats, "what ran, and memory");
  c->callback([o, &status] { status = run(*o); });
}

}  // namespace lamella::cli
