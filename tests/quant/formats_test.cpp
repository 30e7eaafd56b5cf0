// What holds for every format of the table, and the rows of it that literals can say.
#include "lamella/quant/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <vector>

namespace lamella::quant {
namespace {

// One block's bytes over all planes, one behind the other.
struct Block {
  explicit Block(const Format& format) : bytes(format.block_bytes()) {
    size_t at = 0;
    for (int p = 0; p < format.n_planes; ++p) {
      pointers[p] = bytes.data() + at;
      at += format.planes[p].block_bytes;
    }
  }
  BlockPtr read() const { return {pointers[0], pointers[1], pointers[2], pointers[3]}; }
  std::vector<uint8_t> bytes;
  MutableBlockPtr pointers{};
};

TEST(Formats, NamesAndIdsAreUniqueAndFound) {
  std::set<std::string_view> names;
  std::set<uint32_t> ids;
  for (const Format& format : formats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_EQ(find_format(format.name), &format);
    if (format.gguf_type != Format::kNoGguf) {
      EXPECT_TRUE(ids.insert(format.gguf_type).second) << format.name;
      EXPECT_EQ(find_gguf_format(format.gguf_type), &format);
    }
  }
  EXPECT_EQ(find_format("q4_K"), nullptr);
  EXPECT_EQ(find_gguf_format(Format::kNoGguf), nullptr);
  EXPECT_EQ(find_gguf_format(999), nullptr);
}

// Codes stay in the range that kernels rely on, and decode is the integer view in f32, for any
// bytes. (Formats of other files may have a decode with one rounding less.)
TEST(Formats, DecodeIsTheIntegerView) {
  std::mt19937 random(7);
  for (const Format& format : formats()) {
    if (!format.unpack) continue;
    SCOPED_TRACE(format.name);
    const bool is_gguf = format.gguf_type != Format::kNoGguf;
    Block block(format);
    std::vector<int8_t> codes(format.block);
    std::vector<float> scale(format.block / format.group), min(scale.size()), got(format.block);
    for (int round = 0; round < 200; ++round) {
      for (uint8_t& byte : block.bytes) byte = static_cast<uint8_t>(random());
      format.unpack(block.read(), codes.data(), scale.data(), min.data());
      format.decode(block.read(), got.data());
      for (int i = 0; i < format.block; ++i) {
        if (is_gguf) {
          ASSERT_GE(codes[i], format.min_code) << i;
          ASSERT_LE(codes[i], format.max_code) << i;
        }
        const int g = i / format.group;
        const float product = scale[g] * static_cast<float>(codes[i]);
        const float want = format.has_min ? product - min[g] : product;
        if (!is_gguf && got[i] != want) {
          const float size = 255 * std::fabs(scale[g]) + (format.has_min ? std::fabs(min[g]) : 0);
          if (size < 1e38f) {
            ASSERT_NEAR(got[i], want, size * 0x1p-22) << i;
          }
        } else if (std::isnan(want)) {
          ASSERT_TRUE(std::isnan(got[i])) << i;
        } else {
          ASSERT_EQ(got[i], want) << i;
        }
      }
    }
    if (!format.has_min) format.unpack(block.read(), codes.data(), scale.data(), nullptr);
  }
}

// Encoding never fails, whatever the values, and a decoded block of ordinary values is close to
// them.
TEST(Formats, EncodeTakesAnyValues) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  for (const Format& format : formats()) {
    if (format.encode == nullptr) continue;
    SCOPED_TRACE(format.name);
    Block block(format);
    std::vector<float> values(format.block), got(format.block);
    for (int round = 0; round < 100; ++round) {
      for (float& value : values) value = std::bit_cast<float>(static_cast<uint32_t>(random()));
      format.encode(values.data(), block.pointers);
      for (float& value : values) value = normal(random);
      format.encode(values.data(), block.pointers);
      format.decode(block.read(), got.data());
      double error = 0, norm = 0;
      for (int i = 0; i < format.block; ++i) {
        error += std::pow(got[i] - values[i], 2);
        norm += std::pow(values[i], 2);
      }
      // Near the step of a uniform quantiser over the range of a block of normal values.
      const int levels = format.max_code - format.min_code;
      ASSERT_LT(std::sqrt(error / norm), 5.0 / levels);
    }
    std::fill(values.begin(), values.end(), 0.0f);
    format.encode(values.data(), block.pointers);
    format.decode(block.read(), got.data());
    EXPECT_EQ(got, values);
  }
}

TEST(Formats, PlaneOffsets) {
  const Format& one = *find_format("q4_0");
  EXPECT_EQ(plane_offset(one, 0, 3, 64), 0);
  EXPECT_EQ(plane_offset(one, 1, 3, 64), 3 * 2 * 18);
  const Format& three = *find_format("q8_32");
  // 3 rows of 2 blocks: 192 bytes of codes, 24 of scales (to 256), 24 of sums.
  EXPECT_EQ(plane_offset(three, 1, 3, 40), 192);
  EXPECT_EQ(plane_offset(three, 2, 3, 40), 256);
  EXPECT_EQ(plane_offset(three, 3, 3, 40), 256 + 24);
  EXPECT_EQ(plane_offset(three, 3, 0, 40), 0);
}

// A partial last block reads and writes no value beyond k.
TEST(Formats, RowsWithAPartialBlock) {
  for (const Format& format : formats()) {
    if (format.encode == nullptr) continue;
    SCOPED_TRACE(format.name);
    const int64_t k = format.block + 5;
    std::vector<std::vector<uint8_t>> planes;
    MutableBlockPtr out{};
    BlockPtr in{};
    for (int p = 0; p < format.n_planes; ++p) {
      planes.emplace_back(static_cast<size_t>(2 * format.planes[p].block_bytes));
    }
    for (int p = 0; p < format.n_planes; ++p) in[p] = out[p] = planes[p].data();
    std::vector<float> values(k), got(k + 1, -1.0f);
    for (int64_t i = 0; i < k; ++i) values[i] = static_cast<float>(i % 7) - 3;
    encode_row(format, values.data(), k, out);
    decode_row(format, in, k, got.data());
    EXPECT_EQ(got[k], -1.0f);
    const float step = 8.0f / static_cast<float>(format.max_code - format.min_code);
    for (int64_t i = 0; i < k; ++i) ASSERT_NEAR(got[i], values[i], step) << i;
  }
}

TEST(Formats, Q4_1Literal) {
  // d = 0.5, m = -1: element 0 has code 3, element 16 code 12.
  std::vector<uint8_t> bytes{0x00, 0x38, 0x00, 0xbc};
  bytes.resize(20, 0x00);
  bytes[4] = 0xc3;
  std::vector<float> values(32);
  find_format("q4_1")->decode({bytes.data()}, values.data());
  EXPECT_EQ(values[0], 0.5f);
  EXPECT_EQ(values[16], 5.0f);
  EXPECT_EQ(values[1], -1.0f);
}

class ActivationTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Both, ActivationTest, testing::Values("q8_32", "q8_256"));

