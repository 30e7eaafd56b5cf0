// Coders (search/scale_fit.h) of the formats whose codes are entries of a grid.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>

#include "lamella/quant/block.h"
#include "lamella/quant/grids.h"
#include "lamella/quant/search/grid_search.h"
#include "lamella/quant/search/scale_fit.h"

namespace lamella::quant {

inline constexpr int8_t kIq1Values[3] = {-8, 0, 8};

// The search tables, made when a format is first encoded.
template <const auto& kGrid>
const GridSearch& grid_search(const GridShape& shape) {
  static const GridSearch search(kGrid, shape);
  return search;
}

// Entries of `kEntry` elements, magnitudes from the grid and signs of their own; where `kEven`, an
// even number of minuses in each eight.
template <const auto& kGrid, int kEntry, int kLevels, const int8_t* kValues, bool kEven,
          int kGroupSize>
struct SignedGridCoder {
  static constexpr int kGroup = kGroupSize, kGroups = 256 / kGroupSize;
  static constexpr int kTop = kValues[kLevels - 1], kLow = -kTop, kTries = 16;
  static constexpr double kMost = kEntry == 8 ? 1.7 : 1.4;
  static constexpr int kLowerCodes[] = {kValues[0], kValues[1]};

  static const GridSearch& search() {
    return grid_search<kGrid>({kEntry, kEntry == 8 ? 2 : 3, kLevels, kValues});
  }

  static void nearest(const float* x, const float* w, float inverse, GroupCodes& out) {
    const GridSearch& grid = search();
    for (int eight = 0; eight < kGroup / 8; ++eight) {
      const float *xe = x + eight * 8, *we = w + eight * 8;
      float y[8];
      unsigned signs = 0;
      for (int j = 0; j < 8; ++j) {
        const float value = xe[j] * inverse;
        y[j] = std::fabs(value) < 1e6f ? std::fabs(value) : 0;
        signs |= static_cast<unsigned>(value < 0) << j;
      }
      if (kEven && std::popcount(signs) % 2 != 0) {
        int least = 0;
        for (int j = 1; j < 8; ++j)
          if (we[j] * y[j] < we[least] * y[least]) least = j;
        signs ^= 1u << least;
        y[least] = -y[least];
      }
      out.signs[eight] = static_cast<uint8_t>(signs);
      for (int part = 0; part < 8 / kEntry; ++part) {
        const int entry = grid.nearest(y + part * kEntry, we + part * kEntry);
        out.index[eight * (8 / kEntry) + part] = static_cast<uint16_t>(entry);
        const int8_t* values = grid.values(entry);
        for (int j = 0; j < kEntry; ++j) {
          const int at = part * kEntry + j;
          out.code[eight * 8 + at] = static_cast<int8_t>(signs >> at & 1 ? -values[j] : values[j]);
        }
      }
    }
  }
};

inline void pack_scale_halves(const int* s, int n, uint8_t* bytes) {
  for (int i = 0; i < n; i += 2) bytes[i / 2] = static_cast<uint8_t>(s[i] | s[i + 1] << 4);
}

struct Iq2XxsCoder : SignedGridCoder<kIq2XxsGrid, 8, 3, kIq2Values, true, 32> {
  static constexpr float kBase = 0.125f, kStep = 0.25f;
  static constexpr int kMaxS = 15;
  static void pack(float d, const int* s, const GroupCodes* g, uint8_t* bytes) {
    store_f16(bytes, d);
    for (int i = 0; i < 8; ++i) {
      uint32_t word = static_cast<uint32_t>(s[i]) << 28;
      for (int e = 0; e < 4; ++e) {
        bytes[2 + i * 8 + e] = static_cast<uint8_t>(g[i].index[e]);
        word |= static_cast<uint32_t>(g[i].signs[e] & 127) << (7 * e);
      }
      store(bytes + 6 + i * 8, word);
    }
  }
};

struct Iq2XsCoder : SignedGridCoder<kIq2XsGrid, 8, 3, kIq2Values, true, 16> {
  static constexpr float kBase = 0.125f, kStep = 0.25f;
  static constexpr int kMaxS = 15;
  static void pack(float d, const int* s, const GroupCodes* g, uint8_t* bytes) {
    store_f16(bytes, d);
    for (int e = 0; e < 32; ++e) {
      const GroupCodes& group = g[e / 2];
      store(bytes + 2 + e * 2,
            static_cast<uint16_t>(group.index[e % 2] | (group.signs[e % 2] & 127) << 9));
    }
    pack_scale_halves(s, 16, bytes + 66);
  }
};

struct Iq2SCoder : SignedGridCoder<kIq2SGrid, 8, 3, kIq2Values, false, 16> {
  static constexpr float kBase = 0.125f, kStep = 0.25f;
  static constexpr int kMaxS = 15;
  static void pack(float d, const int* s, const GroupCodes* g, uint8_t* bytes) {
    store_f16(bytes, d);
    uint8_t *low = bytes + 2, *signs = low + 32, *top = signs + 32;
    std::memset(top, 0, 8);
    for (int e = 0; e < 32; ++e) {
      const int index = g[e / 2].index[e % 2];
      low[e] = static_cast<uint8_t>(index);
      top[e / 4] = static_cast<uint8_t>(top[e / 4] | index >> 8 << (e % 4 * 2));
      signs[e] = g[e / 2].signs[e % 2];
    }
    pack_scale_halves(s, 16, top + 8);
  }
};

struct Iq3XxsCoder : SignedGridCoder<kIq3XxsGrid, 4, 8, kIq3XxsValues, true, 32> {
  static constexpr float kBase = 0.25f, kStep = 0.5f;
  static constexpr int kMaxS = 15;
  static void pack(float d, const int* s, const GroupCodes* g, uint8_t* bytes) {
    store_f16(bytes, d);
    for (int i = 0; i < 8; ++i) {
      uint32_t word = static_cast<uint32_t>(s[i]) << 28;
      for (int e = 0; e < 8; ++e) bytes[2 + i * 8 + e] = static_cast<uint8_t>(g[i].index[e]);
      for (int e = 0; e < 4; ++e) word |= static_cast<uint32_t>(g[i].signs[e] & 127) << (7 * e);
      store(bytes + 66 + i * 4, word);
    }
  }
};

struct Iq3SCoder : SignedGridCoder<kIq3SGrid, 4, 8, kIq3SValues, false, 32> {
  static constexpr float kBase = 1, kStep = 2;
  static constexpr int kMaxS = 15;
  static void pack(float d, const int* s, const GroupCodes* g, uint8_t* bytes) {
    store_f16(bytes, d);
    uint8_t *low = bytes + 2, *top = low + 64, *signs = top + 8;
    std::memset(top, 0, 8);
    for (int e = 0; e < 64; ++e) {
      const int index = g[e / 8].index[e % 8];
      low[e] = static_cast<uint8_t>(index);
      top[e / 8] = static_cast<uint8_t>(top[e / 8] | index >> 8 << e % 8);
    }
    for (int e = 0; e < 32; ++e) signs[e] = g[e / 4].signs[e % 4];
    pack_scale_halves(s, 8, signs + 32);
  }
};

// Codes 8 (q + delta), delta one for each `kShare` elements; signs[i] says that it is negative.
template <int kGroupSize, int kShare>
struct Iq1Coder {
  static constexpr int kGroup = kGroupSize, kGroups = 256 / kGroupSize;
  static constexpr int kTop = 9, kLow = -9, kTries = 16;
  static constexpr double kMost = 2.6;
  static constexpr float kBase = 0.125f, kStep = 0.25f;
  static constexpr int kMaxS = 7;

