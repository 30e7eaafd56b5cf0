// GGUF files that are right: every type, version, byte order, split models, and the real ones where
// they are.
#include "lamella/frontends/gguf/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/support/gguf_writer.h"
#include "tests/support/golden.h"

namespace lamella::gguf {
namespace {

namespace fs = std::filesystem;
using test::GgufWriter;
using testing::ElementsAre;
using Bytes = std::vector<uint8_t>;

GgufWriter all_types(test::GgufOptions options) {
  GgufWriter writer(options);
  writer.add("a.u8", uint8_t{255}).add("a.i8", int8_t{-128}).add("a.u16", uint16_t{65535});
  writer.add("a.i16", int16_t{-32768}).add("a.u32", uint32_t{4000000000}).add("a.i32", int32_t{-7});
  writer.add("a.f32", 0.1f).add("a.true", true).add("a.false", false);
  writer.add("a.string", std::string_view("llama\xff\x00x", 8)).add("a.empty", "");
  writer.add("a.u64", std::numeric_limits<uint64_t>::max()).add("a.i64", int64_t{-1} << 40);
  writer.add("a.f64", 0.1);
  writer.add_array<std::string>("t.tokens", {"<s>", "", "\xc3"});
  writer.add_array<float>("t.scores", {0.5f, -1.0f}).add_array<int32_t>("t.types", {1, -2, 3});
  writer.add_array<bool>("t.flags", {true, false}).add_array<uint64_t>("t.none", {});
  writer.add_tensor("i8", {3}, 24, {1, 2, 255});
  writer.add_tensor("w", {2, 3}, 0, writer.pack<float>({1, 2, 3, 4, 5, 6}));
  writer.add_tensor("q", {2, 1, 64}, 2, Bytes(2 * 2 * 18, 7));
  writer.add_tensor("scalar", {}, 28, writer.pack<double>({2.5}));
  return writer;
}

void expect_all_types(const Gguf& file) {
  EXPECT_EQ(file.get<uint8_t>("a.u8"), 255);
  EXPECT_EQ(file.get<int64_t>("a.u8"), 255);
  EXPECT_EQ(file.get<int>("a.i8"), -128);
  EXPECT_EQ(file.get<uint32_t>("a.u16"), 65535u);
  EXPECT_EQ(file.get<int16_t>("a.i16"), -32768);
  EXPECT_EQ(file.get<uint64_t>("a.u32"), 4000000000u);
  EXPECT_EQ(file.get<int8_t>("a.i32"), -7);  // it fits
  EXPECT_EQ(file.get<float>("a.f32"), 0.1f);
  EXPECT_EQ(file.get<double>("a.f32"), 0.1f);
  EXPECT_EQ(file.get<double>("a.f64"), 0.1);
  EXPECT_EQ(file.get<float>("a.f64"), 0.1f);
  EXPECT_TRUE(file.get<bool>("a.true"));
  EXPECT_FALSE(file.get<bool>("a.false"));
  EXPECT_EQ(file.get<std::string>("a.string"), std::string("llama\xff\x00x", 8));
  EXPECT_EQ(file.get<std::string_view>("a.empty"), "");
  EXPECT_EQ(file.get<uint64_t>("a.u64"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(file.get<int64_t>("a.i64"), int64_t{-1} << 40);
  EXPECT_THAT(file.get<std::vector<std::string>>("t.tokens"), ElementsAre("<s>", "", "\xc3"));
  EXPECT_THAT(file.get<std::vector<float>>("t.scores"), ElementsAre(0.5f, -1.0f));
  EXPECT_THAT(file.get<std::vector<int64_t>>("t.types"), ElementsAre(1, -2, 3));
  EXPECT_THAT(file.get<std::vector<bool>>("t.flags"), ElementsAre(true, false));
  EXPECT_TRUE(file.get<std::vector<uint8_t>>("t.none").empty());
  EXPECT_EQ(file.metadata().size(), 19u);
  EXPECT_EQ(file.metadata()[0].key, "a.u8");
  EXPECT_EQ(file.find("a.missing"), nullptr);
  EXPECT_EQ(file.get_or<int>("a.missing", 5), 5);
  EXPECT_EQ(file.get_if<int>("a.missing"), std::nullopt);
  EXPECT_THAT(file.get_each<int>("t.types", 3), ElementsAre(1, -2, 3));
  EXPECT_THAT(file.get_each<int>("a.u8", 2), ElementsAre(255, 255));
}

TEST(Gguf, ReadsEveryTypeInEveryVersion) {
  for (const uint32_t version : {1u, 2u, 3u}) {
    SCOPED_TRACE(version);
    const Bytes bytes = all_types({.version = version}).bytes();
    const Gguf file = Gguf::view(bytes, "f.gguf");
    EXPECT_EQ(file.version(), version);
    EXPECT_FALSE(file.big_endian());
    expect_all_types(file);
    ASSERT_EQ(file.tensors().size(), 4u);
    const Tensor& w = file.tensor("w");
    EXPECT_THAT(w.dims, ElementsAre(2, 3));
    EXPECT_EQ(w.type_name(), "f32");
    ASSERT_EQ(w.bytes.size(), 24u);
    EXPECT_EQ(w.bytes.data(), bytes.data() + w.file_offset);
    float last;
    std::memcpy(&last, w.bytes.data() + 20, 4);
    EXPECT_EQ(last, 6.0f);
    const Tensor& q = file.tensor("q");
    EXPECT_EQ(q.format, quant::find_format("q4_0"));
    EXPECT_EQ(q.bytes.size(), 72u);
    EXPECT_THAT(q.dims, ElementsAre(2, 1, 64));
    EXPECT_EQ(q.elements(), 128);
    EXPECT_TRUE(file.tensor("scalar").dims.empty());
    EXPECT_EQ(file.find_tensor("missing"), nullptr);
  }
}

TEST(Gguf, BigEndianMetadataIsReadAndDataRefused) {
  const Bytes bytes = all_types({.big_endian = true}).bytes();
  const Gguf file = Gguf::view(bytes, "big.gguf");
  EXPECT_TRUE(file.big_endian());
  expect_all_types(file);
  EXPECT_EQ(file.tensor("i8").bytes[2], 255);
  EXPECT_EQ(file.find_tensor("w")->problem, "big-endian f32 data cannot be used here");
  EXPECT_THROW(file.tensor("q"), UserError);
}

TEST(Gguf, DescribesValues) {
  const Bytes bytes = all_types({}).bytes();
  const Gguf file = Gguf::view(bytes, "f.gguf");
  const auto text = [&](std::string_view key) { return describe(*file.find(key)); };
  EXPECT_EQ(text("a.u8"), "u8 255");
  EXPECT_EQ(text("a.i8"), "i8 -128");
  EXPECT_EQ(text("a.f32"), "f32 0.1");
  EXPECT_EQ(text("a.true"), "bool true");
  EXPECT_EQ(text("a.string"), "string 'llama\\xff\\x00x'");
  EXPECT_EQ(text("t.tokens"), "array of 3 string");
}

TEST(Gguf, AlignmentFromMetadata) {
  GgufWriter writer({.alignment = 128});
  writer.add("general.alignment", uint32_t{128});
  writer.add_tensor("a", {1}, 24, {1}).add_tensor("b", {1}, 24, {2});
  const Bytes bytes = writer.bytes();
  const Gguf file = Gguf::view(bytes, "f.gguf");
  EXPECT_EQ(file.tensor("b").file_offset % 128, 0u);
  EXPECT_EQ(file.tensor("b").bytes[0], 2);
}

TEST(Gguf, UnknownTypesAreListedAndRefusedWhenUsed) {
  GgufWriter writer;
  writer.add_tensor("odd", {7}, 99, Bytes(40)).add_tensor("fine", {1}, 24, {5});
  const Bytes bytes = writer.bytes();
  const Gguf file = Gguf::view(bytes, "f.gguf");
  EXPECT_EQ(file.tensors()[0].type_name(), "type 99");
  EXPECT_EQ(file.tensors()[0].bytes.size(), 64u);
  EXPECT_EQ(file.tensor("fine").bytes[0], 5);
  try {
    file.tensor("odd");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "f.gguf: tensor 'odd': type id 99 is not known here");
  }
}

class SplitModel : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / (std::string("split_") + test->name());
    fs::create_directories(folder_);
    for (int i = 0; i < 3; ++i) write(i, i);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(int part) const { return folder_ / str("m-0000", part + 1, "-of-00003.gguf"); }
  void write(int part, int number, std::string_view tensor = "", uint16_t count = 3) const {
    GgufWriter writer;
    if (part == 0) writer.add("general.name", "whole");
    writer.add("split.no", static_cast<uint16_t>(number)).add("split.count", count);
    writer.add("split.tensors.count", int32_t{3});
    const std::string name = tensor.empty() ? str("t", part) : std::string(tensor);
    writer.add_tensor(name, {1}, 24, {static_cast<uint8_t>(part)});
    writer.write(path(part));
  }
  static std::string error_of(const std::string& path) {
    try {
      Gguf::open(path);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  }
  fs::path folder_;
};

TEST_F(SplitModel, AnyPartOpensAll) {
  for (int part = 0; part < 3; ++part) {
    const Gguf file = Gguf::open(path(part));
    EXPECT_EQ(file.parts(), 3);
    EXPECT_EQ(file.get<std::string>("general.name"), "whole");
    ASSERT_EQ(file.tensors().size(), 3u);
    for (int i = 0; i < 3; ++i) {
      const Tensor& tensor = file.tensor(str("t", i));
      EXPECT_EQ(tensor.part, i);
      EXPECT_EQ(tensor.bytes[0], i);
      EXPECT_EQ(file.file(i)->bytes().data() + tensor.file_offset, tensor.bytes.data());
    }
  }
}

TEST_F(SplitModel, SaysWhatIsWrongWithTheParts) {
  fs::remove(path(1));
  EXPECT_EQ(error_of(path(0)), path(1) + ": cannot open the file; No such file or directory");
  write(1, 2);
  EXPECT_EQ(error_of(path(0)),
            path(1) + ": is not the part its name says; got part 3 of 3; want 2 of 3");
  write(1, 1, "", 2);
  EXPECT_THAT(error_of(path(0)), testing::HasSubstr("got part 2 of 2; want 2 of 3"));
  write(1, 1, "t0");
  EXPECT_EQ(error_of(path(0)),
            path(1) + ": tensor 't0' is there more than once; want different names");
  write(1, 1);
  fs::copy(path(0), folder_ / "other.gguf");
  EXPECT_THAT(error_of(folder_ / "other.gguf"),
              testing::HasSubstr("want it to end in -00001-of-00003.gguf"));
  GgufWriter writer;
  writer.add("split.no", uint16_t{1}).add("split.count", uint16_t{3});
  writer.write(path(1));
  EXPECT_THAT(error_of(path(0)), testing::HasSubstr("got 2 tensors; want 3"));
  const Bytes bytes = writer.bytes();
  EXPECT_THROW(Gguf::view(bytes, "memory"), UserError);
}

// All reference models open; their type counts and hyper-parameters are those that another reader
// found.
TEST(Gguf, ReadsTheReferenceModels) {
  const auto golden = test::full_golden_dir();
  if (!golden) GTEST_SKIP() << "no ../shared/golden";
  int n_files = 0;
  for (const auto& entry : fs::directory_iterator(*golden / "arch")) {
    if (entry.path().extension() != ".gguf") continue;
    SCOPED_TRACE(entry.path().string());
    const Gguf file = Gguf::open(entry.path());
    const auto architecture = file.get<std::string>("general.architecture");
    EXPECT_GT(file.get<int64_t>(architecture + ".block_count"), 0);
    EXPECT_GT(file.get<std::vector<std::string_view>>("tokenizer.ggml.tokens").size(), 10u);
    uint64_t end = 0;
    for (const Tensor& tensor : file.tensors()) {
      EXPECT_EQ(tensor.problem.empty(), tensor.plain != nullptr || tensor.format != nullptr);
      end = std::max(end, tensor.file_offset + tensor.bytes.size());
    }
    EXPECT_LE(end, fs::file_size(entry.path()));
    EXPECT_GT(end + 32, fs::file_size(entry.path()));
    ++n_files;
  }
  EXPECT_GE(n_files, 50);
}

}  // namespace
}  // namespace lamella::gguf
