// The narrow floating-point types as values: f16, bf16, f8e4m3, f8e5m2, e8m0, with exact
// conversions.
//
// A value is its bits: `f16{0x3c00}` is 1.0, `f16::from(1.0)` too. Conversions from float and
// double round once, to nearest even, so double -> f16 has no double rounding. NaNs become quiet
// and keep the top of their payload, as the conversion instructions of x86 and Arm do. Equality is
// equality of bits.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace lamella {

// What becomes of a value beyond the largest finite one: the format's infinity (NaN where it has
// none), or that largest value with the sign kept.
enum class Overflow { special, saturate };

// Layout of a narrow float with a sign bit. `max_finite` and `infinity` are bits without the sign;
// where infinity == nan the format has no infinity.
struct FloatLayout {
  int exponent_bits, mantissa_bits, bias;
  uint32_t max_finite, infinity, nan;
};

namespace numeric_detail {

// x rounded to nearest even in `layout`, as bits.
constexpr uint32_t narrow(const FloatLayout& layout, double x, Overflow overflow) {
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const uint64_t magnitude = bits & ~(uint64_t{1} << 63);
  const uint32_t sign = static_cast<uint32_t>(bits >> 63)
                        << (layout.exponent_bits + layout.mantissa_bits);
  constexpr uint64_t kInfinity = uint64_t{0x7ff} << 52;
  constexpr uint64_t kHidden = uint64_t{1} << 52;
  const int drop = 52 - layout.mantissa_bits;
  if (magnitude > kInfinity) {
    return sign | layout.nan | static_cast<uint32_t>((magnitude & (kHidden - 1)) >> drop);
  }
  // Doubles below 2^-1022 are zero in every narrow format.
  if (magnitude < kHidden) return sign;
  const int exponent = static_cast<int>(magnitude >> 52) - 1023;
  const int min_exponent = 1 - layout.bias;
  const bool subnormal = exponent < min_exponent;
  const int shift = drop + (subnormal ? min_exponent - exponent : 0);
  if (shift > 53) return sign;  // less than half of the smallest subnormal
  const uint64_t mantissa = (magnitude & (kHidden - 1)) | kHidden;
  const uint64_t half = uint64_t{1} << (shift - 1);
  uint64_t rounded = mantissa >> shift;
  const uint64_t rest = mantissa & ((half << 1) - 1);
  if (rest > half || (rest == half && (rounded & 1))) ++rounded;
  // The hidden bit, and a carry out of the mantissa, add one to the exponent field.
  const uint64_t field = subnormal ? 0 : static_cast<uint64_t>(exponent + layout.bias - 1);
  const uint64_t result = (field << layout.mantissa_bits) + rounded;
  if (magnitude == kInfinity || result > layout.max_finite) {
    return sign | (overflow == Overflow::saturate ? layout.max_finite : layout.infinity);
  }
  return sign | static_cast<uint32_t>(result);
}

// The float with these bits in `layout`; every narrow value is a float.
constexpr float widen(const FloatLayout& layout, uint32_t bits) {
  const int width = layout.exponent_bits + layout.mantissa_bits;
  const uint32_t magnitude = bits & ((1u << width) - 1);
  const uint32_t sign = (bits >> width & 1) << 31;
  const int up = 23 - layout.mantissa_bits;
  if (magnitude > layout.max_finite) {
    if (magnitude == layout.infinity && layout.infinity != layout.nan) {
      return std::bit_cast<float>(sign | 0x7f800000u);
    }
    const uint32_t payload = (magnitude & ((1u << layout.mantissa_bits) - 1)) << up;
    return std::bit_cast<float>(sign | 0x7fc00000u | payload);
  }
  const uint32_t exponent = magnitude >> layout.mantissa_bits;
  if (exponent == 0) {
    // magnitude * 2^(1 - bias - mantissa_bits); the power of two is a normal float for all formats
    // but bf16, which has its own conversion.
    const uint32_t unit = static_cast<uint32_t>(128 - layout.bias - layout.mantissa_bits) << 23;
    const float value = static_cast<float>(magnitude) * std::bit_cast<float>(unit);
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
  }
  const uint32_t rebias = static_cast<uint32_t>(127 - layout.bias) << 23;
  return std::bit_cast<float>(sign | ((magnitude << up) + rebias));
}

}  // namespace numeric_detail

