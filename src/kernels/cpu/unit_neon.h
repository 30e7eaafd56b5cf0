// Vectors of NEON with dot products of bytes (Armv8.2). For files compiled for it only.
#pragma once

#include <arm_neon.h>

#include <cstdint>

namespace lamella::cpu {
namespace {

struct Neon {
  static constexpr int kLanes = 4, kBytes = 16;
  static constexpr int kTileRows = 3, kTileVectors = 4, kExactRows = 6, kExactVectors = 4;
  // Dot products are of signed bytes.
  static constexpr int kMaxUnsignedCode = 127;
  using I = int32x4_t;
  using F = float32x4_t;
  struct Eight {
    F v[2];
  };
  struct Parts {
    Eight half[2];
  };

  static I zero_ints() { return vdupq_n_s32(0); }
  static I load_ints(const void* at) {
    return vreinterpretq_s32_u8(vld1q_u8(static_cast<const uint8_t*>(at)));
  }
  static I load_once(const void* at) { return load_ints(at); }
  static I broadcast4(const void* at) {
    int32_t four;
    __builtin_memcpy(&four, at, sizeof four);
    return vdupq_n_s32(four);
  }
  template <bool kSigned>
  static I dot(I sum, I w, I x) {
    return vdotq_s32(sum, vreinterpretq_s8_s32(w), vreinterpretq_s8_s32(x));
  }
  template <bool kSigned>
  static I dot_at(I sum, I w, const void* x) {
    return dot<kSigned>(sum, w, load_ints(x));
  }

  static F zero() { return vdupq_n_f32(0); }
  static F set1(float x) { return vdupq_n_f32(x); }
  static F load(const float* at) { return vld1q_f32(at); }
  static void store(float* at, F x) { vst1q_f32(at, x); }
  static F convert(I x) { return vcvtq_f32_s32(x); }
  static F add(F a, F b) { return vaddq_f32(a, b); }
  static F mul(F a, F b) { return vmulq_f32(a, b); }
  static F fma(F a, F b, F c) { return vfmaq_f32(c, a, b); }
  static F fnma(F a, F b, F c) { return vfmsq_f32(c, a, b); }
  static float sum(F x) { return vaddvq_f32(x); }

  static Eight load_eight(const float* at) { return {{load(at), load(at + 4)}}; }
  static Parts load_parts(const float* at) { return {{load_eight(at), load_eight(at + 8)}}; }
  static Parts mul_parts(const Parts& a, const Parts& b) {
    return {{times(a.half[0], b.half[0]), times(a.half[1], b.half[1])}};
  }
  static F subtract_parts(const Parts& a, const Parts& b, F c) {
    for (int i = 0; i < 4; ++i) c = fnma(a.half[i / 2].v[i % 2], b.half[i / 2].v[i % 2], c);
    return c;
  }
  // c - or + the upper half.
  template <bool kPlus>
  static F add_mins(const Parts& pairs, F c) {
    const F sum = add(pairs.half[1].v[0], pairs.half[1].v[1]);
    return kPlus ? vaddq_f32(c, sum) : vsubq_f32(c, sum);
  }
  // The scale of the lanes of the sum i.
  template <class Unpack, int i>
  static F pick(const Parts& scales) {
    constexpr int part = i * Unpack::kChain / (Unpack::kPairs ? 2 : 1);
    return vdupq_laneq_f32(scales.half[part / 8].v[part % 8 / 4], part % 4);
  }

  // The largest of n values (a multiple of 4) as bits without the sign: NaN is larger than all.
  static uint32_t max_magnitude(const float* x, int n) {
    uint32x4_t largest = vdupq_n_u32(0);
    for (int i = 0; i < n; i += 4) {
      largest = vmaxq_u32(largest, vreinterpretq_u32_f32(vabsq_f32(load(x + i))));
    }
    return vmaxvq_u32(largest);
  }
  // x * factor rounded to even, |x * factor| < 128, as bytes; returns their sum.
  static int16_t round16(const float* x, float factor, uint8_t* out) {
    const auto four = [&](int i) { return vcvtnq_s32_f32(vmulq_n_f32(load(x + i), factor)); };
    const int16x8_t low = vcombine_s16(vmovn_s32(four(0)), vmovn_s32(four(4)));
    const int16x8_t high = vcombine_s16(vmovn_s32(four(8)), vmovn_s32(four(12)));
    vst1q_u8(out, vreinterpretq_u8_s8(vcombine_s8(vmovn_s16(low), vmovn_s16(high))));
    return vaddvq_s16(vaddq_s16(low, high));
  }

