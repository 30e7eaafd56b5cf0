// Formats of several planes against the bytes and values of MLX and ONNX Runtime.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "lamella/quant/format.h"
#include "tests/support/golden.h"

namespace lamella::quant {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes from_hex(const std::string& text) {
  Bytes out;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    out.push_back(static_cast<uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return out;
}

std::vector<float> floats(const std::string& hex) {
  const Bytes bytes = from_hex(hex);
  std::vector<float> out(bytes.size() / 4);
  std::memcpy(out.data(), bytes.data(), out.size() * 4);
  return out;
}

void expect_same(const std::vector<float>& got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i]))
      ASSERT_TRUE(std::isnan(got[i])) << i;
    else
      ASSERT_EQ(got[i], want[i]) << i;
  }
}

// A number of rows in planes of their own.
struct Rows {
  const Format& format;
  int64_t n, k;
  std::vector<Bytes> planes;

  MutableBlockPtr row(int64_t r) {
    MutableBlockPtr at{};
    for (size_t p = 0; p < planes.size(); ++p)
      at[p] = planes[p].data() + r * format.blocks(k) * format.planes[p].block_bytes;
    return at;
  }
  std::vector<float> decoded() {
    std::vector<float> out(static_cast<size_t>(n * k));
    for (int64_t r = 0; r < n; ++r) {
      const MutableBlockPtr at = row(r);
      decode_row(format, {at[0], at[1], at[2], at[3]}, k, out.data() + r * k);
    }
    return out;
  }
};

TEST(PlaneFormats, AgreeWithOtherLibraries) {
  std::ifstream file(test::golden_dir() / "quant/planes.json");
  const auto all = nlohmann::json::parse(file);
  std::set<std::string> seen;
  for (const auto& [key, entry] : all.at("formats").items()) {
    SCOPED_TRACE(key);
    const Format* format = find_format(key.substr(0, key.find('#')));
    ASSERT_NE(format, nullptr);
    seen.insert(std::string(format->name));
    const std::vector<float> want = floats(entry.at("values"));
    const int64_t n = entry.at("rows");
    Rows rows{*format, n, static_cast<int64_t>(want.size()) / n, {}};
    int p = 0;
    for (const std::string hex : entry.at("planes")) {
      rows.planes.push_back(from_hex(hex));
      ASSERT_EQ(rows.planes.back().size(),
                static_cast<size_t>(n * format->blocks(rows.k) * format->planes[p++].block_bytes));
    }
    ASSERT_EQ(p, format->n_planes);
    expect_same(rows.decoded(), want);
    if (!entry.contains("source")) continue;
    const std::vector<float> source = floats(entry.at("source"));
    Rows made = rows;
    for (Bytes& plane : made.planes) plane.assign(plane.size(), 0xaa);
    for (int64_t r = 0; r < n; ++r)
      encode_row(*format, source.data() + r * rows.k, rows.k, made.row(r));
    expect_same(made.decoded(), want);
    EXPECT_EQ(made.planes, rows.planes);
  }
  // Every format of files that is not GGUF's, the other types of integer blocks' scales aside.
  for (const Format& format : formats()) {
    if (format.gguf_type != Format::kNoGguf || format.name.substr(0, 2) == "q8") continue;
    const bool is_int = format.name.substr(0, 3) == "int";
    if (is_int && format.name.find("f32") == std::string_view::npos) continue;
    EXPECT_TRUE(seen.count(std::string(format.name))) << format.name;
  }
}

// The types of scales differ in nothing but the rounding of the scale.
TEST(PlaneFormats, ScalesOfAnyType) {
  for (const Format& format : formats()) {
    const size_t type = format.name.rfind("_f32");
    if (format.name.substr(0, 3) != "int" || type == std::string_view::npos) continue;
    std::vector<float> values(static_cast<size_t>(format.block));
    // Integers with a largest of 2^n: scales that every type holds.
    for (int i = 0; i < format.block; ++i) values[static_cast<size_t>(i)] = float(i % 16 - 8) * 127;
    for (const char* other : {"_f16", "_bf16"}) {
      const Format* f = find_format(std::string(format.name.substr(0, type)) + other);
      ASSERT_NE(f, nullptr);
      const auto round_trip = [&](const Format& g) {
        Rows rows{g, 1, g.block, {}};
        for (int p = 0; p < g.n_planes; ++p)
          rows.planes.emplace_back(static_cast<size_t>(g.planes[p].block_bytes));
        encode_row(g, values.data(), g.block, rows.row(0));
        return rows.decoded();
      };
      const std::vector<float> a = round_trip(format), b = round_trip(*f);
      for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(b[i], a[i], 8) << f->name;
    }
  }
}

}  // namespace
}  // namespace lamella::quant
