// lamella bench on a model of one layer: rounds with a peer, several sequences, caches in blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/run_cli.h"
#include "tests/cli/tiny_llama.h"

namespace lamella::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Bench : public testing::Test {
 protected:
  // Heads of 32 elements, as caches in blocks want them.
  void SetUp() override { TinyLlama{.embedding = 128, .context = 64}.write(model_); }
  void TearDown() override { std::filesystem::remove(model_); }
  CliResult bench(std::vector<std::string> more) const {
    std::vector<std::string> args{"bench",   model_, "--prefill", "8", "--decode",  "2",
                                  "--depth", "4",    "--repeat",  "1", "--threads", "1"};
    args.insert(args.end(), more.begin(), more.end());
    return run_cli(args);
  }
  const std::string model_ = testing::TempDir() + "bench_" + std::to_string(getpid()) + ".gguf";
};

TEST_F(Bench, SetsThePeerBesideOursRoundByRound) {
  // What the peer is told stands behind the comment sign.
  const CliResult r =
      bench({"--json", "--rounds", "2", "--peer", R"(echo '{"pp8": 2.5, "tg2": 4}' #)"});
  ASSERT_EQ(r.status, 0) << r.err;
  const auto j = nlohmann::json::parse(r.out);
  EXPECT_THAT(j["peer"]["prefill"]["tokens_per_s"], ElementsAre(2.5, 2.5));
  EXPECT_THAT(j["peer"]["decode"]["tokens_per_s"], ElementsAre(4, 4));
  const double ours = j["prefill_tokens_per_s"];
  EXPECT_NEAR(j["peer"]["prefill"]["median_ratio"].get<double>(), ours / 2.5, ours * 1e-9);
}

TEST_F(Bench, TellsThePeerWhatToMeasure) {
  const CliResult r = bench({"--peer", "echo"});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err,
              HasSubstr(model_ + " --threads 1 --prefill 8 --decode 2'; want a JSON object"));
  EXPECT_THAT(bench({"--peer", "false"}).err, HasSubstr("failed with status 1"));
  EXPECT_THAT(bench({"--peer", "echo", "--sequences", "2"}).err, HasSubstr("one sequence"));
}

TEST_F(Bench, DecodesSeveralSequencesOverACacheInBlocks) {
  for (const char* kv : {"q8_0", "q4_0", "bf16"}) {
    const CliResult r = bench({"--sequences", "3", "--kv", kv, "--json"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_GT(nlohmann::json::parse(r.out)["decode_tokens_per_s"].get<double>(), 0);
  }
}

TEST_F(Bench, RequantizedWeightsAreExplainedOneByOne) {
  const std::string packed = model_ + ".q4_0.gguf";
  ASSERT_EQ(run_cli({"quantize", model_, packed, "--type", "q4_0"}).status, 0);
  const CliResult r = run_cli({"explain", packed, "--prefill", "8", "--threads", "1", "--weights",
                               "requantized", "--json"});
  std::filesystem::remove(packed);
  ASSERT_EQ(r.status, 0) << r.err;
  const auto j = nlohmann::json::parse(r.out);
  ASSERT_EQ(j["requantized"].size(), 6u);  // all but ffn_down, whose rows 128 does not divide
  for (const auto& w : j["requantized"]) {
    EXPECT_GT(w["relative_error"].get<double>(), 1e-4) << w;
    EXPECT_LT(w["relative_error"].get<double>(), 0.01) << w;
  }
}

}  // namespace
}  // namespace lamella::test
