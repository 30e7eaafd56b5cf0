// Encoding by search: how close it comes on normal data, and that it takes any values.
#include "lamella/quant/search/search_encode.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>
#include <vector>

#include "lamella/base/mapped_file.h"
#include "tests/support/golden.h"

namespace lamella::quant {
namespace {

std::vector<float> round_trip(const Format& f, const std::vector<float>& x,
                              std::span<const float> importance = {}) {
  const auto k = static_cast<int64_t>(x.size());
  std::vector<uint8_t> bytes(static_cast<size_t>(f.blocks(k) * f.block_bytes()) + 1, 0xa5);
  encode_row_best(f, x.data(), importance, k, {bytes.data()});
  EXPECT_EQ(bytes.back(), 0xa5) << "wrote behind the row";
  std::vector<float> back(x.size());
  decode_row(f, {bytes.data()}, k, back.data());
  return back;
}

// Root of the mean squared difference over that of the values.
double relative_error(const std::vector<float>& got, const std::vector<float>& want,
                      std::span<const float> weights = {}) {
  double error = 0, size = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const double w = weights.empty() ? 1 : weights[i], step = double{got[i]} - want[i];
    error += w * step * step;
    size += w * want[i] * want[i];
  }
  return std::sqrt(error / size);
}

std::vector<float> normal_values(size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(n);
  for (float& v : x) v = normal(random);
  return x;
}

struct Bound {
  const char* format;
  double error;
};
// Of normal values. q1_0's is what its codes allow: with signs and the best d for each 128 values
// the squared error is 1 - (2 / pi + (1 - 2 / pi) / 128), and nothing is closer.
constexpr Bound kBounds[] = {
    {"q8_0", .005},    {"q6_k", .017},  {"q5_k", .035},  {"q4_k", .070},   {"iq4_xs", .076},
    {"q4_0", .084},    {"nvfp4", .096}, {"mxfp4", .116}, {"q3_k", .151},   {"iq3_s", .164},
    {"iq3_xxs", .214}, {"iq2_s", .263}, {"q2_k", .293},  {"iq2_xs", .376}, {"iq2_xxs", .421},
    {"iq1_m", .590},   {"q1_0", .602},  {"iq1_s", .663}, {"q2_0", .704},   {"tq1_0", .785},
    {"tq2_0", .785},
};

TEST(SearchEncode, NormalValues) {
  const std::vector<float> x = normal_values(256 * 64, 3);
  for (const Bound& b : kBounds)
    EXPECT_LE(relative_error(round_trip(*find_format(b.format), x), x), b.error) << b.format;
}

// The reference encoder's own bytes for its data, rows of odd sizes and outliers included.
TEST(SearchEncode, CloserThanTheReferenceEncoder) {
  const auto full = test::full_golden_dir();
  const auto folder = (full ? *full : test::golden_dir()) / "quant";
  const auto floats = [&](const std::string& name) {
    const MappedFile file = MappedFile::open((folder / name).string());
    std::vector<float> x(file.bytes().size() / sizeof(float));
    std::memcpy(x.data(), file.bytes().data(), x.size() * sizeof(float));
    return x;
  };
  int n = 0;
  for (const Format& f : formats()) {
    const std::string name(f.name);
    if (f.gguf_type == Format::kNoGguf) continue;
    for (const char* kind : {".enc.f32", ".enc_im.f32"}) {
      if (!std::filesystem::exists(folder / (name + ".src.f32")) ||
          !std::filesystem::exists(folder / (name + kind)))
        continue;
      const std::vector<float> x = floats(name + ".src.f32"), theirs = floats(name + kind);
      std::vector<float> weights;
      if (std::string_view(kind) == ".enc_im.f32") {
        // One row's weights for all rows.
        const std::vector<float> row = floats(name + ".imatrix.f32");
        for (size_t i = 0; i < x.size(); ++i) weights.push_back(row[i % row.size()]);
      }
      const std::vector<float> ours = round_trip(f, x, weights);
      EXPECT_LE(relative_error(ours, x, weights), 1.02 * relative_error(theirs, x, weights))
          << name << kind;
      ++n;
    }
  }
  EXPECT_GE(n, full ? 40 : 12);
}

TEST(SearchEncode, ImportantColumnsComeCloser) {
  const std::vector<float> x = normal_values(256 * 16, 5);
  std::vector<float> weights(x.size());
  for (size_t i = 0; i < x.size(); ++i) weights[i] = i % 8 == 0 ? 100 : 1;
  for (const Bound& b : kBounds) {
    const Format& f = *find_format(b.format);
    const double with = relative_error(round_trip(f, x, weights), x, weights),
                 without = relative_error(round_trip(f, x), x, weights);
    EXPECT_LE(with, without * 1.001) << b.format;
  }
}

TEST(SearchEncode, TakesAnyValues) {
  std::mt19937 random(11);
  for (const Format& f : formats()) {
    if (f.gguf_type == Format::kNoGguf) continue;
    ASSERT_TRUE(can_encode_best(f)) << f.name;
    std::vector<float> x(static_cast<size_t>(2 * f.block + 5));
    for (int round = 0; round < 20; ++round) {
      for (float& v : x) v = std::bit_cast<float>(static_cast<uint32_t>(random()));
      round_trip(f, x);
    }
    const float specials[] = {
        std::numeric_limits<float>::infinity(), -HUGE_VALF, NAN, 0, -0.0f, 3e38f, 1e-45f};
    for (size_t i = 0; i < x.size(); ++i) x[i] = specials[i % 7];
    round_trip(f, x);
    // Nothing, one value, equal values; weights that are all 0.
    std::fill(x.begin(), x.end(), 0.0f);
    for (const float v : round_trip(f, x)) EXPECT_EQ(v, 0.0f) << f.name;
    const std::vector<float> none(x.size(), 0.0f);
    std::fill(x.begin(), x.end(), 0.25f);
    round_trip(f, x, none);
    for (const float v : round_trip(f, x))
      EXPECT_NEAR(v, 0.25f, f.name.substr(0, 3) == "iq1" ? 0.1 : 0.04) << f.name;
  }
}

}  // namespace
}  // namespace lamella::quant
