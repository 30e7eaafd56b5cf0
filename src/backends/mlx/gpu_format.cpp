#include "lamella/backends/mlx/gpu_format.h"

#include <algorithm>
#include <iterator>

#include "lamella/base/error.h"
#include "lamella/quant/grids.h"
#include "lamella/quant/iq4_nl.h"
#include "lamella/quant/mxfp4.h"

namespace lamella::on_mlx {
namespace {

constexpr GpuFormat kFormats[] = {
    {"f32", 8, 32,
     "u32 q[8]; four_words(b, q); four_words(b + 16, q + 4);"
     "for (int j = 0; j < 8; ++j) v[j] = f32(q[j]);",
     "", true},
    {"f16", 8, 16,
     "u32 q[4]; four_words(b, q);"
     "for (int j = 0; j < 8; ++j) v[j] = f16(q[j / 2] >> j % 2 * 16 & 0xffff);",
     "", true},
    {"bf16", 8, 16,
     "u32 q[4]; four_words(b, q);"
     "for (int j = 0; j < 8; ++j) v[j] = f32(j % 2 == 0 ? q[j / 2] << 16 : q[j / 2] & "
     "0xffff0000u);",
     "", true},
    {"q4_0", 32, 18,
     "s = f16_at(b); eight q = eight_at(b + 2 + u % 2 * 8, 2);"
     "for (int j = 0; j < 8; ++j) c[j] = (byte_of(q, j) >> u / 2 * 4 & 15) - 8;"},
    {"q4_1", 32, 20,
     "s = f16_at(b); m = -f16_at(b + 2); eight q = eight_at(b + 4 + u % 2 * 8, 4);"
     "for (int j = 0; j < 8; ++j) c[j] = byte_of(q, j) >> u / 2 * 4 & 15;"},
    {"q5_0", 32, 22,
     "s = f16_at(b); u32 top = u32_at(b + 2, 2) >> 8 * u;"
     "eight q = eight_at(b + 6 + u % 2 * 8, 2);"
     "for (int j = 0; j < 8; ++j)"
     "  c[j] = (byte_of(q, j) >> u / 2 * 4 & 15 | int(top >> j & 1) << 4) - 16;"},
    {"q5_1", 32, 24,
     "s = f16_at(b); m = -f16_at(b + 2); u32 top = u32_at(b + 4, 4) >> 8 * u;"
     "eight q = eight_at(b + 8 + u % 2 * 8, 8);"
     "for (int j = 0; j < 8; ++j)"
     "  c[j] = byte_of(q, j) >> u / 2 * 4 & 15 | int(top >> j & 1) << 4;"},
    {"q8_0", 32, 34,
     "s = f16_at(b); eight q = eight_at(b + 2 + 8 * u, 2);"
     "for (int j = 0; j < 8; ++j) c[j] = i8(byte_of(q, j));"},
    {"q2_k", 256, 84,
     "int g = b[u / 2]; s = f16_at(b + 80) * float(g & 15); m = f16_at(b + 82) * float(g >> 4);"
     "eight q = eight_at(b + 16 + u / 16 * 32 + u % 4 * 8, 4);"
     "for (int j = 0; j < 8; ++j) c[j] = byte_of(q, j) >> u % 16 / 4 * 2 & 3;"},
    {"q3_k", 256, 110,
     "int g = u / 2; int sc = b[96 + g % 8] >> g / 8 * 4 & 15 |"
     "  (b[104 + g % 4] >> g / 4 * 2 & 3) << 4;"
     "s = f16_at(b + 108) * float(sc - 32);"
     "eight q = eight_at(b + 32 + u / 16 * 32 + u % 4 * 8, 2), top = eight_at(b + u % 4 * 8, 2);"
     "for (int j = 0; j < 8; ++j)"
     "  c[j] = (byte_of(q, j) >> u % 16 / 4 * 2 & 3) - ((byte_of(top, j) >> u / 4 & 1) ? 0 : 4);"},
    {"q4_k", 256, 144,
     "int g = u / 4; k_header(b, g, &s, &m);"
     "eight q = shifted(eight_at(b + 16 + g / 2 * 32 + u % 4 * 8, 8), g % 2 * 4, 0x0f0f0f0fu);"
     "for (int j = 0; j < 8; ++j) c[j] = byte_of(q, j);"},
    {"q5_k", 256, 176,
     "int g = u / 4; k_header(b, g, &s, &m);"
     "eight q = shifted(eight_at(b + 48 + g / 2 * 32 + u % 4 * 8, 8), g % 2 * 4, 0x0f0f0f0fu),"
     "  top = shifted(eight_at(b + 16 + u % 4 * 8, 8), g, 0x01010101u);"
     "for (int j = 0; j < 8; ++j) c[j] = byte_of(q, j) | byte_of(top, j) << 4;"},
    {"q6_k", 256, 210,
     "int t = u % 16 / 4; s = f16_at(b + 208) * float(i8(b[192 + u / 2]));"
     "eight q = eight_at(b + u / 16 * 64 + t % 2 * 32 + u % 4 * 8, 2),"
     "  top = eight_at(b + 128 + u / 16 * 32 + u % 4 * 8, 2);"
     "for (int j = 0; j < 8; ++j)"
     "  c[j] = (byte_of(q, j) >> t / 2 * 4 & 15 | (byte_of(top, j) >> 2 * t & 3) << 4) - 32;"},
    {"q8_k", 256, 292,
     "s = f32(u32_at(b, 4)); eight q = eight_at(b + 4 + 8 * u, 4);"
     "for (int j = 0; j < 8; ++j) c[j] = i8(byte_of(q, j));"},
    {"iq2_xxs", 256, 66,
     "u32 word = u32_at(b + 2 + u / 4 * 8 + 4, 2);"
     "s = f16_at(b) * (0.5f + float(word >> 28)) * 0.25f;"
     "u32 sign = eight_signs(word >> 7 * (u % 4) & 127);"
     "eights(grid[b[2 + u / 4 * 8 + u % 4]], sign, c);",
     "iq2_xxs"},
    {"iq2_xs", 256, 74,
     "u32 word = u16_at(b + 2 + 2 * u);"
     "s = f16_at(b) * (0.5f + float(b[66 + u / 4] >> u / 2 % 2 * 4 & 15)) * 0.25f;"
     "eights(grid[word & 511], eight_signs(word >> 9), c);",
     "iq2_xs"},
    {"iq3_xxs", 256, 98,
     "u32 word = u32_at(b + 66 + u / 4 * 4, 2);"
     "s = f16_at(b) * (0.5f + float(word >> 28)) * 0.5f;"
     "u32 sign = eight_signs(word >> 7 * (u % 4) & 127);"
     "fours(grid[b[2 + 2 * u]], sign, c); fours(grid[b[3 + 2 * u]], sign >> 4, c + 4);",
     "iq3_xxs"},
    {"iq1_s", 256, 50,
     "u32 word = u16_at(b + 34 + u / 4 * 2);"
     "s = f16_at(b) * float(2 * (word >> 12 & 7) + 1) * 0.125f;"
     "trits(grid[b[2 + u] | (word >> 3 * (u % 4) & 7) << 8], word >> 15, c);",
     "iq1"},
    {"iq4_nl", 32, 18,
     "s = f16_at(b); eight q = eight_at(b + 2 + u % 2 * 8, 2);"
     "for (int j = 0; j < 8; ++j) c[j] = value_at(byte_of(q, j) >> u / 2 * 4 & 15);",
     "iq4"},
    {"iq3_s", 256, 110,
     "int g = u / 4; s = f16_at(b) * float(1 + 2 * (b[106 + g / 2] >> g % 2 * 4 & 15));"
     "u32 sign = b[74 + u]; u32 top = b[66 + u / 4] >> 2 * (u % 4);"
     "fours(grid[b[2 + 2 * u] | (top & 1) << 8], sign, c);"
     "fours(grid[b[3 + 2 * u] | (top >> 1 & 1) << 8], sign >> 4, c + 4);",
     "iq3_s"},
    {"iq2_s", 256, 82,
     "s = f16_at(b) * (0.5f + float(b[74 + u / 4] >> u / 2 % 2 * 4 & 15)) * 0.25f;"
     "eights(grid[b[2 + u] | (b[66 + u / 4] >> u % 4 * 2 & 3) << 8], b[34 + u], c);",
     "iq2_s"},
    {"iq4_xs", 256, 136,
     "int g = u / 4; int ls = b[4 + g / 2] >> g % 2 * 4 & 15 |"
     "  int(u16_at(b + 2) >> 2 * g & 3) << 4;"
     "s = f16_at(b) * float(ls - 32); eight q = eight_at(b + 8 + g * 16 + u % 2 * 8, 8);"
     "for (int j = 0; j < 8; ++j) c[j] = value_at(byte_of(q, j) >> u % 4 / 2 * 4 & 15);",
     "iq4"},
    {"iq1_m", 256, 56,
     "u32 bits = 0; for (int w = 0; w < 4; ++w) bits |= u16_at(b + 48 + 2 * w) >> 12 << 4 * w;"
     "u32 sc = u16_at(b + 48 + u / 8 * 2) >> u / 2 % 4 * 3 & 7;"
     "s = f16(bits) * float(2 * sc + 1) * 0.125f; u32 h = b[32 + u / 2] >> u % 2 * 4 & 15;"
     "trits(grid[b[u] | (h & 7) << 8], h >> 3, c);",
     "iq1"},
    {"tq1_0", 256, 54,
     "s = f16_at(b + 52);"
     "for (int j = 0; j < 8; ++j) {"
     "  int i = 8 * u + j;"
     "  int run = i < 160 ? 32 : i < 240 ? 16 : 4, at = i < 160 ? i : i < 240 ? i - 160 : i - 240;"
     "  u32 q = b[(i < 160 ? 0 : i < 240 ? 32 : 48) + at % run];"
     "  for (int t = at / run; t > 0; --t) q = q * 3 & 255;"
     "  c[j] = int(q * 3 >> 8) - 1; }"},
    {"tq2_0", 256, 66,
     "s = f16_at(b + 64); eight q = eight_at(b + u / 16 * 32 + u % 4 * 8, 2);"
     "for (int j = 0; j < 8; ++j) c[j] = (byte_of(q, j) >> u % 16 / 4 * 2 & 3) - 1;"},
    {"mxfp4", 32, 17,
     "u32 e = b[0]; s = f32(e < 2 ? 0x200000u << e : e - 1 << 23);"
     "eight q = eight_at(b + 1 + u % 2 * 8, 1);"
     "for (int j = 0; j < 8; ++j) c[j] = value_at(byte_of(q, j) >> u / 2 * 4 & 15);",
     "fp4"},
    // E4M3 halved: as f32 bits, the exponent is 7 less its bias of 7, and one less for the half.
    {"nvfp4", 64, 36,
     "u32 e = b[u / 2]; u32 n = e & 127;"
     "s = e == 255 ? 240.0f : n == 127 ? 0.0f : n < 8 ? float(n) * 0.0009765625f"
     "  : f32((n << 20) + (119u << 23));"
     "eight q = eight_at(b + 4 + u / 2 * 8, 4);"
     "for (int j = 0; j < 8; ++j) c[j] = value_at(byte_of(q, j) >> u % 2 * 4 & 15);",
     "fp4"},
    {"q1_0", 128, 18,
     "s = f16_at(b); int q = b[2 + u];"
     "for (int j = 0; j < 8; ++j) c[j] = (q >> j & 1) * 2 - 1;"},
    {"q2_0", 64, 18,
     "s = f16_at(b); u32 q = u16_at(b + 2 + 2 * u);"
     "for (int j = 0; j < 8; ++j) c[j] = int(q >> 2 * j & 3) - 1;"},
};

struct Book {
  std::string_view name;
  std::span<const uint16_t> grid;
  std::span<const int8_t> values;
};

std::span<const Book> books() {
  using namespace quant;
  static const Book all[] = {{"iq2_xxs", kIq2XxsGrid, kIq2Values},
                             {"iq2_xs", kIq2XsGrid, kIq2Values},
                             {"iq2_s", kIq2SGrid, kIq2Values},
                             {"iq3_xxs", kIq3XxsGrid, kIq3XxsValues},
                             {"iq3_s", kIq3SGrid, kIq3SValues},
                             {"iq1", kIq1Grid, {}},
                             {"iq4", {}, kIq4Values},
                             {"fp4", {}, kFp4Values}};
  return all;
}

template <class T>
std::string array_text(std::string_view type, std::string_view name, std::span<const T> numbers) {
  std::string out = "TABLE " + std::string(type) + " " + std::string(name) + "[] = {";
  for (T n : numbers) out += std::to_string(n) + ",";
  return out + "};\n";
}

// Few values are bits of a constant: nothing is read for them.
std::string value_function(std::span<const int8_t> values) {
  std::string out = "FN int value_at(int i) {\n";
  const size_t n_words = (values.size() + 7) / 8;
  for (size_t w = 0; w < n_words; ++w) {
    uint64_t bits = 0;
    for (size_t i = w * 8; i < std::min(values.size(), w * 8 + 8); ++i)
      bits |= static_cast<uint64_t>(static_cast<uint8_t>(values[i])) << i % 8 * 8;
    const std::string guard = w + 1 < n_words ? str("if (i < ", w * 8 + 8, ") ") : "";
    out += str("  ", guard, "return i8((int)(", bits, "ull >> i % 8 * 8 & 255));\n");
  }
  return out + "}\n";
}

}  // namespace

std::span<const GpuFormat> gpu_formats() { return kFormats; }

const GpuFormat* gpu_format(DType dtype) {
  const std::string_view name = dtype.name();
  const auto* found = std::find_if(std::begin(kFormats), std::end(kFormats),
                                   [&](const GpuFormat& f) { return f.name == name; });
  return found == std::end(kFormats) ? nullptr : found;
}

std::string gpu_table(std::string_view name) {
  std::string out;
  for (const Book& book : books()) {
    if (book.name != name) continue;
    if (!book.grid.empty()) out += array_text("u16", "grid", book.grid);
    if (!book.values.empty()) out += value_function(book.values);
  }
  return out;
}

}  // namespace lamella::on_mlx
