// inspect, tokenize and the checks of files, on small files made here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/run_cli.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/golden.h"

namespace lamella::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string path_of(const std::string& name) {
  return (fs::path(testing::TempDir()) / ("cli_" + name)).string();
}

GgufWriter letters() {
  GgufWriter w;
  w.add("general.architecture", "llama").add("tokenizer.ggml.model", "gpt2");
  w.add_array<std::string>("tokenizer.ggml.tokens", {"a", "b", "ab", "<|end|>"});
  w.add_array<int32_t>("tokenizer.ggml.token_type", {1, 1, 1, 3});
  w.add_array<std::string>("tokenizer.ggml.merges", {"a b"});
  w.add("tokenizer.ggml.eos_token_id", uint32_t{3});
  w.add_tensor("x", {2, 3}, 0, w.pack<float>({1, 2, 3, 4, 5, 6}));
  return w;
}

TEST(Inspect, ShowsMetadataTypesAndTensors) {
  const std::string path = path_of("letters.gguf");
  letters().write(path);
  const CliResult r = run_cli({"inspect", path});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("llama architecture, 1 tensors, 6 elements, 24 B\n"));
  EXPECT_THAT(r.out, HasSubstr("general.architecture"));
  const CliResult tensors = run_cli({"inspect", path, "--tensors"});
  EXPECT_THAT(tensors.out, HasSubstr("x       f32   [2, 3]     24\n"));
  const auto j = nlohmann::json::parse(run_cli({"inspect", path, "--json"}).out);
  EXPECT_EQ(j.at("tensors").at(0).at("sizes"), nlohmann::json::parse("[2, 3]"));
}

TEST(Inspect, NamesATypeItDoesNotKnow) {
  const std::string path = path_of("type99.gguf");
  GgufWriter w = letters();
  w.add_tensor("strange", {4}, 99, GgufWriter::Bytes(16));
  w.write(path);
  const CliResult r = run_cli({"inspect", path});
  EXPECT_EQ(r.status, 0);
  EXPECT_THAT(r.out, HasSubstr("problem: tensor 'strange'"));
  EXPECT_THAT(r.out, HasSubstr("99"));
}

TEST(Inspect, RefusesWhatIsNoModel) {
  const std::string path = path_of("no_model.gguf");
  std::ofstream(path) << "this is a text, not a model";
  for (const std::string& bad : {path, std::string("no/such/file.gguf"), testing::TempDir()}) {
    const CliResult r = run_cli({"inspect", bad});
    EXPECT_EQ(r.status, 2);
    EXPECT_THAT(r.err, HasSubstr("lamella inspect: "));
    EXPECT_LT(r.cpu_seconds, 1.0);
  }
  const CliResult r = run_cli({"inspect", "py:no_such_package_of_ours"});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("no_such_package_of_ours"));
}

TEST(Tokenize, GivesIdsAndPieces) {
  const std::string path = path_of("letters.gguf");
  letters().write(path);
  const CliResult r = run_cli({"tokenize", path, "-p", "abb<|end|>"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out, "      2  'ab'\n      1  'b'\n      3  '<|end|>'\n3 tokens\n");
  const auto j = nlohmann::json::parse(run_cli({"tokenize", path, "--json"}, "ba").out);
  EXPECT_EQ(j.at("ids"), nlohmann::json::parse("[1, 0]"));
  EXPECT_EQ(j.at("pieces"), nlohmann::json::parse(R"(["b", "a"])"));
  const auto empty =
      nlohmann::json::parse(run_cli({"tokenize", path, "--json", "-p", ""}, "ba").out);
  EXPECT_TRUE(empty.at("ids").empty());
}

TEST(Tokenize, NeedsATokenizer) {
  const std::string path = path_of("no_tokenizer.gguf");
  GgufWriter().add("general.architecture", "llama").write(path);
  const CliResult r = run_cli({"tokenize", path, "-p", "a"});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("'tokenizer.ggml.model' is missing"));
}

TEST(CheckQuant, CountsEntriesAndFailsForAWrongByte) {
  const CliResult r = run_cli({"check", "quant", (golden_dir() / "quant").string()});
  EXPECT_EQ(r.status, 0) << r.out;
  EXPECT_THAT(r.out, HasSubstr(" passed, 0 failed"));
  const CliResult none = run_cli({"check", "quant", "no/such/folder"});
  EXPECT_EQ(none.status, 2);
}

TEST(CheckTokenizer, FailsWithOneWhereIdsDiffer) {
  const std::string model = path_of("letters.gguf"), file = path_of("strings.json");
  letters().write(model);
  std::ofstream(file) << "{}";
  EXPECT_EQ(run_cli({"check", "tokenizer", file, model}).status, 2);
}

}  // namespace
}  // namespace lamella::test
