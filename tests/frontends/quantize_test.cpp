// GGUF files written again in another encoding, and the file of column weights.
#include "lamella/frontends/gguf/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>

#include "lamella/base/mapped_file.h"
#include "lamella/frontends/gguf/writer.h"
#include "tests/support/gguf_writer.h"

namespace lamella::gguf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

std::vector<float> normal_values(size_t n) {
  std::mt19937 random(17);
  std::normal_distribution<float> normal;
  std::vector<float> x(n);
  for (float& v : x) v = normal(random);
  return x;
}

class Quantize : public testing::Test {
 protected:
  Quantize() {
    fs::create_directories(folder_);
    test::GgufWriter w;
    w.add("general.architecture", std::string("llama"));
    w.add("general.file_type", uint32_t{0});
    w.add("llama.block_count", uint32_t{1});
    w.add("some.bool", true);
    w.add("some.f64", 0.5);
    w.add_array("some.numbers", std::vector<float>{1, 2, 3});
    w.add_array("tokenizer.ggml.tokens", std::vector<std::string>{"a", "", "\xff"});
    const auto f32 = [&](const char* name, std::vector<uint64_t> dims) {
      size_t n = 1;
      for (uint64_t d : dims) n *= d;
      values_[name] = normal_values(n);
      w.add_tensor(name, dims, 0, w.pack(values_[name]));
    };
    f32("token_embd.weight", {6, 256});
    f32("blk.0.attn_norm.weight", {256});
    f32("blk.0.attn_q.weight", {33, 512});
    f32("blk.0.attn_k.weight", {3, 96});
    f32("blk.0.attn_v.weight", {3, 20});
    f32("blk.0.ffn_gate_inp.weight", {2, 256});
    f32("blk.0.ffn_up_exps.weight", {2, 3, 256});
    f32("output.weight", {5, 256});
    w.write(in());
  }
  ~Quantize() override { fs::remove_all(folder_); }

  std::string in() const { return folder_ / "in.gguf"; }
  std::string out(const char* name = "out.gguf") const { return folder_ / name; }

  std::map<std::string, Quantized> run(const std::string& from, const std::string& to,
                                       const QuantizeOptions& options, int threads = 2) {
    ThreadPool pool(threads);
    std::map<std::string, Quantized> results;
    quantize(Gguf::open(from), to, options, pool,
             [&](const Quantized& q) { results[std::string(q.name)] = q; });
    return results;
  }
  template <class F>
  static std::string error_of(F&& f) {
    try {
      f();
    } catch (const UserError& e) {
      return e.what();
    }
    return "no error";
  }

  fs::path folder_ = fs::path(testing::TempDir()) / "quantize_test";
  std::map<std::string, std::vector<float>> values_;
};

std::vector<float> decoded(const Tensor& t) {
  std::vector<float> out(static_cast<size_t>(t.elements()));
  const int64_t k = t.dims.back(), rows = t.elements() / k;
  for (int64_t r = 0; r < rows; ++r) {
    const uint8_t* at = t.bytes.data() + r * t.format->blocks(k) * t.format->block_bytes();
    quant::decode_row(*t.format, {at}, k, out.data() + r * k);
  }
  return out;
}

