// Codes, scales and minimums of least weighted squared error, for formats whose values are
// (d s) q - (dmin m), q from 0 to kTop, s and m from 0 to kMaxS. As search/scale_fit.h, but each
// group's fit is a line, and d and dmin are solved for together.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "lamella/quant/block.h"
#include "lamella/quant/k_scales.h"
#include "lamella/quant/search/int_coders.h"
#include "lamella/quant/search/scale_fit.h"

namespace lamella::quant {

// scale q - min.
struct Line {
  float scale = 0, min = 0;
};

// Sums over a group for the fit of a line to codes.
struct LineSums {
  double w = 0, q = 0, qq = 0, x = 0, xq = 0;
};
inline LineSums line_sums(const float* x, const float* w, const int8_t* codes, int n) {
  float sw = 0, sq = 0, sqq = 0, sx = 0, sxq = 0;
  for (int i = 0; i < n; ++i) {
    const float q = codes[i], wq = w[i] * q;
    sw += w[i];
    sq += wq;
    sqq += wq * q;
    sx += w[i] * x[i];
    sxq += wq * x[i];
  }
  return {sw, sq, sqq, sx, sxq};
}
// The weighted squared error of a line, less sum w x^2.
inline double line_loss(const LineSums& s, Line line) {
  const double a = line.scale, b = -line.min;
  return a * a * s.qq + 2 * a * b * s.q + b * b * s.w - 2 * a * s.xq - 2 * b * s.x;
}

inline void nearest_on_line(const float* x, Line line, int n, int top, int8_t* codes) {
  const float inverse = line.scale != 0 ? 1 / line.scale : 0;
  for (int i = 0; i < n; ++i)
    codes[i] = static_cast<int8_t>(clamp_to_int(std::rint((x[i] + line.min) * inverse), 0, top));
}

// The best line for codes; where `kPositiveMin`, its minimum is not below 0.
template <bool kPositiveMin>
Line solve_line(const LineSums& s) {
  const double det = s.w * s.qq - s.q * s.q;
  double a = 0, b = s.w > 0 ? s.x / s.w : 0;
  if (det > 1e-12 * s.w * s.qq) {
    a = (s.w * s.xq - s.q * s.x) / det;
    b = (s.qq * s.x - s.q * s.xq) / det;
  }
  if (kPositiveMin && b > 0) {
    b = 0;
    a = s.qq > 0 ? s.xq / s.qq : 0;
  }
  return {static_cast<float>(a), static_cast<float>(-b)};
}

template <bool kPositiveMin>
Line fit_line(const float* x, const float* w, int n, int top, int8_t* codes) {
  float low = x[0], high = x[0];
  for (int i = 1; i < n; ++i) {
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
  }
  if (kPositiveMin) low = std::min(low, 0.0f);
  Line best{0, -low};
  if (!(high > low) || !std::isfinite(high - low)) {
    if (!std::isfinite(low)) best.min = 0;
    std::fill(codes, codes + n, int8_t{0});
    return best;
  }
  double least = HUGE_VAL;
  const auto consider = [&](Line line) {
    nearest_on_line(x, line, n, top, codes);
    const LineSums sums = line_sums(x, w, codes, n);
    const Line solved = solve_line<kPositiveMin>(sums);
    const double loss = line_loss(sums, solved);
    if (loss < least && solved.scale >= 0) {
      least = loss;
      best = solved;
    }
  };
  // Ranges cut at either end, by up to a step and a half.
  for (int cut_low = 0; cut_low < 4; ++cut_low) {
    for (int cut_high = 0; cut_high < 4; ++cut_high) {
      const float step = (high - low) / static_cast<float>(top);
      const float from = low + step * 0.35f * static_cast<float>(cut_low - 1);
      const float to = high - step * 0.35f * static_cast<float>(cut_high - 1);
      if (to > from) consider({(to - from) / static_cast<float>(top), -from});
    }
  }
  for (int round = 0; round < 3; ++round) consider(best);
  nearest_on_line(x, best, n, top, codes);
  return best;
}

// 32 elements, f16 d and m.
template <int kTop>
void encode_line_by_search(const float* x, const float* w, Line& line, int8_t* codes) {
  line = fit_line<false>(x, w, 32, kTop, codes);
  line = {as_f16(line.scale), as_f16(line.min)};
  nearest_on_line(x, line, 32, kTop, codes);
}

// A block of groups with their integer scales and minimums.
template <class C>
struct MinBlock {
  const float *x = nullptr, *w = nullptr;
  float d = 0, dmin = 0;
  Line wanted[C::kGroups] = {};
  int s[C::kGroups] = {}, m[C::kGroups] = {};
  int8_t codes[256] = {};

  Line line(int s_code, int m_code) const {
    return {d * static_cast<float>(s_code), dmin * static_cast<float>(m_code)};
  }
  static int near(float wanted, float unit) {
    const float code = unit != 0 ? std::rint(wanted / unit) : 0;
    return clamp_to_int(code, 0, C::kMaxS);
  }

  // The best of the nearest s and m of a group, with its codes.
  LineSums choose(int g) {
    const float *gx = x + g * C::kGroup, *gw = w + g * C::kGroup;
    const int s0 = near(wanted[g].scale, d), m0 = near(wanted[g].min, dmin);
    double least = HUGE_VAL;
    LineSums kept;
    for (int si = std::max(s0 - 1, 0); si <= std::min(s0 + 1, C::kMaxS); ++si) {
      for (int mi = std::max(m0 - 1, 0); mi <= std::min(m0 + 1, C::kMaxS); ++mi) {
        int8_t tried[C::kGroup];
        nearest_on_line(gx, line(si, mi), C::kGroup, C::kTop, tried);
        const LineSums sums = line_sums(gx, gw, tried, C::kGroup);
        const double loss = line_loss(sums, line(si, mi));
        if (!(loss < least)) continue;
        least = loss;
        kept = sums;
        s[g] = si;
        m[g] = mi;
        std::copy(tried, tried + C::kGroup, codes + g * C::kGroup);
      }
    }
    return kept;
  }