  static void nearest(const float* x, const float* w, float inverse, GroupCodes& out) {
    const GridSearch& grid = grid_search<kIq1Grid>({8, 2, 3, kIq1Values});
    for (int part = 0; part < kGroup / kShare; ++part) {
      float least = 0;
      for (int negative = 0; negative < 2; ++negative) {
        const float delta = negative ? -1 : 1;
        uint16_t index[kShare / 8];
        float loss = 0;
        for (int e = 0; e < kShare / 8; ++e) {
          const int at = part * kShare + e * 8;
          float y[8];
          for (int j = 0; j < 8; ++j) {
            y[j] = x[at + j] * inverse - delta;
            if (!(std::fabs(y[j]) < 1e6f)) y[j] = 0;
          }
          index[e] = static_cast<uint16_t>(grid.nearest(y, w + at));
          const int8_t* v = grid.values(index[e]);
          for (int j = 0; j < 8; ++j) {
            const float step = static_cast<float>(v[j]) - y[j];
            loss += w[at + j] * step * step;
          }
        }
        if (negative && !(loss < least)) continue;
        least = loss;
        out.signs[part] = static_cast<uint8_t>(negative);
        for (int e = 0; e < kShare / 8; ++e) {
          out.index[part * (kShare / 8) + e] = index[e];
          for (int j = 0; j < 8; ++j)
            out.code[part * kShare + e * 8 + j] =
                static_cast<int8_t>(grid.values(index[e])[j] + static_cast<int>(delta));
        }
      }
    }
  }
};

struct Iq1SCoder : Iq1Coder<32, 32> {
  static void pack(float d, const int* s, const GroupCodes* g, uint8_t* bytes) {
    store_f16(bytes, d);
    for (int i = 0; i < 8; ++i) {
      int word = s[i] << 12 | g[i].signs[0] << 15;
      for (int e = 0; e < 4; ++e) {
        bytes[2 + i * 4 + e] = static_cast<uint8_t>(g[i].index[e]);
        word |= g[i].index[e] >> 8 << (3 * e);
      }
      store(bytes + 34 + i * 2, static_cast<uint16_t>(word));
    }
  }
};

struct Iq1MCoder : Iq1Coder<16, 8> {
  static void pack(float d, const int* s, const GroupCodes* g, uint8_t* bytes) {
    std::memset(bytes + 32, 0, 16);
    for (int e = 0; e < 32; ++e) {
      const GroupCodes& group = g[e / 2];
      const int half = group.index[e % 2] >> 8 | group.signs[e % 2] << 3;
      bytes[e] = static_cast<uint8_t>(group.index[e % 2]);
      bytes[32 + e / 2] = static_cast<uint8_t>(bytes[32 + e / 2] | half << (e % 2 * 4));
    }
    const int d_bits = f16::from(d).bits;
    for (int word = 0; word < 4; ++word) {
      int bits = (d_bits >> (4 * word) & 15) << 12;
      for (int i = 0; i < 4; ++i) bits |= s[word * 4 + i] << (3 * i);
      store(bytes + 48 + word * 2, static_cast<uint16_t>(bits));
    }
  }
};

}  // namespace lamella::quant
