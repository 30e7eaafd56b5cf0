// lamella check quant|arch|tokenizer|greedy: against reference files.
#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/cli/check.h"
#include "lamella/lm/check_arch.h"
#include "lamella/lm/check_greedy.h"
#include "lamella/lm/language_model.h"
#include "lamella/quant/check_quant.h"
#include "lamella/text/check_tokenizer.h"

namespace lamella::cli {
namespace {

struct Options {
  std::string file, model;
  std::string backend = "cpu", pattern = "*";
  int threads = 0;
  bool exact = false;
  int64_t chunk = 0;
  CheckOutput output{.json = false, .all = true};
};

int run_quant(const Options& o) {
  check::Report report;
  using Outcome = quant::QuantReport::Outcome;
  for (const auto& e : quant::check_quant(o.file).entries) {
    const auto outcome = e.outcome == Outcome::passed   ? check::Outcome::passed
                         : e.outcome == Outcome::failed ? check::Outcome::failed
                                                        : check::Outcome::skipped;
    report.entries.push_back({outcome, e.format, e.detail});
  }
  return finish_check(report, o.output);
}

int run_arch(const Options& o) {
  const check::Report report = check_arch(o.file, {.backend = o.backend,
                                                   .threads = o.threads,
                                                   .exact = o.exact,
                                                   .chunk = o.chunk,
                                                   .pattern = o.pattern});
  CHECK_USER(!report.entries.empty(), "--case: no case matches; got '", printable(o.pattern), "'");
  return finish_check(report, o.output);
}

int run_tokenizer(const Options& o) {
  const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(o.model);
  check::Report report;
  for (const TokenizerVerdict& v : judge_tokenizer(o.file, *tokenizer).entries)
    report.entries.push_back(
        {v.passed ? check::Outcome::passed : check::Outcome::failed, v.line, ""});
  return finish_check(report, o.output);
}

int run_greedy(const Options& o) {
  return finish_check(
      check_greedy(o.file, o.model, {.backend = o.backend, .threads = o.threads, .exact = o.exact}),
      o.output);
}

void add_model_argument(Command& c, Options& o) {
  c.argument("MODEL", o.model, "a GGUF file, or py:PACKAGE[/FILE]");
}

void add_compute_flags(Command& c, Options& o) {
  c.choice("--backend", "B", o.backend, backend_names(), "what computes");
  c.integer("--threads", "N", o.threads, {0, 1024}, "threads; 0 is one a core");
  c.flag("--exact", o.exact, "activations and KV cache stay f32; judged more strictly");
}

void add_quant_options(Command& c, Options& o) {
  c.argument("DIR", o.file, "a folder with manifest.json");
}
void add_arch_options(Command& c, Options& o) {
  c.argument("DIR", o.file, "a folder with manifest.json");
  add_compute_flags(c, o);
  c.integer("--chunk", "N", o.chunk, {1},
            "prompt tokens a step; without it: in one batch, by 5, and token by token");
  c.text("--case", "GLOB", o.pattern, "only the cases whose names match");
}
void add_tokenizer_options(Command& c, Options& o) {
  c.argument("FILE", o.file, "a JSON file of strings and ids");
  add_model_argument(c, o);
}
void add_greedy_options(Command& c, Options& o) {
  c.argument("FILE", o.file, "a JSON file of reference runs");
  add_model_argument(c, o);
  add_compute_flags(c, o);
}

struct CheckRow {
  std::string_view name, doc;
  void (*add_options)(Command&, Options&);
  int (*run)(const Options&);
};
constexpr CheckRow kChecks[] = {
    {"quant", "block formats bit by bit against reference bytes", add_quant_options, run_quant},
    {"arch", "tiny models of each architecture against reference logits", add_arch_options,
     run_arch},
    {"tokenizer", "a model's tokenizer against reference strings", add_tokenizer_options,
     run_tokenizer},
    {"greedy", "a model's answers and loss against reference runs", add_greedy_options, run_greedy},
};

}  // namespace

void add_file_checks(Command& check) {
  for (const CheckRow& row : kChecks) {
    auto o = std::make_shared<Options>();
    Command c = check.command(row.name, row.doc);
    row.add_options(c, *o);
    c.flag("--json", o->output.json, "one JSON object");
    c.action([o, run = row.run] { return run(*o); });
  }
}

}  // namespace lamella::cli
