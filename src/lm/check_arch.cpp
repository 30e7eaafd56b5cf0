#include "lamella/lm/check_arch.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lamella/base/error.h"
#include "lamella/base/mapped_file.h"
#include "lamella/base/text.h"
#include "lamella/check/cases.h"
#include "lamella/frontends/numpy/npy.h"
#include "lamella/lm/language_model.h"

namespace lamella {
namespace {

using nlohmann::json;

// Rows of logits, one after the other.
struct Logits {
  int64_t n_vocab = 0;
  std::vector<float> values;

  int64_t n_rows() const { return static_cast<int64_t>(values.size()) / n_vocab; }
  std::span<const float> row(int64_t i) const {
    return std::span(values).subspan(static_cast<size_t>(i * n_vocab),
                                     static_cast<size_t>(n_vocab));
  }
  void append(const Tensor& t) {
    values.insert(values.end(), t.as<float>(), t.as<float>() + t.numel());
  }
};

Logits read_logits(const std::string& path, int64_t n_rows, int64_t n_vocab) {
  const Tensor array = read_npy(path);
  CHECK_USER(array.shape() == std::vector<int64_t>({n_rows, n_vocab}) && array.dtype() == kF32,
             path, ": wrong shape or type; got ", array.dtype(), "[", join(array.shape(), ", "),
             "]; want f32[", n_rows, ", ", n_vocab, "]");
  Logits logits{n_vocab, {}};
  logits.append(array);
  return logits;
}

struct Prompt {
  std::vector<int32_t> tokens, greedy;
  Logits golden;
  double tolerance = 0;
  // Block formats with rounded activations are judged by rows.
  bool by_rows = false;
  double native_median = 0, native_max = 0;
};

double median(std::vector<double> x) {
  CHECK_USER(!x.empty(), "check arch: no native rows to compare with");
  std::nth_element(x.begin(), x.begin() + static_cast<int64_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

bool is_plain(const std::string& weights) {
  return weights == "f32" || weights == "f16" || weights == "bf16";
}

Prompt read_prompt(const std::string& folder, const json& c, const json& p, bool exact) {
  Prompt prompt;
  prompt.tokens = p.at("tokens").get<std::vector<int32_t>>();
  prompt.greedy = p.at("greedy").get<std::vector<int32_t>>();
  CHECK_USER(!prompt.tokens.empty() && !prompt.greedy.empty(), folder, ": a prompt has no tokens");
  const int64_t n_rows = static_cast<int64_t>(prompt.tokens.size() + prompt.greedy.size()) - 1;
  // Where the reference rounds GELU through a table, rows computed without it are the meaning.
  const bool has_f64 = p.contains("f64");
  prompt.golden = read_logits(folder + "/" + p.at(has_f64 ? "f64" : "logits").get<std::string>(),
                              n_rows, c.at("n_vocab"));
  prompt.tolerance = p.at(!exact ? "tol_f16" : has_f64 ? "tol_f64" : "tol_f32");
  prompt.by_rows = !exact && !is_plain(c.at("weights"));
  if (prompt.by_rows) {
    prompt.native_median = median(p.at("native_row_max_diff").get<std::vector<double>>());
    prompt.native_max = p.at("native_max_diff");
  }
  return prompt;
}

// All rows: the prompt's in steps of `chunk` (1: as decode steps), then the greedy tokens' one by
// one.
Logits logits_of(Engine& engine, const Prompt& p, int64_t chunk) {
  Sequence sequence(engine);
  Logits out{engine.info().vocabulary, {}};
  std::vector<int32_t> one_by_one(p.greedy.begin(), p.greedy.end() - 1);
  if (chunk == 1)
    one_by_one.insert(one_by_one.begin(), p.tokens.begin(), p.tokens.end());
  else
    out.append(prefill(engine, sequence, p.tokens, chunk, Rows::all));
  for (const int32_t& token : one_by_one) {
    const StepItem item{&sequence, {&token, 1}, Rows::last};
    out.append(engine.step({&item, 1}, Phase::decode));
  }
  return out;
}

// The greatest difference of each row; not a number where a logit is not.
std::vector<double> row_maxima(const Logits& got, const Logits& want) {
  std::vector<double> out;
  for (int64_t r = 0; r < want.n_rows(); ++r) {
    double most = 0;
    for (size_t i = 0; i < want.row(r).size(); ++i) {
      const double d = std::fabs(static_cast<double>(got.row(r)[i]) - want.row(r)[i]);
      if (!(d <= most) && most == most) most = d;
    }
    out.push_back(most);
  }
  return out;
}

// Why the differences are too large; empty when they are not. `summary` says how large.
std::string judge_rows(const Prompt& p, const std::vector<double>& maxima, std::string& summary) {
  const double most = *std::max_element(maxima.begin(), maxima.end());
  const bool finite = std::all_of(maxima.begin(), maxima.end(), [](double m) { return m == m; });
  if (!p.by_rows) {
    summary = str("differs by at most ", number_text(static_cast<float>(most)), " of ",
                  number_text(p.tolerance));
    return finite && most <= p.tolerance ? "" : summary;
  }
  const double middle = median(maxima);
  const auto above =
      std::count_if(maxima.begin(), maxima.end(), [&](double m) { return !(m <= p.native_max); });
  summary = str("median ", number_text(static_cast<float>(middle)), " of ",
                number_text(static_cast<float>(2 * p.native_median)), ", ", above, " of ",
                maxima.size(), " rows above ", number_text(static_cast<float>(p.native_max)));
  const bool good =
      finite && middle <= 2 * p.native_median && 10 * above <= static_cast<int64_t>(maxima.size());
  return good ? "" : summary;
}

// The greedy token of each step is the best logit, wherever the reference is clear about it.
std::string judge_greedy(const Prompt& p, const Logits& got, int& n_clear) {
  const double clear = 2 * (p.by_rows ? p.native_max : p.tolerance);
  for (size_t i = 0; i < p.greedy.size(); ++i) {
    const int64_t row = static_cast<int64_t>(p.tokens.size() + i) - 1;
    const std::vector<Candidate> two = likeliest(p.golden.row(row), 2);
    if (two.size() < 2 || two[0].logit - two[1].logit <= clear) continue;
    ++n_clear;
    const int32_t best = likeliest_token(got.row(row));
    if (best != p.greedy[i])
      return str("greedy token ", i, " is ", best, "; want ", p.greedy[i], " by a margin of ",
                 number_text(two[0].logit - two[1].logit));
  }
  return "";
}

std::string way_name(int64_t chunk, bool whole) {
  if (whole) return "in one batch";
  return chunk == 1 ? "token by token" : str("by ", chunk);
}

void judge_prompt(LanguageModel& model, const Prompt& p, const std::string& name, int64_t chunk,
                  check::Report& report) {
  const Logits got = logits_of(model.engine(), p, chunk);
  if (got.n_vocab != p.golden.n_vocab || got.values.size() != p.golden.values.size())
    return report.fail(name, str("wrong number of logits; got ", got.values.size(), "; want ",
                                 p.golden.values.size()));
  std::string summary;
  int n_clear = 0;
  std::string problem = judge_rows(p, row_maxima(got, p.golden), summary);
  if (problem.empty()) problem = judge_greedy(p, got, n_clear);
  if (!problem.empty()) return report.fail(name, problem);
  report.entries.push_back(
      {check::Outcome::passed, name,
       str(summary, ", ", n_clear, " of ", p.greedy.size(), " greedy tokens clear and equal")});
}

// Why the case cannot be judged; empty when it can.
std::string unsupported(const json& c) {
  const std::string kind = c.at("kind"), arch = c.at("arch");
  if (kind != "causal") return "models of kind '" + kind + "' are not supported";
  for (const Architecture& a : architectures())
    if (a.name == arch) return "";
  return "architecture '" + arch + "' is not supported";
}

void judge_case(const std::string& folder, const std::string& name, const json& c,
                const CheckArchOptions& o, check::Report& report) {
  if (const std::string why = unsupported(c); !why.empty()) return report.skip(name, why);
  std::unique_ptr<LanguageModel> model;
  try {
    model = LanguageModel::load(folder + "/" + c.at("file").get<std::string>(),
                                {.backend = o.backend,
                                 .threads = o.threads,
                                 .kv_type = o.exact ? kF32 : kF16,
                                 .exact = o.exact});
  } catch (const UserError& e) {
    const std::string why = e.what();
    if (why.find("not supported") != std::string::npos) return report.skip(name, why);
    return report.fail(name, why);
  }
  int n = 0;
  for (const json& p : c.at("prompts")) {
    const Prompt prompt = read_prompt(folder, c, p, o.exact);
    const int64_t whole = static_cast<int64_t>(prompt.tokens.size());
    std::vector<int64_t> chunks{whole, 5, 1};
    if (o.chunk > 0) chunks = {o.chunk};
    for (int64_t chunk : chunks)
      judge_prompt(*model, prompt, str(name, " prompt ", n, ' ', way_name(chunk, chunk >= whole)),
                   chunk, report);
    ++n;
  }
}

}  // namespace

check::Report check_arch(const std::string& folder, const CheckArchOptions& options) {
  const MappedFile file = MappedFile::open(folder + "/manifest.json");
  check::Report report;
  try {
    const json manifest = json::parse(file.bytes().begin(), file.bytes().end());
    for (const auto& [name, c] : manifest.at("cases").items())
      if (check::matches(options.pattern, name)) judge_case(folder, name, c, options, report);
  } catch (const json::exception& e) {
    throw UserError(str(file.path(), ": not a manifest of models; ", e.what()));
  }
  return report;
}

}  // namespace lamella
