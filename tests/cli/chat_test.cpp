// chat, perplexity and run --trace, on a model of one layer made here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/run_cli.h"
#include "tests/cli/tiny_llama.h"

namespace lamella::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

std::string path_of(const std::string& name) {
  return (fs::path(testing::TempDir()) / ("chat_" + name)).string();
}

json read_json(const std::string& path) { return json::parse(std::ifstream(path)); }

class ChatCommand : public testing::Test {
 protected:
  void SetUp() override {
    TinyLlama().write(model_);
    TinyLlama other;
    other.seed = 8;
    other.write(other_);
    std::ofstream(text_) << std::string(40, 'a') << "A text that is a few windows long, and ends.";
  }

  json perplexity(std::vector<std::string> more) {
    std::vector<std::string> words{"perplexity", model_, "-f", text_, "--ctx", "32", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const CliResult r = run_cli(words);
    EXPECT_EQ(r.status, 0) << r.err;
    return r.status == 0 ? json::parse(r.out) : json();
  }

  const std::string model_ = path_of("tiny.gguf"), other_ = path_of("other.gguf"),
                    text_ = path_of("text.txt"), file_ = path_of("out.json");
};

TEST_F(ChatCommand, TheSecondTurnReusesTheFirst) {
  const CliResult r =
      run_cli({"chat", model_, "-n", "5"}, "Hello\nAnd now?\n/save " + file_ + "\n");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr(", 0 reused"));
  const json saved = read_json(file_);
  ASSERT_EQ(saved.size(), 4u);
  EXPECT_EQ(saved[2].at("content"), "And now?");
  EXPECT_EQ(saved[3].at("role"), "assistant");
  // Of the second prompt at least what the first one was, but its end.
  const size_t second = r.err.find(" reused", r.err.find(" reused") + 1);
  const size_t comma = r.err.rfind(", ", second);
  EXPECT_GE(std::stoi(r.err.substr(comma + 2)), 15) << r.err;
}

TEST_F(ChatCommand, ReusedTurnsAnswerAsNewOnes) {
  // The same question behind the same turns, once with what went before forgotten in between.
  const CliResult a = run_cli({"chat", model_, "-n", "6"}, "One\n/reset\nOne\n");
  EXPECT_EQ(a.status, 0) << a.err;
  const size_t half = a.out.size() / 2;
  EXPECT_EQ(a.out.substr(0, half), a.out.substr(half));
}

TEST_F(ChatCommand, AnUndoneTurnIsAskedAgain) {
  const CliResult once = run_cli({"chat", model_, "-n", "6"}, "One\nTwo\n");
  const CliResult twice = run_cli({"chat", model_, "-n", "6"}, "/undo\nOne\nTwo\n/undo\nTwo\n");
  EXPECT_EQ(twice.status, 0) << twice.err;
  EXPECT_THAT(twice.err, HasSubstr("/undo: there is no answer yet"));
  ASSERT_GT(twice.out.size(), once.out.size());
  EXPECT_EQ(twice.out.substr(0, once.out.size()), once.out);
  EXPECT_TRUE(once.out.ends_with(twice.out.substr(once.out.size())));
}

TEST_F(ChatCommand, SaysWhatACommandWants) {
  const CliResult r = run_cli({"chat", model_, "-n", "1"}, "/foo\n/save\n/reset now\nHi\n");
  EXPECT_EQ(r.status, 0);
  EXPECT_THAT(r.err, HasSubstr("unknown command '/foo'; want /reset"));
  EXPECT_THAT(r.err, HasSubstr("/save: wants FILE"));
  EXPECT_THAT(r.err, HasSubstr("/reset: takes nothing"));
  EXPECT_THAT(r.err, HasSubstr("answer 1 tokens"));
}

TEST_F(ChatCommand, TooLongATurnIsRefusedAndTheNextGoesOn) {
  const CliResult r =
      run_cli({"chat", model_, "-n", "1", "--ctx", "64"}, std::string(100, 'x') + "\nHi\n");
  EXPECT_EQ(r.status, 0);
  EXPECT_THAT(r.err, HasSubstr("too long for the context"));
  EXPECT_THAT(r.err, HasSubstr("answer 1 tokens"));
}

TEST_F(ChatCommand, PerplexityOfAModelBesideItselfAndAnother) {
  const json alone = perplexity({});
  EXPECT_EQ(alone.at("windows"), 2);
  EXPECT_NEAR(alone.at("perplexity"), std::exp(alone.at("loss").get<double>()), 1e-9);
  EXPECT_FALSE(alone.contains("mean_kl"));
  const json same = perplexity({"--against", model_});
  EXPECT_EQ(same.at("perplexity"), alone.at("perplexity"));
  EXPECT_EQ(same.at("mean_kl"), 0);
  EXPECT_EQ(same.at("agreement"), 1);
  const json exact = perplexity({"--against", "exact"});
  EXPECT_GT(exact.at("mean_kl"), 0);
  EXPECT_LT(exact.at("mean_kl"), 0.01);
  const json other = perplexity({"--against", other_});
  EXPECT_GT(other.at("mean_kl"), exact.at("mean_kl"));
}

TEST_F(ChatCommand, PerplexityRefusesATextWithNothingToScore) {
  std::ofstream(file_) << "";
  const CliResult r = run_cli({"perplexity", model_, "-f", file_});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("the text is too short"));
}

TEST_F(ChatCommand, TraceNamesStepsSegmentsAndKernels) {
  const CliResult r = run_cli({"run", model_, "-p", "Hi", "-n", "3", "--json", "--trace", file_});
  ASSERT_EQ(r.status, 0) << r.err;
  std::set<std::string> names, origins;
  int n_decode_steps = 0;
  const json trace = read_json(file_);
  for (const json& e : trace.at("traceEvents")) {
    names.insert(e.at("name"));
    n_decode_steps += e.at("name") == "decode step";
    if (e.at("args").contains("origin")) origins.insert(e.at("args").at("origin"));
  }
  EXPECT_EQ(n_decode_steps, 2);
  for (const char* name : {"prefill step", "bind segment 0", "kv_append", "paged_attention"})
    EXPECT_TRUE(names.count(name)) << name;
  EXPECT_TRUE(origins.count("blk.0.attn"));
}

}  // namespace
}  // namespace lamella::test
