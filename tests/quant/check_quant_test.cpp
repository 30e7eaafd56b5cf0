// Bit-exactness with reference bytes, and that the check notices a wrong bit.
#include "lamella/quant/check_quant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lamella/base/error.h"
#include "tests/support/golden.h"

namespace lamella::quant {
namespace {

namespace fs = std::filesystem;
using Outcome = QuantReport::Outcome;

void expect_all_pass(const fs::path& folder, int at_least) {
  const QuantReport report = check_quant(folder);
  EXPECT_EQ(report.count(Outcome::failed), 0) << report.text();
  EXPECT_GE(report.count(Outcome::passed), at_least) << report.text();
}

TEST(CheckQuant, FormatsAreBitExact) {
  expect_all_pass(test::golden_dir() / "quant", 26);
  EXPECT_EQ(check_quant(test::golden_dir() / "quant").count(Outcome::skipped), 0);
}

TEST(CheckQuant, FormatsAreBitExactOnTheWholeReference) {
  const auto whole = test::full_golden_dir();
  if (!whole) GTEST_SKIP() << "no ../shared/golden";
  expect_all_pass(*whole / "quant", 26);
}

class ChangedGolden : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / (std::string("quant_") + test->name());
    fs::remove_all(folder_);
    fs::copy(test::golden_dir() / "quant", folder_);
    fs::permissions(folder_, fs::perms::owner_all);
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const std::string& name, std::string_view text) const {
    fs::remove(folder_ / name);
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream in(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string failure(const std::string& format) const {
    for (const auto& entry : check_quant(folder_).entries) {
      if (entry.format == format && entry.outcome == Outcome::failed) return entry.detail;
    }
    return "no failure";
  }
  fs::path folder_;
};

TEST_F(ChangedGolden, OneWrongBitFails) {
  std::string bytes = read("q4_k.raw");
  bytes[300] ^= 1;
  write("q4_k.raw", bytes);
  EXPECT_THAT(failure("q4_k"), testing::StartsWith("decode of raw, element 640"));
  bytes = read("q8_0.enc");
  const std::string values = read("q8_0.enc.f32");
  bytes[5] ^= 1;
  write("q8_0.enc", bytes);
  EXPECT_THAT(failure("q8_0"), testing::StartsWith("decode of enc, element 3"));
  bytes[5] ^= 1;
  write("q8_0.enc", bytes);
  std::string source = read("q8_0.src.f32");
  source[12 + 3] ^= 0x80;
  write("q8_0.src.f32", source);
  EXPECT_THAT(failure("q8_0"), testing::StartsWith("encode, element 5: got "));
  write("q4_0.raw", "odd");
  EXPECT_EQ(failure("q4_0"), "raw: not whole rows");
}

TEST_F(ChangedGolden, UnknownFormatsAreSkippedByName) {
  write("manifest.json", R"({"formats": {"q9_z": {"type_id": 99, "cols": 32}}})");
  EXPECT_EQ(check_quant(folder_).text(),
            "q9_z      skipped  not in the table of formats\n"
            "0 passed, 0 failed, 1 skipped\n");
}

TEST_F(ChangedGolden, BadManifestsAreUserErrors) {
  write("manifest.json", "{");
  EXPECT_THROW(check_quant(folder_), UserError);
  write("manifest.json", R"({"formats": {"q4_0": {"type_id": 2}}})");
  EXPECT_THROW(check_quant(folder_), UserError);
  write("manifest.json",
        R"({"formats": {"q4_0": {"type_id": 2, "block": 32, "bytes": 18, "cols": 0}}})");
  EXPECT_THAT(failure("q4_0"), testing::HasSubstr("the manifest has another"));
  fs::remove(folder_ / "manifest.json");
  EXPECT_THROW(check_quant(folder_), UserError);
}

}  // namespace
}  // namespace lamella::quant
