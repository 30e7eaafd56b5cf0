// run, explain, bench and the check of models, on a model of one layer made here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/run_cli.h"
#include "tests/cli/tiny_llama.h"
#include "tests/support/golden.h"

namespace lamella::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

std::string path_of(const std::string& name) {
  return (fs::path(testing::TempDir()) / ("run_" + name)).string();
}

class RunCommand : public testing::Test {
 protected:
  void SetUp() override { TinyLlama().write(model_); }

  json run_json(std::vector<std::string> more) {
    std::vector<std::string> words{"run", model_, "-p",    "Why is the sky blue?",
                                   "-n",  "12",   "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const CliResult r = run_cli(words);
    EXPECT_EQ(r.status, 0) << r.err;
    return r.status == 0 ? json::parse(r.out) : json();
  }

  const std::string model_ = path_of("tiny.gguf");
};

TEST_F(RunCommand, StreamsTheAnswerAndTimesIt) {
  const json j = run_json({});
  ASSERT_EQ(j.at("tokens").size(), 12u);
  EXPECT_EQ(j.at("stop"), "length");
  // The template's text, a token a byte, its three markers one each.
  EXPECT_EQ(j.at("prompt_tokens"), 40);
  const CliResult text = run_cli({"run", model_, "-p", "Why is the sky blue?", "-n", "12"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.err, HasSubstr("answer 12 tokens"));
  EXPECT_THAT(text.err, HasSubstr("ended by length"));
}

TEST_F(RunCommand, ThreadsAndChunksOf64GiveTheSameTokens) {
  const json want = run_json({"--threads", "1"}).at("tokens");
  EXPECT_EQ(run_json({"--threads", "3"}).at("tokens"), want);
  EXPECT_EQ(run_json({"--chunk", "64"}).at("tokens"), want);
}

TEST_F(RunCommand, ExactAgreesWithTheReference) {
  EXPECT_EQ(run_json({"--exact"}).at("tokens"),
            run_json({"--exact", "--backend", "reference"}).at("tokens"));
}

TEST_F(RunCommand, SeedsDecide) {
  const std::vector<std::string> hot{"--temp",  "2",    "--top-k", "50",
                                     "--top-p", "0.99", "--seed",  "1"};
  std::vector<std::string> other = hot;
  other.back() = "2";
  const json tokens = run_json(hot).at("tokens");
  EXPECT_EQ(run_json(hot).at("tokens"), tokens);
  EXPECT_NE(run_json(other).at("tokens"), tokens);
}

TEST_F(RunCommand, RawPromptsAndSystemMessagesChangeThePrompt) {
  EXPECT_EQ(run_json({"--raw"}).at("prompt_tokens"), 20);
  EXPECT_GT(run_json({"--system", "Be brief."}).at("prompt_tokens"), 41);
  const CliResult none = run_cli({"run", model_, "-p", "a", "-n", "0"});
  EXPECT_EQ(none.status, 0) << none.err;
}

TEST_F(RunCommand, EndsWhereTheContextDoes) {
  const CliResult r =
      run_cli({"run", model_, "-p", "abcdefgh", "--raw", "--ctx", "10", "-n", "50", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(json::parse(r.out).at("stop"), testing::AnyOf("context", "end"));
}

TEST_F(RunCommand, RefusesBadPromptsAndFlags) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"-p", "", "--raw"}, "no tokens"},
      {{"-p", "a long prompt", "--raw", "--ctx", "4"}, "too long for the context; got 13"},
      {{"-p", "a", "--chunk", "0"}, "--chunk: got '0'; want a whole number, 1 or more"},
      {{"-p", "a", "--temp", "-1"}, "--temp: got '-1'; want a number, 0 or more"},
      {{"-p", "a", "--temp", "nan"}, "--temp: got 'nan'"},
      {{"-p", "a", "--top-p", "1.5"}, "--top-p: got '1.5'; want a number from 0 to 1"},
      {{"-p", "a", "-n", "-3"}, "--tokens: got '-3'"},
      {{"-p", "a", "--threads", "-1"}, "--threads: got '-1'"},
      {{"-p", "a", "--kv", "q9"}, "--kv: no such choice; got 'q9'; want f16, bf16, f32"},
      {{"-p", "a", "--backend", "cpuu"}, "did you mean 'cpu'?"},
      {{"-p", "a", "--ctx", "99999999999"}, "--ctx: got '99999999999'"},
      {{}, "--prompt is required"},
  };
  for (const auto& [more, message] : cases) {
    std::vector<std::string> words{"run", model_};
    words.insert(words.end(), more.begin(), more.end());
    const CliResult r = run_cli(words);
    EXPECT_EQ(r.status, 2) << message << r.err;
    EXPECT_THAT(r.err, HasSubstr(message));
  }
}

