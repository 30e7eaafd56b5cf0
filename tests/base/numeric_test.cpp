// The narrow floats against their definition in double arithmetic, over all of their values.
#include "lamella/base/numeric.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace lamella {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

static_assert(f16::from(1.0) == f16{0x3c00} && static_cast<float>(f16{0x3555}) == 0.333251953125f);
static_assert(bf16::from(1.0f) == bf16{0x3f80} && f8e4m3::from(448) == f8e4m3{0x7e});

// The value of `bits` by the definition of a binary float: (-1)^s m 2^e.
template <class T>
double defined_value(uint32_t bits) {
  const FloatLayout& l = T::kLayout;
  const uint32_t mantissa = bits & ((1u << l.mantissa_bits) - 1);
  const int exponent = static_cast<int>(bits >> l.mantissa_bits & ((1u << l.exponent_bits) - 1));
  const bool negative = bits >> (l.mantissa_bits + l.exponent_bits) & 1;
  const double hidden = exponent == 0 ? 0 : 1;
  const double magnitude =
      std::ldexp(hidden + std::ldexp(mantissa, -l.mantissa_bits), std::max(exponent, 1) - l.bias);
  return negative ? -magnitude : magnitude;
}

template <class T>
class NarrowFloat : public testing::Test {};
using Types = testing::Types<f16, bf16, f8e4m3, f8e5m2>;
TYPED_TEST_SUITE(NarrowFloat, Types);

TYPED_TEST(NarrowFloat, EveryValueWidensAndComesBack) {
  using T = TypeParam;
  using Bits = decltype(T::bits);
  const uint32_t sign_bit = 1u << (sizeof(T) * 8 - 1);
  for (uint32_t bits = 0; bits < 2 * sign_bit; ++bits) {
    const T narrow{static_cast<Bits>(bits)};
    const float wide = static_cast<float>(narrow);
    const uint32_t magnitude = bits & (sign_bit - 1);
    ASSERT_EQ(std::signbit(wide), (bits & sign_bit) != 0) << bits;
    if (magnitude <= T::kLayout.max_finite) {
      ASSERT_EQ(static_cast<double>(wide), defined_value<T>(bits)) << bits;
      ASSERT_EQ(T::from(wide), narrow) << bits;
    } else if (magnitude == T::kLayout.infinity && T::kLayout.infinity != T::kLayout.nan) {
      ASSERT_TRUE(std::isinf(wide)) << bits;
      ASSERT_EQ(T::from(wide), narrow) << bits;
    } else {
      ASSERT_TRUE(std::isnan(wide)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(T::from(wide)))) << bits;
      ASSERT_EQ(T::from(wide).bits & sign_bit, bits & sign_bit) << bits;
    }
  }
}

// Between neighbours a < b the border is their exact middle, and the middle goes to the even one.
TYPED_TEST(NarrowFloat, RoundsToNearestEvenFromDouble) {
  using T = TypeParam;
  using Bits = decltype(T::bits);
  const uint32_t sign_bit = 1u << (sizeof(T) * 8 - 1);
  for (uint32_t bits = 0; bits < T::kLayout.max_finite; ++bits) {
    const double middle = (defined_value<T>(bits) + defined_value<T>(bits + 1)) / 2;
    const uint32_t even = bits + (bits & 1);
    for (const uint32_t sign : {0u, sign_bit}) {
      const double s = sign != 0 ? -1 : 1;
      ASSERT_EQ(T::from(s * middle), T{static_cast<Bits>(sign | even)}) << bits;
      ASSERT_EQ(T::from(s * std::nextafter(middle, 0)), T{static_cast<Bits>(sign | bits)}) << bits;
      ASSERT_EQ(T::from(s * std::nextafter(middle, kInf)), T{static_cast<Bits>(sign | (bits + 1))})
          << bits;
    }
  }
}