  // d and dmin for the chosen s, m and codes.
  void solve(const LineSums* sums) {
    double ss = 0, sm = 0, mm = 0, xs = 0, xm = 0;
    for (int g = 0; g < C::kGroups; ++g) {
      ss += double(s[g]) * s[g] * sums[g].qq;
      sm += double(s[g]) * m[g] * sums[g].q;
      mm += double(m[g]) * m[g] * sums[g].w;
      xs += s[g] * sums[g].xq;
      xm += m[g] * sums[g].x;
    }
    const double det = ss * mm - sm * sm;
    if (det > 1e-12 * ss * mm) {
      d = static_cast<float>((mm * xs - sm * xm) / det);
      dmin = static_cast<float>((sm * xs - ss * xm) / det);
    } else if (ss > 0) {
      d = static_cast<float>(xs / ss);
    }
    // Minimums are not negative.
    if (dmin < 0) dmin = 0;
  }

  void run() {
    float top_scale = 0, top_min = 0;
    for (int g = 0; g < C::kGroups; ++g) {
      const int at = g * C::kGroup;
      wanted[g] = fit_line<true>(x + at, w + at, C::kGroup, C::kTop, codes + at);
      top_scale = std::max(top_scale, wanted[g].scale);
      top_min = std::max(top_min, wanted[g].min);
    }
    d = top_scale / C::kMaxS;
    dmin = top_min / C::kMaxS;
    for (int round = 0; round < 3; ++round) {
      if (!(std::fabs(d) < 65504)) d = 0;
      if (!(std::fabs(dmin) < 65504)) dmin = 0;
      if (round == 2) d = as_f16(d), dmin = as_f16(dmin);
      LineSums sums[C::kGroups];
      for (int g = 0; g < C::kGroups; ++g) {
        sums[g] = choose(g);
        const Line own = solve_line<true>(sums[g]);
        if (own.scale > 0) wanted[g] = own;
      }
      if (round < 2) solve(sums);
    }
  }
};

template <class C>
void encode_min_by_search(const float* x, const float* w, uint8_t* bytes) {
  MinBlock<C> block;
  block.x = x;
  block.w = w;
  block.run();
  C::pack(block, bytes);
}

struct Q4_1Search {
  static void encode(const float* x, const float* w, uint8_t* bytes) {
    Line line;
    int8_t codes[32];
    encode_line_by_search<15>(x, w, line, codes);
    store_f16(bytes, line.scale);
    store_f16(bytes + 2, -line.min);
    pack_halves([&](int i) { return codes[i]; }, 32, bytes + 4);
  }
};

struct Q5_1Search {
  static void encode(const float* x, const float* w, uint8_t* bytes) {
    Line line;
    int8_t codes[32];
    encode_line_by_search<31>(x, w, line, codes);
    store_f16(bytes, line.scale);
    store_f16(bytes + 2, -line.min);
    store_five_bit_codes([&](int i) { return int{codes[i]}; }, bytes + 4);
  }
};

struct Q2_KCoder {
  static constexpr int kGroup = 16, kGroups = 16, kTop = 3, kMaxS = 15;
  static void pack(const auto& block, uint8_t* bytes) {
    for (int g = 0; g < 16; ++g) bytes[g] = static_cast<uint8_t>(block.s[g] | block.m[g] << 4);
    std::memset(bytes + 16, 0, 64);
    for (int i = 0; i < 256; ++i) {
      uint8_t& byte = bytes[16 + i / 128 * 32 + i % 32];
      byte = static_cast<uint8_t>(byte | block.codes[i] << (i % 128 / 32 * 2));
    }
    store_f16(bytes + 80, block.d);
    store_f16(bytes + 82, block.dmin);
  }
};

struct Q4_KCoder {
  static constexpr int kGroup = 32, kGroups = 8, kTop = 15, kMaxS = 63;
  static void pack(const auto& block, uint8_t* bytes) {
    store_f16(bytes, block.d);
    store_f16(bytes + 2, block.dmin);
    pack_k_scales(block.s, block.m, bytes + 4);
    for (int i = 0; i < 128; ++i) {
      const int8_t* two = block.codes + i / 32 * 64 + i % 32;
      bytes[16 + i] = static_cast<uint8_t>(two[0] | two[32] << 4);
    }
  }
};

struct Q5_KCoder {
  static constexpr int kGroup = 32, kGroups = 8, kTop = 31, kMaxS = 63;
  static void pack(const auto& block, uint8_t* bytes) {
    store_f16(bytes, block.d);
    store_f16(bytes + 2, block.dmin);
    pack_k_scales(block.s, block.m, bytes + 4);
    std::memset(bytes + 16, 0, 32);
    for (int i = 0; i < 256; ++i)
      bytes[16 + i % 32] =
          static_cast<uint8_t>(bytes[16 + i % 32] | (block.codes[i] >> 4) << i / 32);
    for (int i = 0; i < 128; ++i) {
      const int8_t* two = block.codes + i / 32 * 64 + i % 32;
      bytes[48 + i] = static_cast<uint8_t>((two[0] & 15) | (two[32] & 15) << 4);
    }
  }
};

}  // namespace lamella::quant