// IEEE 754 binary16: largest value 65504, smallest 2^-24.
struct f16 {
  static constexpr FloatLayout kLayout{5, 10, 15, 0x7bff, 0x7c00, 0x7e00};
  uint16_t bits;

  static constexpr f16 from(double x, Overflow overflow = Overflow::special) {
    return {static_cast<uint16_t>(numeric_detail::narrow(kLayout, x, overflow))};
  }
  explicit constexpr operator float() const { return numeric_detail::widen(kLayout, bits); }
  explicit constexpr operator double() const { return static_cast<float>(*this); }
  bool operator==(const f16&) const = default;
};

// The upper half of a float.
struct bf16 {
  static constexpr FloatLayout kLayout{8, 7, 127, 0x7f7f, 0x7f80, 0x7fc0};
  uint16_t bits;

  static constexpr bf16 from(double x, Overflow overflow = Overflow::special) {
    return {static_cast<uint16_t>(numeric_detail::narrow(kLayout, x, overflow))};
  }
  explicit constexpr operator float() const {
    const bool nan = (bits & 0x7fffu) > 0x7f80u;
    return std::bit_cast<float>((uint32_t{bits} << 16) | (nan ? 0x400000u : 0u));
  }
  explicit constexpr operator double() const { return static_cast<float>(*this); }
  bool operator==(const bf16&) const = default;
};

// 8 bits, 4 of exponent, no infinity (OCP E4M3, "fn"): largest value 448, smallest 2^-9, NaN is
// 0x7f and 0xff.
struct f8e4m3 {
  static constexpr FloatLayout kLayout{4, 3, 7, 0x7e, 0x7f, 0x7f};
  uint8_t bits;

  static constexpr f8e4m3 from(double x, Overflow overflow = Overflow::special) {
    return {static_cast<uint8_t>(numeric_detail::narrow(kLayout, x, overflow))};
  }
  explicit constexpr operator float() const { return numeric_detail::widen(kLayout, bits); }
  explicit constexpr operator double() const { return static_cast<float>(*this); }
  bool operator==(const f8e4m3&) const = default;
};

// 8 bits, 5 of exponent (OCP E5M2): largest value 57344, smallest 2^-16, with infinities.
struct f8e5m2 {
  static constexpr FloatLayout kLayout{5, 2, 15, 0x7b, 0x7c, 0x7e};
  uint8_t bits;

  static constexpr f8e5m2 from(double x, Overflow overflow = Overflow::special) {
    return {static_cast<uint8_t>(numeric_detail::narrow(kLayout, x, overflow))};
  }
  explicit constexpr operator float() const { return numeric_detail::widen(kLayout, bits); }
  explicit constexpr operator double() const { return static_cast<float>(*this); }
  bool operator==(const f8e5m2&) const = default;
};

// A power of two, 2^(bits - 127), from 2^-127 to 2^127; 0xff is NaN. It has no sign and no zero.
struct e8m0 {
  // The power of two below, above, or the nearer one (the upper one where x is half-way).
  enum class Round { nearest, up, down };
  uint8_t bits;

  // Values beyond the ends become the end; negative values, NaN and infinity become NaN.
  static constexpr e8m0 from(double x, Round round = Round::nearest) {
    if (!(x >= 0) || x == std::numeric_limits<double>::infinity()) return {0xff};
    const uint64_t pattern = std::bit_cast<uint64_t>(x);
    const uint64_t mantissa = pattern & ((uint64_t{1} << 52) - 1);
    int exponent = static_cast<int>(pattern >> 52) - 1023 + 127;
    const bool upper_half = mantissa >= uint64_t{1} << 51;
    if (round == Round::up ? mantissa != 0 : round == Round::nearest && upper_half) ++exponent;
    return {static_cast<uint8_t>(exponent < 0 ? 0 : exponent > 254 ? 254 : exponent)};
  }
  explicit constexpr operator float() const {
    if (bits == 0xff) return std::numeric_limits<float>::quiet_NaN();
    return std::bit_cast<float>(bits == 0 ? 0x400000u : uint32_t{bits} << 23);
  }
  explicit constexpr operator double() const { return static_cast<float>(*this); }
  bool operator==(const e8m0&) const = default;
};

}  // namespace lamella