  // 4 x 4 numbers.
  static void transpose4(const float* in, int64_t in_stride, float* out, int64_t out_stride) {
    const F a = load(in), b = load(in + in_stride);
    const F c = load(in + 2 * in_stride), d = load(in + 3 * in_stride);
    const F ac = vzip1q_f32(a, c), bd = vzip1q_f32(b, d);
    const F ac_high = vzip2q_f32(a, c), bd_high = vzip2q_f32(b, d);
    store(out, vzip1q_f32(ac, bd));
    store(out + out_stride, vzip2q_f32(ac, bd));
    store(out + 2 * out_stride, vzip1q_f32(ac_high, bd_high));
    store(out + 3 * out_stride, vzip2q_f32(ac_high, bd_high));
  }
  static void transpose16(const void* in, int64_t in_stride, void* out, int64_t out_stride) {
    const auto* from = static_cast<const float*>(in);
    auto* to = static_cast<float*>(out);
    for (int i = 0; i < 16; i += 4) {
      for (int j = 0; j < 16; j += 4) {
        transpose4(from + j * in_stride + i, in_stride, to + i * out_stride + j, out_stride);
      }
    }
  }

  static F load_f16(const uint8_t* at) { return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(at))); }
  static F load_bf16(const uint8_t* at) {
    return vreinterpretq_f32_u32(vshll_n_u16(vreinterpret_u16_u8(vld1_u8(at)), 16));
  }
  static void widen_f16(const uint8_t* at, int64_t n, float* out) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) store(out + i, load_f16(at + i * 2));
    for (; i < n; ++i) out[i] = f16_at(at + i * 2);
  }
  static void widen_bf16(const uint8_t* at, int64_t n, float* out) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) store(out + i, load_bf16(at + i * 2));
    for (; i < n; ++i) {
      const uint32_t wide = uint32_t{word(at + i * 2)} << 16;
      __builtin_memcpy(out + i, &wide, 4);
    }
  }

  // What unpackers are written with: 32 bytes, and eight floats.
  struct Bytes {
    uint8x16_t v[2];
  };

  static Bytes bytes_at(const uint8_t* at) { return {{vld1q_u8(at), vld1q_u8(at + 16)}}; }
  // 16 bytes: their low halves, then their high halves.
  static Bytes halves_at(const uint8_t* at) {
    const uint8x16_t bytes = vld1q_u8(at);
    return {{vandq_u8(bytes, vdupq_n_u8(15)), vshrq_n_u8(bytes, 4)}};
  }
  // So for the first eight bytes, then for the others.
  static Bytes halves_by_8_at(const uint8_t* at) {
    const Bytes halves = halves_at(at);
    const uint64x2_t low = vreinterpretq_u64_u8(halves.v[0]);
    const uint64x2_t high = vreinterpretq_u64_u8(halves.v[1]);
    return {
        {vreinterpretq_u8_u64(vzip1q_u64(low, high)), vreinterpretq_u8_u64(vzip2q_u64(low, high))}};
  }
  // 8 bytes: four fields of 2 bits each.
  static Bytes quarters_at(const uint8_t* at) {
    const uint16x8_t words = vmovl_u8(vld1_u8(at));
    const auto four = [](uint16x4_t half) {
      const uint32x4_t x = vmovl_u16(half), two = vorrq_u32(x, vshlq_n_u32(x, 6));
      const uint32x4_t all = vorrq_u32(two, vshlq_n_u32(two, 12));
      return vandq_u8(vreinterpretq_u8_u32(all), vdupq_n_u8(3));
    };
    return {{four(vget_low_u16(words)), four(vget_high_u16(words))}};
  }
  // 32 bits: a byte with all bits set, or none, for each.
  static Bytes bits_at(const uint8_t* at) {
    const uint8x16_t bytes = vreinterpretq_u8_s32(broadcast4(at));
    const uint8x16_t bit = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201u));
    const uint8x16_t first = vcombine_u8(vdup_n_u8(0), vdup_n_u8(1));
    const uint8x16_t second = vaddq_u8(first, vdupq_n_u8(2));
    return {{vtstq_u8(vqtbl1q_u8(bytes, first), bit), vtstq_u8(vqtbl1q_u8(bytes, second), bit)}};
  }
  static Bytes fill(int byte) {
    const uint8x16_t bytes = vdupq_n_u8(static_cast<uint8_t>(byte));
    return {{bytes, bytes}};
  }
  static Bytes both(Bytes a, Bytes b) {
    return {{vandq_u8(a.v[0], b.v[0]), vandq_u8(a.v[1], b.v[1])}};
  }
  static Bytes either(Bytes a, Bytes b) {
    return {{vorrq_u8(a.v[0], b.v[0]), vorrq_u8(a.v[1], b.v[1])}};
  }
  static Bytes low4(Bytes x) { return both(x, fill(15)); }
  static Bytes high4(Bytes x) { return shift<-4>(x); }
  // Each byte's bits moved to the left, or right where n < 0; those that come in are to be masked.
  template <int n>
  static Bytes shift(Bytes x) {
    if constexpr (n < 0) {
      return {{vshrq_n_u8(x.v[0], -n), vshrq_n_u8(x.v[1], -n)}};
    } else {
      return {{vshlq_n_u8(x.v[0], n), vshlq_n_u8(x.v[1], n)}};
    }
  }
  // The 16 values, raised by `offset`, at indices below 16.
  static Bytes look_up(const int8_t* values, int offset, Bytes index) {
    const uint8x16_t table = vreinterpretq_u8_s8(vld1q_s8(values));
    const uint8x16_t raised = vaddq_u8(table, vdupq_n_u8(static_cast<uint8_t>(offset)));
    return {{vqtbl1q_u8(raised, index.v[0]), vqtbl1q_u8(raised, index.v[1])}};
  }
  static void store_bytes(uint8_t* at, Bytes x) {
    vst1q_u8(at, x.v[0]);
    vst1q_u8(at + 16, x.v[1]);
  }
  static I ints(Bytes x, int i) { return vreinterpretq_s32_u8(x.v[i]); }

  static Eight spread(float x) { return {{set1(x), set1(x)}}; }
  static Eight times(Eight a, Eight b) { return {{mul(a.v[0], b.v[0]), mul(a.v[1], b.v[1])}}; }
  static void store_eight(float* at, Eight x) {
    store(at, x.v[0]);
    store(at + 4, x.v[1]);
  }
  static Eight from_u16(uint16x8_t words) {
    return {{vcvtq_f32_u32(vmovl_u16(vget_low_u16(words))),
             vcvtq_f32_u32(vmovl_u16(vget_high_u16(words)))}};
  }
  static Eight from_u8(uint64_t bytes) { return from_u16(vmovl_u8(vcreate_u8(bytes))); }
  static Eight from_i8(uint64_t bytes) {
    const int16x8_t words = vmovl_s8(vcreate_s8(bytes));
    return {{convert(vmovl_s16(vget_low_s16(words))), convert(vmovl_s16(vget_high_s16(words)))}};
  }
  static uint16_t word(const uint8_t* at) {
    uint16_t bits;
    __builtin_memcpy(&bits, at, 2);
    return bits;
  }
  static Eight from_f16(uint16x8_t bits) {
    const float16x8_t x = vreinterpretq_f16_u16(bits);
    return {{vcvt_f32_f16(vget_low_f16(x)), vcvt_high_f32_f16(x)}};
  }
  static float f16_at(const uint8_t* at) {
    return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(word(at)))), 0);
  }
  // Eight f16, `repeat` times the one at each multiple of `stride`.
  template <int stride, int repeat = 1>
  static Eight f16s_at(const uint8_t* at) {
    const auto bits = [&](int i) { return word(at + i / repeat * stride); };
    const uint16x8_t words = {bits(0), bits(1), bits(2), bits(3),
                              bits(4), bits(5), bits(6), bits(7)};
    return from_f16(words);
  }
  // 2^(e - 128) of eight bytes e: subnormal for e < 2.
  static Eight half_powers(uint64_t exponents) {
    const uint16x8_t words = vmovl_u8(vcreate_u8(exponents));
    const auto four = [](uint16x4_t half) {
      const uint32x4_t e = vmovl_u16(half), two = vdupq_n_u32(2);
      const uint32x4_t normal = vshlq_n_u32(vsubq_u32(e, vdupq_n_u32(1)), 23);
      const uint32x4_t tiny = vshlq_u32(vdupq_n_u32(0x200000), vreinterpretq_s32_u32(e));
      return vreinterpretq_f32_u32(vbslq_u32(vcltq_u32(e, two), tiny, normal));
    };
    return {{four(vget_low_u16(words)), four(vget_high_u16(words))}};
  }
  // Half of eight E4M3 numbers without sign, 0x7f being 0 (quant/nvfp4.h): as f16 their exponents
  // are 8 too low.
  static Eight half_e4m3(uint64_t bytes) {
    const uint16x8_t wide = vmovl_u8(vcreate_u8(bytes)), mask = vdupq_n_u16(0x7f);
    const uint16x8_t bits = vshlq_n_u16(vandq_u16(wide, mask), 7);
    return times(from_f16(vbicq_u16(bits, vceqq_u16(wide, mask))), spread(128.0f));
  }
};

}  // namespace
}  // namespace lamella::cpu
