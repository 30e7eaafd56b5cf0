#include "lamella/lm/check_greedy.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lamella/base/error.h"
#include "lamella/base/mapped_file.h"
#include "lamella/base/text.h"
#include "lamella/lm/language_model.h"

namespace lamella {
namespace {

using nlohmann::json;

constexpr double kClearMargin = 0.2, kLossBound = 0.0015, kExactLossBound = 0.0001;
constexpr int64_t kChunk = 64;

struct Step {
  double margin = 0;
  std::vector<std::pair<int32_t, double>> best, native_best;  // token, logit
};

struct Run {
  std::string name, user, text;
  bool is_chat = false;
  std::vector<int32_t> tokens, greedy;
  std::vector<Step> steps;
  double native_difference = 0;  // the greatest, among the best logits of both
};

std::vector<std::pair<int32_t, double>> read_best(const json& list) {
  std::vector<std::pair<int32_t, double>> out;
  for (const json& entry : list) out.emplace_back(entry.at(0), entry.at(1));
  return out;
}

Run read_run(const json& j, size_t number) {
  Run run;
  run.is_chat = j.at("kind") == "chat";
  run.name = str("run ", number, run.is_chat ? " chat" : " raw");
  if (run.is_chat) run.user = j.at("user");
  run.text = j.at("text");
  run.tokens = j.at("tokens").get<std::vector<int32_t>>();
  run.greedy = j.at("greedy").get<std::vector<int32_t>>();
  for (size_t i = 0; i < run.greedy.size(); ++i) {
    Step step{j.at("margins").at(i), read_best(j.at("top5").at(i)),
              read_best(j.at("native_top5").at(i))};
    for (const auto& [token, logit] : step.best)
      for (const auto& [native_token, native_logit] : step.native_best)
        if (token == native_token)
          run.native_difference = std::max(run.native_difference, std::fabs(logit - native_logit));
    run.steps.push_back(std::move(step));
  }
  return run;
}

std::span<const float> row(const Tensor& logits, int64_t i) {
  const int64_t n = logits.shape()[1];
  return {logits.as<float>() + i * n, static_cast<size_t>(n)};
}

void judge_text(const LanguageModel& model, const Run& run, check::Report& report) {
  const std::string name = run.name + " prompt";
  std::string text = run.text;
  if (run.is_chat)
    text = model.render_chat({{.role = "user", .content = run.user, .more_json = {}}});
  if (text != run.text)
    return report.fail(name, str("the template gives another text; got '", printable(text), "'"));
  const auto tokens =
      model.tokenizer().encode(text, {.add_special = !run.is_chat, .parse_special = run.is_chat});
  if (tokens != run.tokens)
    return report.fail(name, str("other tokens; got [", join(tokens, ", "), "]"));
  report.pass(name);
}

// Calls visit(step, logits) for each greedy step; it returns the token to go on with.
template <class Visit>
void for_each_step(Engine& engine, const Run& run, Visit visit) {
  Sequence sequence(engine);
  Tensor logits = prefill(engine, sequence, run.tokens, kChunk, Rows::last);
  for (size_t i = 0; i < run.greedy.size(); ++i) {
    const int32_t token = visit(i, row(logits, 0));
    if (i + 1 == run.greedy.size()) break;
    const StepItem item{&sequence, {&token, 1}, Rows::last};
    logits = engine.step({&item, 1}, Phase::decode);
  }
}

void judge_exact(Engine& engine, const Run& run, check::Report& report) {
  const std::string name = run.name + " greedy";
  std::vector<int32_t> got;
  for_each_step(engine, run, [&](size_t, std::span<const float> logits) {
    got.push_back(likeliest_token(logits));
    return got.back();
  });
  const auto [a, b] = std::mismatch(got.begin(), got.end(), run.greedy.begin());
  if (a == got.end())
    report.entries.push_back({check::Outcome::passed, name, str(got.size(), " tokens equal")});
  else
    report.fail(name, str("token ", a - got.begin(), " is ", *a, "; want ", *b, " by a margin of ",
                          run.steps[static_cast<size_t>(a - got.begin())].margin));
}

void judge_forced(Engine& engine, const Run& run, check::Report& report) {
  const std::string name = run.name + " teacher-forced";
  int n_clear = 0;
  double most = 0;
  std::string problem;
  for_each_step(engine, run, [&](size_t i, std::span<const float> logits) {
    const Step& step = run.steps[i];
    for (const auto& [token, logit] : step.best) {
      const double d = std::fabs(logits[static_cast<size_t>(token)] - logit);
      if (!(d <= most) && most == most) most = d;
    }
    if (step.margin > kClearMargin) {
      ++n_clear;
      if (const int32_t best = likeliest_token(logits); best != run.greedy[i] && problem.empty())
        problem = str("token ", i, " is ", best, "; want ", run.greedy[i], " by a margin of ",
                      step.margin);
    }
    return run.greedy[i];
  });
  const std::string summary =
      str("best logits differ by at most ", number_text(static_cast<float>(most)), " of ",
          number_text(static_cast<float>(2 * run.native_difference)), ", ", n_clear, " of ",
          run.greedy.size(), " tokens clear");
  if (problem.empty() && !(most <= 2 * run.native_difference)) problem = summary;
  if (!problem.empty()) return report.fail(name, problem);
  report.entries.push_back({check::Outcome::passed, name, summary + " and equal"});
}

// -log of the softmax at `token`.
double loss_of(std::span<const float> logits, int32_t token) {
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float x : logits) sum += std::exp(static_cast<double>(x) - most);
  return most + std::log(sum) - logits[static_cast<size_t>(token)];
}

void judge_loss(Engine& engine, const json& nll, double bound, check::Report& report) {
  const auto tokens = nll.at("tokens").get<std::vector<int32_t>>();
  const double want = nll.at("mean_nll");
  CHECK_USER(tokens.size() >= 2, "check greedy: the text of the loss has too few tokens; got ",
             tokens.size(), "; want 2 or more");
  Sequence sequence(engine);
  double sum = 0;
  for (size_t at = 0; at < tokens.size(); at += kChunk) {
    const auto part = std::span(tokens).subspan(at, std::min<size_t>(kChunk, tokens.size() - at));
    const StepItem item{&sequence, part, Rows::all};
    const Tensor logits = engine.step({&item, 1}, Phase::bulk);
    for (size_t i = 0; i < part.size() && at + i + 1 < tokens.size(); ++i)
      sum += loss_of(row(logits, static_cast<int64_t>(i)), tokens[at + i + 1]);
  }
  const double got = sum / static_cast<double>(tokens.size() - 1);
  const std::string summary =
      str("mean loss ", number_text(static_cast<float>(got)), ", ",
          number_text(static_cast<float>(std::fabs(got / want - 1) * 100)), " % off; want at most ",
          bound * 100, " % off ", number_text(static_cast<float>(want)));
  if (std::fabs(got - want) <= bound * want)
    report.entries.push_back({check::Outcome::passed, "loss", summary});
  else
    report.fail("loss", summary);
}

void check_tokens(const std::vector<int32_t>& tokens, int64_t vocabulary) {
  for (int32_t t : tokens)
    CHECK_USER(t >= 0 && t < vocabulary, "check greedy: token outside the model's vocabulary; got ",
               t, "; want 0 to ", vocabulary - 1);
}

check::Report judge(const json& file, const std::string& path, const CheckGreedyOptions& o) {
  const auto model = LanguageModel::load(path, {.backend = o.backend,
                                                .threads = o.threads,
                                                .context = 1024,
                                                .kv_type = o.exact ? kF32 : kF16,
                                                .exact = o.exact});
  check::Report report;
  for (const json& j : file.at("runs")) {
    const Run run = read_run(j, report.entries.size() / 2);
    check_tokens(run.greedy, model->engine().info().vocabulary);
    for (const Step& s : run.steps)
      for (const auto& [token, logit] : s.best)
        check_tokens({token}, model->engine().info().vocabulary);
    judge_text(*model, run, report);
    (o.exact ? judge_exact : judge_forced)(model->engine(), run, report);
  }
  if (file.contains("nll"))
    judge_loss(model->engine(), file["nll"], o.exact ? kExactLossBound : kLossBound, report);
  return report;
}

}  // namespace

check::Report check_greedy(const std::string& path, const std::string& model,
                           const CheckGreedyOptions& options) {
  const MappedFile file = MappedFile::open(path);
  try {
    return judge(json::parse(file.bytes().begin(), file.bytes().end()), model, options);
  } catch (const json::exception& e) {
    throw UserError(str(path, ": not a file of greedy runs; ", e.what()));
  }
}

}  // namespace lamella