TEST_F(Quantize, MatricesTakeTheTypeAndTheRestStays) {
  const auto results = run(in(), out(),
                           {.type = TargetType::named("q4_k"),
                            .output = TargetType::named("q6_k"),
                            .embedding = TargetType::named("q8_0")});
  const Gguf before = Gguf::open(in()), after = Gguf::open(out());
  const auto type_of = [&](const char* name) { return after.tensor(name).type_name(); };
  EXPECT_EQ(type_of("token_embd.weight"), "q8_0");
  EXPECT_EQ(type_of("blk.0.attn_norm.weight"), "f32");
  EXPECT_EQ(type_of("blk.0.attn_q.weight"), "q4_k");
  EXPECT_EQ(type_of("blk.0.attn_k.weight"), "iq4_nl");  // 4.5 bits, as q4_k
  EXPECT_EQ(type_of("blk.0.attn_v.weight"), "f16");
  EXPECT_EQ(type_of("blk.0.ffn_gate_inp.weight"), "f32");
  EXPECT_EQ(type_of("blk.0.ffn_up_exps.weight"), "q4_k");
  EXPECT_EQ(type_of("output.weight"), "q6_k");
  EXPECT_EQ(results.at("blk.0.attn_k.weight").note, "rows of 96 are no whole blocks of 256 (q4_k)");
  for (const Tensor& t : after.tensors()) {
    SCOPED_TRACE(t.name);
    const Tensor& old = before.tensor(t.name);
    const Quantized& q = results.at(std::string(t.name));
    EXPECT_EQ(t.dims, old.dims);
    EXPECT_EQ(q.to, t.type_name());
    EXPECT_EQ(q.bytes, t.bytes.size());
    if (!q.is_encoded) {
      EXPECT_TRUE(std::equal(t.bytes.begin(), t.bytes.end(), old.bytes.begin(), old.bytes.end()));
      continue;
    }
    if (!t.format) continue;
    const std::vector<float>&got = decoded(t), &want = values_.at(std::string(t.name));
    double error = 0, size = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      error += std::pow(double{got[i]} - want[i], 2);
      size += std::pow(want[i], 2);
    }
    EXPECT_NEAR(q.error, std::sqrt(error / size), 1e-9);
    EXPECT_LT(q.error, 0.09);
  }
}

TEST_F(Quantize, MetadataIsKept) {
  run(in(), out(), {.type = TargetType::named("iq3_xxs")});
  const Gguf after = Gguf::open(out());
  EXPECT_EQ(after.get<std::string>("general.architecture"), "llama");
  EXPECT_EQ(after.get<uint32_t>("general.file_type"), 23u);
  EXPECT_EQ(after.get<uint32_t>("general.quantization_version"), 2u);
  EXPECT_EQ(after.get<uint32_t>("llama.block_count"), 1u);
  EXPECT_TRUE(after.get<bool>("some.bool"));
  EXPECT_EQ(after.get<double>("some.f64"), 0.5);
  EXPECT_THAT(after.get<std::vector<float>>("some.numbers"), ElementsAre(1, 2, 3));
  EXPECT_THAT(after.get<std::vector<std::string>>("tokenizer.ggml.tokens"),
              ElementsAre("a", "", "\xff"));
}

TEST_F(Quantize, EveryFormatAndTheSameBytesForAnyThreads) {
  for (const quant::Format& f : quant::formats()) {
    if (f.gguf_type == quant::Format::kNoGguf) continue;
    SCOPED_TRACE(f.name);
    run(in(), out(), {.type = {nullptr, &f}}, 1);
    run(in(), out("three.gguf"), {.type = {nullptr, &f}}, 3);
    const MappedFile a = MappedFile::open(out()), b = MappedFile::open(out("three.gguf"));
    EXPECT_TRUE(std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end()));
    const Gguf after = Gguf::open(out());
    for (const Tensor& t : after.tensors()) EXPECT_EQ(t.problem, "");
    EXPECT_EQ(after.tensor("blk.0.attn_q.weight").format, &f);
  }
}

TEST_F(Quantize, FromAnEncodingAndNarrowFloats) {
  run(in(), out("half.gguf"), {.type = TargetType::named("bf16")});
  run(in(), out("eight.gguf"), {.type = TargetType::named("q8_0")});
  for (const char* from : {"half.gguf", "eight.gguf"}) {
    const auto results = run(out(from), out(), {.type = TargetType::named("q5_0")});
    const Quantized& q = results.at("blk.0.attn_q.weight");
    EXPECT_EQ(q.from, std::string(from) == "half.gguf" ? "bf16" : "q8_0");
    EXPECT_LT(q.error, 0.045);
  }
  // What has the type already is copied.
  const auto results = run(out("eight.gguf"), out(), {.type = TargetType::named("q8_0")});
  EXPECT_FALSE(results.at("output.weight").is_encoded);
  const auto back = run(out("eight.gguf"), out(), {.type = TargetType::named("f32")});
  EXPECT_EQ(back.at("output.weight").error, 0);
}

