// Coders (search/scale_fit.h) of formats whose codes are integers or entries of one table.
#pragma once

#include <cmath>
#include <cstring>

#include "lamella/quant/block.h"
#include "lamella/quant/iq4_nl.h"
#include "lamella/quant/q5_0.h"
#include "lamella/quant/search/scale_fit.h"
#include "lamella/quant/tq1_0.h"

namespace lamella::quant {

template <int kLeast, int kLargest, int kGroupSize, int kGroupCount = 1>
struct IntCoder {
  static constexpr int kLow = kLeast, kTop = kLargest, kGroup = kGroupSize, kGroups = kGroupCount;
  static constexpr float kBase = 1, kStep = 0;
  static constexpr int kMaxS = 0, kTries = 20;
  // Fewer codes, more to gain by cutting the largest values off.
  static constexpr double kMost = 1 + 2.5 / (kLargest - kLeast + 1) + (kLargest < 3 ? 1.2 : 0);

  static void nearest(const float* x, const float*, float inverse, GroupCodes& out) {
    for (int i = 0; i < kGroup; ++i)
      out.code[i] = static_cast<int8_t>(clamp_to_int(std::rint(x[i] * inverse), kLow, kTop));
  }
};

// 2 bits of element 32 t + l of each 128 in byte l.
inline void pack_two_bits(const GroupCodes* codes, int group, int offset, uint8_t* bytes) {
  std::memset(bytes, 0, 64);
  for (int i = 0; i < 256; ++i) {
    const int q = (codes[i / group].code[i % group] + offset) & 3;
    uint8_t& byte = bytes[i / 128 * 32 + i % 32];
    byte = static_cast<uint8_t>(byte | q << (i % 128 / 32 * 2));
  }
}

// The first n / 2 in the low halves.
inline void pack_halves(auto code, int n, uint8_t* bytes) {
  for (int j = 0; j < n / 2; ++j)
    bytes[j] = static_cast<uint8_t>((code(j) & 15) | (code(j + n / 2) & 15) << 4);
}

struct Q4_0Coder : IntCoder<-8, 7, 32> {
  static void pack(float d, const int*, const GroupCodes* g, uint8_t* bytes) {
    store_f16(bytes, d);
    pack_halves([&](int i) { return g->code[i] + 8; }, 32, bytes + 2);
  }
};

struct Q5_0Coder : IntCoder<-16, 15, 32> {
  static void pack(float d, const int*, const GroupCodes* g, uint8_t* bytes) {
    store_f16(bytes, d);
    store_five_bit_codes([&](int i) { return g->code[i] + 16; }, bytes + 2);
  }
};

struct Q8_0Coder : IntCoder<-128, 127, 32> {
  static void pack(float d, const int*, const GroupCodes* g, uint8_t* bytes) {
    store_f16(bytes, d);
    std::memcpy(bytes + 2, g->code, 32);
  }
};

struct Q1_0Coder : IntCoder<-1, 1, 128> {
  static constexpr int kTries = 2;
  static void nearest(const float* x, const float*, float inverse, GroupCodes& out) {
    for (int i = 0; i < 128; ++i) out.code[i] = x[i] * inverse >= 0 ? 1 : -1;
  }
  static void pack(float d, const int*, const GroupCodes* g, uint8_t* bytes) {
    store_f16(bytes, d);
    std::memset(bytes + 2, 0, 16);
    for (int i = 0; i < 128; ++i)
      bytes[2 + i / 8] = static_cast<uint8_t>(bytes[2 + i / 8] | (g->code[i] > 0) << i % 8);
  }
};

struct Q2_0Coder : IntCoder<-1, 2, 64> {
  static void pack(float d, const int*, const GroupCodes* g, uint8_t* bytes) {
    store_f16(bytes, d);
    std::memset(bytes + 2, 0, 16);
    for (int i = 0; i < 64; ++i)
      bytes[2 + i / 4] = static_cast<uint8_t>(bytes[2 + i / 4] | (g->code[i] + 1) << (i % 4 * 2));
  }
};

struct TQ2_0Coder : IntCoder<-1, 2, 256> {
  static void pack(float d, const int*, const GroupCodes* g, uint8_t* bytes) {
    pack_two_bits(g, 256, 1, bytes);
    store_f16(bytes + 64, d);
  }
};

struct TQ1_0Coder : IntCoder<-1, 1, 256> {
  static void pack(float d, const int*, const GroupCodes* g, uint8_t* bytes) {
    TQ1_0::store_trits([&](int i) { return g->code[i] + 1; }, bytes);
    store_f16(bytes + 52, d);
  }
};

struct Q3_KCoder : IntCoder<-4, 3, 16, 16> {
  static constexpr float kBase = -32, kStep = 1;
  static constexpr int kMaxS = 63;
  static void pack(float d, const int* s, const GroupCodes* g, uint8_t* bytes) {
    std::memset(bytes, 0, 108);
    pack_two_bits(g, 16, 4, bytes + 32);
    for (int i = 0; i < 256; ++i)
      bytes[i % 32] = static_cast<uint8_t>(bytes[i % 32] | (g[i / 16].code[i % 16] >= 0) << i / 32);
    uint8_t* packed = bytes + 96;
    for (int i = 0; i < 16; ++i) {
      packed[i % 8] = static_cast<uint8_t>(packed[i % 8] | (s[i] & 15) << (i / 8 * 4));
      packed[8 + i % 4] = static_cast<uint8_t>(packed[8 + i % 4] | s[i] >> 4 << (i / 4 * 2));
    }
    store_f16(bytes + 108, d);
  }
};

struct Q6_KCoder : IntCoder<-32, 31, 16, 16> {
  static constexpr float kBase = -128, kStep = 1;
  static constexpr int kMaxS = 255;
  static void pack(float d, const int* s, const GroupCodes* g, uint8_t* bytes) {
    std::memset(bytes, 0, 192);
    for (int i = 0; i < 256; ++i) {
      const int q = g[i / 16].code[i % 16] + 32, half = i / 128, t = i % 128 / 32, l = i % 32;
      uint8_t& low = bytes[half * 64 + l + t % 2 * 32];
      uint8_t& high = bytes[128 + half * 32 + l];
      low = static_cast<uint8_t>(low | (q & 15) << (t / 2 * 4));
      high = static_cast<uint8_t>(high | q >> 4 << (2 * t));
    }
    for (int i = 0; i < 16; ++i) bytes[192 + i] = static_cast<uint8_t>(s[i] - 128);
    store_f16(bytes + 208, d);
  }
};

// Codes are values of the table; `index` has no room for their places, which pack looks up.
template <int kGroupCount>
struct Iq4Coder : IntCoder<-127, 113, 32, kGroupCount> {
  static constexpr double kMost = 1.25;
  static void nearest(const float* x, const float*, float inverse, GroupCodes& out) {
    for (int i = 0; i < 32; ++i) out.code[i] = kIq4Values[place(x[i] * inverse)];
  }
  static int place(float y) {
    int at = 0;
    for (int step = 8; step > 0; step /= 2)
      if (2 * y > static_cast<float>(kIq4Values[at + step - 1] + kIq4Values[at + step])) at += step;
    return at;
  }
  static void pack_codes(const GroupCodes& g, uint8_t* bytes) {
    pack_halves([&](int i) { return place(g.code[i]); }, 32, bytes);
  }
};

struct Iq4NlCoder : Iq4Coder<1> {
  static void pack(float d, const int*, const GroupCodes* g, uint8_t* bytes) {
    store_f16(bytes, d);
    pack_codes(*g, bytes + 2);
  }
};

struct Iq4XsCoder : Iq4Coder<8> {
  static constexpr float kBase = -32, kStep = 1;
  static constexpr int kMaxS = 63;
  static void pack(float d, const int* s, const GroupCodes* g, uint8_t* bytes) {
    store_f16(bytes, d);
    int high = 0;
    std::memset(bytes + 4, 0, 4);
    for (int i = 0; i < 8; ++i) {
      high |= s[i] >> 4 << (2 * i);
      bytes[4 + i / 2] = static_cast<uint8_t>(bytes[4 + i / 2] | (s[i] & 15) << (i % 2 * 4));
      pack_codes(g[i], bytes + 8 + i * 16);
    }
    store(bytes + 2, static_cast<uint16_t>(high));
  }
};

}  // namespace lamella::quant