TYPED_TEST(NarrowFloat, Overflows) {
  using T = TypeParam;
  const FloatLayout& l = T::kLayout;
  const double largest = defined_value<T>(l.max_finite);
  const double step = largest - defined_value<T>(l.max_finite - 1);
  // The middle between the largest value and the first one missing rounds to the even of the two.
  const uint32_t at_middle = l.max_finite & 1 ? l.infinity : l.max_finite;
  EXPECT_EQ(T::from(largest + step / 2).bits, at_middle);
  EXPECT_EQ(T::from(std::nextafter(largest + step / 2, 0)).bits, l.max_finite);
  EXPECT_EQ(T::from(std::nextafter(largest + step / 2, kInf)).bits, l.infinity);
  EXPECT_EQ(T::from(1e300).bits, l.infinity);
  EXPECT_EQ(T::from(kInf).bits, l.infinity);
  EXPECT_EQ(T::from(1e300, Overflow::saturate).bits, l.max_finite);
  EXPECT_EQ(T::from(kInf, Overflow::saturate).bits, l.max_finite);
  EXPECT_EQ(static_cast<float>(T::from(-kInf, Overflow::saturate)), -largest);
  EXPECT_TRUE(std::isnan(static_cast<float>(T::from(kNan, Overflow::saturate))));
  EXPECT_EQ(T::from(std::numeric_limits<double>::denorm_min()).bits, 0);
  EXPECT_EQ(static_cast<float>(T::from(-0.0)), 0.0f);
  EXPECT_TRUE(std::signbit(static_cast<float>(T::from(-1e-300))));
}

TEST(Numeric, KnownBits) {
  EXPECT_EQ(f16::from(65504).bits, 0x7bff);
  EXPECT_EQ(f16::from(65519.99).bits, 0x7bff);
  EXPECT_EQ(f16::from(65520).bits, 0x7c00);
  EXPECT_EQ(f16::from(-2).bits, 0xc000);
  EXPECT_EQ(f16::from(0.1).bits, 0x2e66);
  EXPECT_EQ(f16::from(std::ldexp(1, -24)).bits, 1);
  EXPECT_EQ(f16::from(std::ldexp(1, -25)).bits, 0);
  EXPECT_EQ(bf16::from(3.14159265358979).bits, 0x4049);
  EXPECT_EQ(bf16::from(1.0f + 1.0f / 256).bits, 0x3f80);  // a tie, to even
  EXPECT_EQ(f8e4m3::from(0.001953125).bits, 1);
  EXPECT_EQ(f8e4m3::from(464).bits, 0x7e);
  EXPECT_EQ(f8e4m3::from(465).bits, 0x7f);
  EXPECT_EQ(f8e5m2::from(57344).bits, 0x7b);
  EXPECT_EQ(f8e5m2::from(1.0).bits, 0x3c);
}

// 1 + 2^-11 + 2^-30 lies above a tie of f16, but is rounded onto the tie by way of float.
TEST(Numeric, DoubleIsRoundedOnce) {
  const double x = 1 + std::ldexp(1, -11) + std::ldexp(1, -30);
  EXPECT_EQ(f16::from(x).bits, 0x3c01);
  EXPECT_EQ(f16::from(static_cast<float>(x)).bits, 0x3c00);
}

TEST(Numeric, NansBecomeQuietAndKeepTheirPayload) {
  EXPECT_EQ(std::bit_cast<uint32_t>(static_cast<float>(f16{0xfc01})), 0xffc02000u);
  EXPECT_EQ(std::bit_cast<uint32_t>(static_cast<float>(bf16{0x7f81})), 0x7fc10000u);
  EXPECT_EQ(f16::from(std::bit_cast<float>(0x7fc02000u)).bits, 0x7e01);
}

TEST(Numeric, PowersOfTwo) {
  for (int bits = 0; bits < 255; ++bits) {
    const e8m0 x{static_cast<uint8_t>(bits)};
    EXPECT_EQ(static_cast<double>(x), std::ldexp(1.0, bits - 127));
    for (const auto round : {e8m0::Round::nearest, e8m0::Round::up, e8m0::Round::down}) {
      EXPECT_EQ(e8m0::from(static_cast<float>(x), round), x) << bits;
    }
  }
  EXPECT_TRUE(std::isnan(static_cast<float>(e8m0{255})));
  EXPECT_EQ(e8m0::from(1.49).bits, 127);
  EXPECT_EQ(e8m0::from(1.5).bits, 128);
  EXPECT_EQ(e8m0::from(1.01, e8m0::Round::up).bits, 128);
  EXPECT_EQ(e8m0::from(1.99, e8m0::Round::down).bits, 127);
  EXPECT_EQ(e8m0::from(0).bits, 0);
  EXPECT_EQ(e8m0::from(1e300).bits, 254);
  EXPECT_EQ(e8m0::from(-1).bits, 255);
  EXPECT_EQ(e8m0::from(kNan).bits, 255);
  EXPECT_EQ(e8m0::from(kInf).bits, 255);
}

}  // namespace
}  // namespace lamella
