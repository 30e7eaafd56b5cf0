// Codes and scales of least weighted squared error, for formats whose values are
// d m(s) code: one d a block, one s a group (or none), codes from any book.
//
// A format is a Coder with
//   kGroup, kGroups                elements a group, groups a block
//   kBase, kStep, kMaxS            m(s) = kBase + kStep s, s from 0 to kMaxS
//   kTop, kLow                     the largest and the least code
//   kTries, kMost                  scales to try: the largest value at code kTop / t, t up to kMost
//   nearest(x, w, inverse, codes)  the codes nearest to x * inverse
//   pack(d, s, codes, bytes)
// The order: each group's own scale by trying several and solving for the best with the codes they
// give; a d that serves all; then by turns s and codes for d, and d for s and codes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "lamella/base/numeric.h"

namespace lamella::quant {

struct GroupCodes {
  int8_t code[256];
  uint16_t index[8];  // entries of a grid
  uint8_t signs[8];   // their signs, or what else a format keeps of each
};

// Of a fit of `codes` to x: sums of w x code and w code^2. scale = xc / cc leaves sum w x^2 - xc^2
// / cc.
struct CodeSums {
  double xc = 0, cc = 0;
  double explained() const { return cc > 0 ? xc * xc / cc : 0; }
  double scale() const { return cc > 0 ? xc / cc : 0; }
};

template <int n>
CodeSums sums_of(const float* x, const float* w, const int8_t* codes) {
  float xc = 0, cc = 0;
  for (int i = 0; i < n; ++i) {
    const float c = codes[i];
    xc += w[i] * x[i] * c;
    cc += w[i] * c * c;
  }
  return {xc, cc};
}

template <class C>
int nearest_scale_code(float ratio) {
  if (C::kMaxS == 0) return 0;
  const float s = std::rint((ratio - C::kBase) / C::kStep);
  return s > 0 ? static_cast<int>(std::min(s, static_cast<float>(C::kMaxS))) : 0;
}
template <class C>
float scale_multiplier(int s) {
  return C::kBase + C::kStep * static_cast<float>(s);
}

// The scale of one group alone.
template <class C>
float fit_group(const float* x, const float* w, GroupCodes& codes) {
  float largest = 0;
  for (int i = 0; i < C::kGroup; ++i)
    if (std::fabs(x[i]) > std::fabs(largest)) largest = x[i];
  if (!(std::fabs(largest) > 0) || !std::isfinite(largest)) return 0;
  double best = -1, scale = 0;
  const auto consider = [&](double inverse) {
    C::nearest(x, w, static_cast<float>(inverse), codes);
    const CodeSums sums = sums_of<C::kGroup>(x, w, codes.code);
    if (sums.explained() > best) {
      best = sums.explained();
      scale = sums.scale();
    }
  };
  // Where scales may be negative, the largest value may also lie at the other end of the codes.
  constexpr bool kBothEnds = -C::kLow != C::kTop && (C::kMaxS == 0 || C::kBase < 0);
  for (int i = 0; i < C::kTries; ++i) {
    const double t = 0.85 + i * (C::kMost - 0.85) / (C::kTries - 1);
    consider(C::kTop * t / (kBothEnds ? largest : std::fabs(largest)));
    if (kBothEnds) consider(C::kLow * t / largest);
  }
  // Groups of one magnitude lie best on one of the lower codes.
  if constexpr (requires { C::kLowerCodes; })
    for (const int code : C::kLowerCodes) consider(code / std::fabs(largest));
  for (int round = 0; round < 2 && scale != 0; ++round) consider(1 / scale);
  return static_cast<float>(scale);
}

// d so that the groups' scales lie near d m(s); `weights` says how much each one counts.
template <class C>
float fit_block_scale(const float* scales, const double* weights) {
  float top = 0;
  for (int g = 0; g < C::kGroups; ++g)
    if (std::fabs(scales[g]) > std::fabs(top)) top = scales[g];
  if (C::kGroups == 1) return top / C::kBase;
  constexpr bool kBothEnds = C::kBase < 0;
  const float end = kBothEnds ? C::kBase : scale_multiplier<C>(C::kMaxS);
  float best_d = 0;
  double least = HUGE_VAL;
  for (int i = 0; i < 24; ++i) {
    const float d = top / end * (0.9f + 0.025f * static_cast<float>(i));
    double loss = 0;
    for (int g = 0; g < C::kGroups && d != 0; ++g) {
      const float near = d * scale_multiplier<C>(nearest_scale_code<C>(scales[g] / d));
      loss += weights[g] * (scales[g] - near) * (scales[g] - near);
    }
    if (loss < least) {
      least = loss;
      best_d = d;
    }
  }
  return best_d;
}

// The best s of the nearest three, with its codes.
template <class C>
CodeSums fit_scale_code(const float* x, const float* w, float d, float scale, int& s,
                        GroupCodes& codes) {
  const int near = nearest_scale_code<C>(scale / d);
  double least = HUGE_VAL;
  CodeSums kept;
  for (int candidate = std::max(near - 1, 0); candidate <= std::min(near + 1, C::kMaxS);
       ++candidate) {
    const float own = d * scale_multiplier<C>(candidate);
    GroupCodes tried;
    C::nearest(x, w, own != 0 ? 1 / own : 0, tried);
    const CodeSums sums = sums_of<C::kGroup>(x, w, tried.code);
    const double loss = own * (own * sums.cc - 2 * sums.xc);  // less sum w x^2
    if (loss < least) {
      least = loss;
      s = candidate;
      codes = tried;
      kept = sums;
    }
  }
  return kept;
}

inline float as_f16(float x) { return static_cast<float>(f16::from(x)); }

template <class C>
void encode_by_search(const float* x, const float* w, uint8_t* bytes) {
  GroupCodes codes[C::kGroups];
  float scales[C::kGroups];
  double weights[C::kGroups];
  int s[C::kGroups] = {};
  for (int g = 0; g < C::kGroups; ++g) {
    const float* group = x + g * C::kGroup;
    scales[g] = fit_group<C>(group, w + g * C::kGroup, codes[g]);
    C::nearest(group, w + g * C::kGroup, scales[g] != 0 ? 1 / scales[g] : 0, codes[g]);
    weights[g] = sums_of<C::kGroup>(group, w + g * C::kGroup, codes[g].code).cc;
  }
  float d = fit_block_scale<C>(scales, weights);
  if (!(std::fabs(d) < 65504)) d = 0;
  // The last round is for the d that is stored.
  for (int round = 0; round < 3; ++round) {
    if (round == 2) d = as_f16(d);
    double xm = 0, mm = 0;
    for (int g = 0; g < C::kGroups; ++g) {
      const float* group = x + g * C::kGroup;
      const float* group_w = w + g * C::kGroup;
      if (d == 0) {
        s[g] = nearest_scale_code<C>(0);
        C::nearest(group, group_w, 0, codes[g]);
        continue;
      }
      const CodeSums sums = fit_scale_code<C>(group, group_w, d, scales[g], s[g], codes[g]);
      const double m = scale_multiplier<C>(s[g]);
      xm += m * sums.xc;
      mm += m * m * sums.cc;
      if (sums.cc > 0) scales[g] = static_cast<float>(sums.scale());
    }
    if (round < 2 && mm > 0) d = static_cast<float>(xm / mm);
  }
  C::pack(d, s, codes, bytes);
}

}  // namespace lamella::quant
