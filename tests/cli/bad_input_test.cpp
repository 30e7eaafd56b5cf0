// Model files that are wrong in one way each: one message, exit code 2, fast, in little memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/run_cli.h"
#include "tests/cli/tiny_llama.h"
#include "tests/support/sanitizer.h"

namespace lamella::test {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::HasSubstr;

constexpr double kSeconds = 1.0 * test::kSanitizerSlack;
constexpr long kExtraKib = 64 * 1024 * test::kSanitizerSlack;

std::string write_bytes(const GgufWriter::Bytes& bytes, const std::string& name) {
  const std::string path = (fs::path(testing::TempDir()) / ("bad_" + name)).string();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return path;
}

CliResult run_model(const std::string& path) {
  return run_cli({"run", path, "-p", "a", "-n", "1", "--threads", "1", "--ctx", "64"});
}

void expect_refused(const GgufWriter& writer, const std::string& name, const std::string& message) {
  const std::string path = write_bytes(writer.bytes(), name);
  const CliResult r = run_model(path);
  EXPECT_EQ(r.status, 2) << name << ": " << r.err;
  EXPECT_THAT(r.err, HasSubstr(message)) << name;
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  EXPECT_LT(r.cpu_seconds, kSeconds) << name;
}

TEST(BadModel, WhatIsMissingOrContradictsIsNamed) {
  const std::pair<TinyLlama, std::string> cases[] = {
      {{.architecture = "lama"}, "did you mean 'llama'?"},
      {{.left_out = "blk.0.ffn_up.weight"}, "'blk.0.ffn_up.weight' is missing"},
      {{.left_out = "token_embd.weight"}, "'token_embd.weight' is missing"},
      {{.misshapen = "blk.0.attn_k.weight"}, "'blk.0.attn_k.weight' has the wrong sizes"},
      {{.kv_heads = 3}, "heads"},
      {{.layers = 0}, "block_count"},
      {{.has_chat_template = false}, "no chat template"},
      {{.chat_template = "{{ frobnicate(messages) }}"}, "frobnicate"},
      {{.chat_template = "{% for m in messages %}{{ m.content }}"}, "template"},
      {{.type_of_norms = 99}, "99"},
      {{.type_of_norms = 26}, "wrong element type"},
      {{.has_tokenizer = false}, "tokenizer"},
  };
  int n = 0;
  for (const auto& [model, message] : cases)
    expect_refused(model.writer(), "contradiction" + std::to_string(n++) + ".gguf", message);
}

TEST(BadModel, ZeroAndHugeSizes) {
  GgufWriter zero = TinyLlama{.left_out = "output_norm.weight"}.writer();
  zero.add_tensor("output_norm.weight", {0}, 0, {});
  expect_refused(zero, "zero.gguf", "output_norm.weight");
  GgufWriter huge = TinyLlama{.left_out = "output_norm.weight"}.writer();
  huge.add_tensor("output_norm.weight", {uint64_t{1} << 62}, 0, {});
  expect_refused(huge, "huge.gguf", "output_norm.weight");
  expect_refused(TinyLlama{.context = 0}.writer(), "context0.gguf", "context_length");
  expect_refused(TinyLlama{.layers = 2, .left_out = "blk.1.attn_q.weight"}.writer(), "layers.gguf",
                 "blk.1.attn_q.weight");
}

TEST(BadModel, MetadataOfAnotherKind) {
  GgufWriter w = TinyLlama{.architecture = "llama"}.writer();
  GgufWriter other;
  other.add("general.architecture", "llama").add("llama.block_count", "many");
  expect_refused(other, "kind.gguf", "block_count");
  GgufWriter overlapping = w;
  overlapping.add_tensor("again", {4}, 0, GgufWriter::Bytes(16), 0);
  expect_refused(overlapping, "overlap.gguf", "again");
}

TEST(BadModel, TruncatedAnywhere) {
  const GgufWriter::Bytes whole = TinyLlama().writer().bytes();
  for (int part = 0; part < 24; ++part) {
    GgufWriter::Bytes cut(whole.begin(),
                          whole.begin() + static_cast<int64_t>(whole.size() * size_t(part) / 24));
    const CliResult r = run_model(write_bytes(cut, "cut.gguf"));
    EXPECT_EQ(r.status, 2) << part << ": " << r.err;
    EXPECT_LT(r.cpu_seconds, kSeconds);
    EXPECT_LT(r.peak_rss_kib, static_cast<long>(whole.size() / 1024) + kExtraKib);
  }
}

// A flipped bit may leave a usable file; it must never do worse than be refused.
TEST(BadModel, FlippedBitsInHeaderMetadataAndTensorTable) {
  const GgufWriter::Bytes whole = TinyLlama().writer().bytes();
  const size_t n_described =
      whole.size() - 4 * (258 * 32 + 32 * 32 * 2 + 16 * 32 * 2 + 48 * 32 * 3);
  std::mt19937 rng(11);
  for (int i = 0; i < 40; ++i) {
    GgufWriter::Bytes bytes = whole;
    bytes[rng() % n_described] ^= static_cast<uint8_t>(1 << rng() % 8);
    const CliResult r = run_model(write_bytes(bytes, "flip.gguf"));
    EXPECT_THAT(r.status, AnyOf(0, 2)) << i << ": " << r.err;
    EXPECT_LT(r.cpu_seconds, kSeconds) << i;
    EXPECT_LT(r.peak_rss_kib, static_cast<long>(whole.size() / 1024) + kExtraKib) << i;
  }
}

TEST(BadModel, TextThatIsNotUtf8) {
  GgufWriter w = TinyLlama{.chat_template = "\xff\xfe{{ messages[0].content }}\xc3"}.writer();
  w.add("general.name", "\xc3\x28");
  const std::string path = write_bytes(w.bytes(), "bytes.gguf");
  EXPECT_THAT(run_model(path).status, AnyOf(0, 2));
  EXPECT_EQ(run_cli({"inspect", path, "--json"}).status, 0);
  EXPECT_EQ(run_cli({"inspect", path}).status, 0);
}

}  // namespace
}  // namespace lamella::test
