// Vectors without any instruction set: four lanes, left to the compiler.
#pragma once

#include <cstdint>
#include <cstring>

#include "lamella/base/numeric.h"

namespace lamella::cpu {
namespace {

struct Scalar {
  static constexpr int kLanes = 4, kBytes = 16;
  static constexpr int kTileRows = 2, kTileVectors = 2, kExactRows = 4, kExactVectors = 2;
  static constexpr int kMaxUnsignedCode = 255;

  struct I {
    int32_t lane[4];
  };
  struct F {
    float lane[4];
  };
  struct Parts {
    float part[16];
  };

  template <class V, class Make>
  static V make(Make value) {
    return V{{value(0), value(1), value(2), value(3)}};
  }

  static I zero_ints() { return {}; }
  static I load_ints(const void* at) {
    I result;
    std::memcpy(&result, at, sizeof result);
    return result;
  }
  static I load_once(const void* at) { return load_ints(at); }
  static I broadcast4(const void* at) {
    int32_t four;
    std::memcpy(&four, at, sizeof four);
    return {{four, four, four, four}};
  }
  template <bool kSigned>
  static I dot(I sum, I w, I x) {
    static_assert(!kSigned);
    uint8_t a[16];
    int8_t b[16];
    std::memcpy(a, &w, 16);
    std::memcpy(b, &x, 16);
    return make<I>([&](int i) {
      return sum.lane[i] + a[4 * i] * b[4 * i] + a[4 * i + 1] * b[4 * i + 1] +
             a[4 * i + 2] * b[4 * i + 2] + a[4 * i + 3] * b[4 * i + 3];
    });
  }

  template <bool kSigned>
  static I dot_at(I sum, I w, const void* x) {
    return dot<kSigned>(sum, w, load_ints(x));
  }

  static F zero() { return {}; }
  static F set1(float x) { return {{x, x, x, x}}; }
  static F load(const float* at) {
    F result;
    std::memcpy(&result, at, sizeof result);
    return result;
  }
  static void store(float* at, F x) { std::memcpy(at, &x, sizeof x); }
  static F convert(I x) {
    return make<F>([&](int i) { return static_cast<float>(x.lane[i]); });
  }
  static F add(F a, F b) {
    return make<F>([&](int i) { return a.lane[i] + b.lane[i]; });
  }
  static F mul(F a, F b) {
    return make<F>([&](int i) { return a.lane[i] * b.lane[i]; });
  }
  static F fma(F a, F b, F c) { return add(c, mul(a, b)); }
  static F fnma(F a, F b, F c) {
    return make<F>([&](int i) { return c.lane[i] - a.lane[i] * b.lane[i]; });
  }
  static float sum(F x) { return (x.lane[0] + x.lane[2]) + (x.lane[1] + x.lane[3]); }

  static Parts load_parts(const float* at) {
    Parts result;
    std::memcpy(&result, at, sizeof result);
    return result;
  }
  static Parts mul_parts(const Parts& a, const Parts& b) {
    Parts result;
    for (int i = 0; i < 16; ++i) result.part[i] = a.part[i] * b.part[i];
    return result;
  }
  static F subtract_parts(const Parts& a, const Parts& b, F c) {
    for (int i = 0; i < 16; ++i) c.lane[i % 4] -= a.part[i] * b.part[i];
    return c;
  }
  // The scales of the lanes of the sum i.
  template <class Unpack, int i>
  static F pick(const Parts& scales) {
    return set1(scales.part[i * Unpack::kChain]);
  }

  // The largest of n values as bits without the sign: NaN is larger than all.
  static uint32_t max_magnitude(const float* x, int n) {
    uint32_t largest = 0;
    for (int i = 0; i < n; ++i) {
      uint32_t bits;
      std::memcpy(&bits, x + i, 4);
      bits &= 0x7fffffffu;
      largest = bits > largest ? bits : largest;
    }
    return largest;
  }
  // x * factor rounded to even, |x * factor| < 128, as bytes; returns their sum.
  static int16_t round16(const float* x, float factor, uint8_t* out) {
    constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: leaves the integer in the low bits
    int sum = 0;
    for (int i = 0; i < 16; ++i) {
      const float moved = x[i] * factor + kMagic;
      int32_t bits;
      std::memcpy(&bits, &moved, 4);
      const int code = bits - 0x4b400000;
      out[i] = static_cast<uint8_t>(code);
      sum += code;
    }
    return static_cast<int16_t>(sum);
  }

  static void transpose16(const void* in, int64_t in_stride, void* out, int64_t out_stride) {
    const auto* from = static_cast<const uint8_t*>(in);
    auto* to = static_cast<uint8_t*>(out);
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 16; ++j) {
        std::memcpy(to + (i * out_stride + j) * 4, from + (j * in_stride + i) * 4, 4);
      }
    }
  }

  static F load_f16(const uint8_t* at) {
    F result;
    widen_f16(at, 4, result.lane);
    return result;
  }
  static F load_bf16(const uint8_t* at) {
    F result;
    widen_bf16(at, 4, result.lane);
    return result;
  }
  static void widen_f16(const uint8_t* at, int64_t n, float* out) {
    for (int64_t i = 0; i < n; ++i) {
      f16 value;
      std::memcpy(&value, at + i * 2, 2);
      out[i] = static_cast<float>(value);
    }
  }
  static void widen_bf16(const uint8_t* at, int64_t n, float* out) {
    for (int64_t i = 0; i < n; ++i) {
      bf16 value;
      std::memcpy(&value, at + i * 2, 2);
      out[i] = static_cast<float>(value);
    }
  }
};

}  // namespace
}  // namespace lamella::cpu
