#include "lamella/base/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace lamella {
namespace {

TEST(Text, Join) {
  EXPECT_EQ(join(std::vector<int>{1, 2, 3}, ", "), "1, 2, 3");
  EXPECT_EQ(join(std::vector<std::string>{}, ", "), "");
  EXPECT_EQ(join(std::vector<std::string>{"a"}, ", "), "a");
}

TEST(Text, EditDistance) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("rsqrt", "rsqrt"), 0);
  EXPECT_EQ(edit_distance("rsqrt", "rqsrt"), 1);  // a swap
}

TEST(Text, NearestSuggestsOnlyWhatIsNear) {
  const std::vector<std::string_view> names{"softmax", "silu", "sigmoid", "--threads"};
  EXPECT_EQ(nearest("sofmax", names), "softmax");
  EXPECT_EQ(nearest("--thread", names), "--threads");
  EXPECT_EQ(nearest("conv2d", names), std::nullopt);
  EXPECT_EQ(nearest(std::string(100000, 'x'), names), std::nullopt);
  EXPECT_EQ(did_you_mean("sigmod", names), "; did you mean 'sigmoid'?");
  EXPECT_EQ(did_you_mean("zzz", names), "");
  EXPECT_EQ(did_you_mean("x", {}), "");
}

TEST(Text, HumanSizes) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1536), "1.50 KiB");
  EXPECT_EQ(human_bytes(uint64_t{5} << 30), "5.00 GiB");
  EXPECT_EQ(human_bytes(134 * 1024 * 1024ull), "134.0 MiB");
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(134515008), "134.5 M");
}

TEST(Text, NumbersRoundTrip) {
  EXPECT_EQ(number_text(0.1f), "0.1");
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(1e-5f), "1e-05");
  EXPECT_EQ(number_text(-std::numeric_limits<double>::infinity()), "-inf");
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t bits = random();
    const auto f = std::bit_cast<float>(static_cast<uint32_t>(bits));
    const auto d = std::bit_cast<double>(bits);
    if (std::isfinite(f)) {
      ASSERT_EQ(parse_float(number_text(f)), f);
    }
    if (std::isfinite(d)) {
      ASSERT_EQ(parse_double(number_text(d)), d);
    }
  }
  EXPECT_TRUE(std::isnan(*parse_float("nan")));
}

TEST(Text, ParsesWholeNumbersOnly) {
  EXPECT_EQ(parse_int("-42"), -42);
  EXPECT_EQ(parse_int("42x"), std::nullopt);
  EXPECT_EQ(parse_int(""), std::nullopt);
  EXPECT_EQ(parse_int("9223372036854775808"), std::nullopt);
  EXPECT_EQ(parse_double("1.5"), 1.5);
  EXPECT_EQ(parse_double("1,5"), std::nullopt);
  EXPECT_EQ(parse_double(" 1"), std::nullopt);
  EXPECT_EQ(parse_float("1e999"), std::nullopt);
}

TEST(Text, Utf8) {
  EXPECT_EQ(utf8_length("a"), 1u);
  EXPECT_EQ(utf8_length("é"), 2u);
  EXPECT_EQ(utf8_length("€"), 3u);
  EXPECT_EQ(utf8_length("😀"), 4u);
  for (const char* bad : {"", "\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
                          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc3", "\xe2\x82"}) {
    EXPECT_EQ(utf8_length(bad), 0u);
  }
}

TEST(Text, PrintableEscapes) {
  EXPECT_EQ(printable("blk.0.é"), "blk.0.é");
  EXPECT_EQ(printable("a\n\x1b[31m\xff'"), "a\\x0a\\x1b[31m\\xff\\'");
  EXPECT_EQ(printable(std::string(1000, 'x'), 3), "xxx…");
}

}  // namespace
}  // namespace lamella
