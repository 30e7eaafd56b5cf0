// lamella perplexity: how well a model predicts a text, alone or beside another.
#include "lamella/lm/perplexity.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "lamella/base/error.h"
#include "lamella/base/mapped_file.h"
#include "lamella/cli/model_flags.h"
#include "lamella/cli/table.h"

namespace lamella::cli {
namespace {

struct Options {
  ModelFlags model;
  std::string file, against;
  bool json = false;
};

constexpr int64_t kWindow = 512;

void print(const Perplexity& p, bool has_other) {
  Table table({"", ">value"});
  table.add({"windows", std::to_string(p.n_windows)});
  table.add({"tokens scored", std::to_string(p.n_scored)});
  table.add({"mean loss", fixed(p.loss, 4)});
  table.add({"perplexity", fixed(std::exp(p.loss), 4)});
  if (has_other) {
    table.add({"the other's perplexity", fixed(std::exp(p.other_loss), 4)});
    table.add({"mean KL", fixed(p.mean_kl, 6)});
    table.add({"largest KL", fixed(p.max_kl, 6)});
    table.add({"same likeliest token", fixed(100 * p.agreement, 2) + " %"});
  }
  std::fputs(table.text().c_str(), stdout);
}

void print_json(const Perplexity& p, bool has_other) {
  nlohmann::ordered_json j{{"windows", p.n_windows},
                           {"tokens", p.n_scored},
                           {"loss", p.loss},
                           {"perplexity", std::exp(p.loss)}};
  if (has_other) {
    j["other_perplexity"] = std::exp(p.other_loss);
    j["mean_kl"] = p.mean_kl;
    j["max_kl"] = p.max_kl;
    j["agreement"] = p.agreement;
  }
  std::puts(j.dump(1).c_str());
}

int run(const Options& o) {
  LoadOptions load = load_options(o.model);
  if (load.context == 0) load.context = kWindow;
  const auto model = load_model(o.model, load);
  std::unique_ptr<LanguageModel> other;
  if (o.against == "exact") {
    load.exact = true;
    load.kv_type = kF32;
    other = load_model(o.model, load);
  } else if (!o.against.empty()) {
    other = LanguageModel::load(o.against, load);
  }
  const MappedFile file = MappedFile::open(o.file);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  const Tokenizer& tokenizer = model->tokenizer();
  const std::vector<int32_t> tokens =
      tokenizer.encode(text, {.add_special = false, .parse_special = false});
  std::vector<int32_t> start;
  if (tokenizer.adds_bos()) start.push_back(tokenizer.vocabulary().bos);
  const Perplexity p = perplexity(model->engine(), other ? &other->engine() : nullptr, start,
                                  tokens, {.window = load.context});
  (o.json ? print_json : print)(p, other != nullptr);
  return kDone;
}

}  // namespace

void add_perplexity(Command c) {
  auto o = std::make_shared<Options>();
  add_model_flags(c, o->model);
  c.text("-f,--file", "TEXT", o->file, "the text, a file", true);
  c.text("--against", "MODEL", o->against,
         "a second model that counts as the truth, or `exact` for the same one in f32");
  c.flag("--json", o->json, "one JSON object");
  c.examples(
      "Windows of --ctx tokens (512 where 0) are run one by one; the second half of each is "
      "scored.");
  c.action([o] { return run(*o); });
}

}  // namespace lamella::cli
