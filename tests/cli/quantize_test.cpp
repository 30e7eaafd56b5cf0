// quantize and imatrix on a small model that still runs afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/run_cli.h"
#include "tests/cli/tiny_llama.h"

namespace lamella::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class QuantizeCommand : public testing::Test {
 protected:
  QuantizeCommand() {
    fs::create_directories(folder_);
    TinyLlama{.embedding = 64, .feed_forward = 256}.writer().write(path("in.gguf"));
    std::ofstream(path("text.txt")) << "The quick brown fox jumps over the lazy dog. " << 12345;
  }
  ~QuantizeCommand() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  fs::path folder_ = fs::path(testing::TempDir()) / "cli_quantize";
};

TEST_F(QuantizeCommand, WritesAModelThatRuns) {
  const CliResult r = run_cli({"quantize", path("in.gguf"), path("out.gguf"), "--type", "q3_k",
                               "--output-type", "q8_0", "--threads", "2"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("blk.0.ffn_down.weight [64, 256]: f32 -> q3_k  relative error 0.1"));
  EXPECT_THAT(r.out, HasSubstr("f32 -> iq4_nl  relative error 0.0"));
  EXPECT_THAT(r.out, HasSubstr("(rows of 64 are no whole blocks of 256 (q3_k))"));
  EXPECT_THAT(r.out, HasSubstr("took another type than q3_k, as their lines say"));
  const CliResult ran = run_cli({"run", path("out.gguf"), "-p", "x", "--raw", "-n", "3"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  const CliResult again =
      run_cli({"quantize", path("out.gguf"), path("again.gguf"), "--type", "q4_0"});
  EXPECT_THAT(again.out, HasSubstr("came from an encoding already: errors are against its values"));
}

TEST_F(QuantizeCommand, TakesTheWeightsOfColumns) {
  const CliResult r = run_cli(
      {"imatrix", path("in.gguf"), path("im.gguf"), "-f", path("text.txt"), "--window", "16"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("matrices, 50 tokens"));
  EXPECT_THAT(r.err, HasSubstr("window 4 of 4"));
  const CliResult q = run_cli({"quantize", path("in.gguf"), path("out.gguf"), "--type", "iq2_xxs",
                               "--imatrix", path("im.gguf")});
  EXPECT_EQ(q.status, 0) << q.err;
  EXPECT_THAT(q.out, HasSubstr("ffn_down.weight [64, 256]: f32 -> iq2_xxs"));
}

TEST_F(QuantizeCommand, MistakesExitWithTwo) {
  const auto error = [&](std::vector<std::string> words) {
    const CliResult r = run_cli(words);
    EXPECT_EQ(r.status, 2);
    return r.err;
  };
  const std::string in = path("in.gguf"), out = path("out.gguf");
  EXPECT_THAT(error({"quantize", in, out}), HasSubstr("--type is required"));
  EXPECT_THAT(error({"quantize", in, out, "--type", "q4"}), HasSubstr("got 'q4'; want one of"));
  EXPECT_THAT(error({"quantize", in, in, "--type", "q4_0"}), HasSubstr("is the file that is read"));
  EXPECT_THAT(error({"quantize", folder_.string(), out, "--type", "q4_0"}),
              HasSubstr("a folder; want a GGUF file"));
  EXPECT_THAT(error({"quantize", in, out, "--type", "q4_0", "--imatrix", in}),
              HasSubstr("not an importance matrix"));
  std::ofstream(path("empty.txt"));
  EXPECT_THAT(error({"imatrix", in, path("im.gguf"), "-f", path("empty.txt")}),
              HasSubstr("the text has no tokens"));
  EXPECT_FALSE(fs::exists(out));
}

}  // namespace
}  // namespace lamella::test