TEST_P(ActivationTest, CodesScalesAndSums) {
  const Format& format = *find_format(GetParam());
  Block block(format);
  std::vector<float> x(format.block, 0.0f);
  // The largest magnitude, 127, makes the scale 1, so halves show the rounding to even.
  const float start[] = {-127, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 126.5f, 3.4999f};
  std::copy(std::begin(start), std::end(start), x.begin());
  x[17] = 100.25f;
  format.encode(x.data(), block.pointers);
  const int want[] = {-127, 0, 2, 2, 0, -2, 126, 3};
  const auto* codes = reinterpret_cast<const int8_t*>(block.pointers[0]);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(codes[i], want[i]) << i;
  float scale;
  std::memcpy(&scale, block.pointers[1], 4);
  EXPECT_EQ(scale, 1.0f);
  std::vector<int16_t> sums(format.block / 16);
  std::memcpy(sums.data(), block.pointers[2], sums.size() * 2);
  EXPECT_EQ(sums[0], 4);
  EXPECT_EQ(sums[1], 100);
  for (size_t i = 2; i < sums.size(); ++i) EXPECT_EQ(sums[i], 0);
}

TEST_P(ActivationTest, NothingFiniteIsLostToInfinityOrNan) {
  const Format& format = *find_format(GetParam());
  Block block(format);
  std::vector<float> x(format.block, 1.0f), got(format.block);
  const auto round_trip = [&] {
    format.encode(x.data(), block.pointers);
    format.decode(block.read(), got.data());
  };
  for (const float bad :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN(), -std::nanf("1")}) {
    x[3] = bad;
    round_trip();
    for (const float value : got) ASSERT_TRUE(std::isnan(value));
  }
  std::fill(x.begin(), x.end(), 0x1p-101f);
  round_trip();
  for (const float value : got) ASSERT_EQ(value, 0.0f);
  std::fill(x.begin(), x.end(), 3e38f);
  round_trip();
  for (const float value : got) ASSERT_NEAR(value / 3e38f, 1, 1e-6);
}

}  // namespace
}  // namespace lamella::quant