TEST_F(RunCommand, AContextThatMemoryCannotHoldIsADeviceError) {
  const std::string path = path_of("wide.gguf");
  TinyLlama{.embedding = 4096, .heads = 4, .kv_heads = 4, .feed_forward = 2, .layers = 1}.write(
      path);
  const CliResult r = run_cli({"run", path, "-p", "a", "--raw", "--ctx", "16777216"});
  EXPECT_EQ(r.status, 71) << r.err;
  EXPECT_THAT(r.err, HasSubstr("16777216 positions need 256.0 GiB of KV cache"));
  EXPECT_THAT(r.err, HasSubstr("want at most"));
}

TEST_F(RunCommand, PromptsOfAnyBytesAreTokenised) {
  const CliResult r = run_cli({"run", model_, "-p", "\xff\xfe broken \xc3", "--raw", "-n", "2"});
  EXPECT_EQ(r.status, 0) << r.err;
}

TEST_F(RunCommand, BenchGivesTheNamedKeys) {
  const CliResult r = run_cli({"bench", model_, "--prefill", "8", "--decode", "4", "--repeat", "1",
                               "--threads", "1", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const json j = json::parse(r.out);
  for (const char* key :
       {"prefill_tokens_per_s", "decode_tokens_per_s", "load_s", "peak_rss_bytes"})
    EXPECT_GT(j.at(key).get<double>(), 0) << key;
  EXPECT_GT(j.at("decode").at("share_of_roofline").get<double>(), 0);
}

TEST_F(RunCommand, ExplainNamesTheRowOfEveryNode) {
  const CliResult r = run_cli({"explain", model_, "--prefill", "8", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const json j = json::parse(r.out);
  ASSERT_EQ(j.at("phases").size(), 2u);
  for (const json& phase : j.at("phases")) {
    EXPECT_GT(phase.at("nodes").size(), 8u);
    for (const json& node : phase.at("nodes")) EXPECT_NE(node.at("row"), "") << node;
  }
  const CliResult text = run_cli({"explain", model_, "--prefill", "8", "--why", "--threads", "1"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("prefill of 8 tokens"));
  EXPECT_THAT(text.out, HasSubstr("decode of 1 token "));
}

TEST_F(RunCommand, ExplainDumpsStages) {
  const CliResult source = run_cli({"explain", model_, "--dump", "source"});
  ASSERT_EQ(source.status, 0) << source.err;
  EXPECT_THAT(source.out, StartsWith("graph "));
  EXPECT_THAT(source.out, HasSubstr("silu("));
  const CliResult fused = run_cli({"explain", model_, "--dump", "fuse", "--phase", "prefill"});
  EXPECT_THAT(fused.out, HasSubstr("gated_mlp_up("));
  const CliResult near = run_cli({"explain", model_, "--dump", "fusee"});
  EXPECT_EQ(near.status, 2);
  EXPECT_THAT(near.err, HasSubstr("did you mean 'fuse'?"));
}

TEST_F(RunCommand, InspectSaysWhatMemoryIsNeeded) {
  const CliResult r = run_cli({"inspect", model_, "--memory", "--ctx", "128"});
  ASSERT_EQ(r.status, 0) << r.err;
  // One layer, keys and values, 2 heads of 8, f16.
  EXPECT_THAT(r.out, HasSubstr("128 positions of f16, 64 B each"));
  EXPECT_THAT(r.out, HasSubstr("8.00 KiB"));
}

TEST_F(RunCommand, TheWholeReferenceSetOfSmallModels) {
  const auto whole = full_golden_dir();
  if (!whole) GTEST_SKIP() << "no ../shared/golden";
  const CliResult r =
      run_cli({"check", "arch", (*whole / "arch").string(), "--case", "llama*", "--exact"});
  EXPECT_EQ(r.status, 0) << r.out << r.err;
  EXPECT_THAT(r.out, HasSubstr("llama prompt 0 token by token: ok"));
}

}  // namespace
}  // namespace lamella::test