Importance some_importance() {
  Importance im;
  im.text_name = "text.txt";
  im.n_windows = 3;
  im.window = 512;
  ColumnSums c{.experts = 2, .k = 256, .sums = std::vector<float>(512), .counts = {4, 0}};
  for (size_t i = 0; i < 256; ++i) c.sums[i] = i % 8 == 0 ? 400 : 4;
  im.of_matrix["blk.0.ffn_up_exps.weight"] = c;
  return im;
}

TEST_F(Quantize, ImportanceIsWrittenReadAndUsed) {
  some_importance().write(out("im.gguf"));
  const Importance im = Importance::read(out("im.gguf"));
  ASSERT_EQ(im.of_matrix.size(), 1u);
  const std::vector<float> w = im.weights("blk.0.ffn_up_exps.weight", 2, 256);
  EXPECT_EQ(w[0], 100);
  EXPECT_EQ(w[1], 1);
  EXPECT_EQ(w[256], 1);  // an expert that saw nothing
  EXPECT_TRUE(im.weights("output.weight", 1, 256).empty());
  const auto error_of_important = [&](const Importance* importance) {
    run(in(), out(), {.type = TargetType::named("q2_k"), .importance = importance});
    const Gguf after = Gguf::open(out());
    const std::vector<float> got = decoded(after.tensor("blk.0.ffn_up_exps.weight"));
    const std::vector<float>& want = values_.at("blk.0.ffn_up_exps.weight");
    double error = 0;
    for (size_t i = 0; i < 3 * 256; i += 8) error += std::pow(got[i] - want[i], 2);
    return error;
  };
  EXPECT_LT(error_of_important(&im), 0.5 * error_of_important(nullptr));
}

TEST_F(Quantize, BadInputIsNamed) {
  const QuantizeOptions q4{.type = TargetType::named("q4_0")};
  EXPECT_THAT(error_of([&] { run(in(), in(), q4); }), HasSubstr("is the file that is read"));
  EXPECT_THAT(error_of([&] { run(in(), folder_ / "no/such/folder.gguf", q4); }),
              HasSubstr("cannot be written"));
  EXPECT_THAT(error_of([] { TargetType::named("q4_K"); }),
              HasSubstr("want one of f32, f16, bf16, q4_0"));
  EXPECT_THAT(error_of([] { TargetType::named("q8_32"); }), HasSubstr("no encoding of GGUF files"));
  EXPECT_THAT(error_of([&] { Importance::read(in()); }),
              HasSubstr("not an importance matrix; got general.type 'none'"));
  Importance other = some_importance();
  other.of_matrix["output.weight"] = {.experts = 1, .k = 3, .sums = {1, 2, 3}, .counts = {1}};
  EXPECT_THAT(error_of([&] { run(in(), out(), {.type = q4.type, .importance = &other}); }),
              HasSubstr("importance of 'output.weight': made for another matrix; got 1 x 3"));
  // Nothing is left of a file that was not finished.
  EXPECT_FALSE(fs::exists(out()));
  EXPECT_FALSE(fs::exists(out() + ".part"));
  Importance negative = some_importance();
  negative.of_matrix.begin()->second.sums[3] = -1;
  negative.write(out("bad.gguf"));
  EXPECT_THAT(error_of([&] { Importance::read(out("bad.gguf")); }),
              HasSubstr("holds a number that is no sum of squares; got -1"));
  test::GgufWriter old({.version = 1});
  old.add("general.architecture", std::string("llama"));
  old.write(out("old.gguf"));
  EXPECT_THAT(error_of([&] { run(out("old.gguf"), out(), q4); }), HasSubstr("version 1"));
}

}  // namespace
}  // namespace lamella::gguf
