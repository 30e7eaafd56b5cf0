// Rotary position embedding for one instruction set; see rope.h. Included by rope_<isa>.cpp only.
#pragma once

#include "lamella/kernels/cpu/rope.h"
#include "lamella/kernels/cpu/simd_math.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace {

// Pairs whose angles are made at a time, for all heads of a token.
constexpr int kPairs = 64;

// mscale * cos and sin of position * inv_freq[first .. first + n).
void make_angles(const Rope& job, int64_t token, int64_t first, int n, float* cosine, float* sine) {
  constexpr double kTwoOverPi = 0.63661977236758134308;
  const double factor = job.positions[token] * kTwoOverPi;
  const F scale = set1(job.mscale);
  for_lanes(n, [&](int64_t i, int lanes) {
    F quadrant, s, c;
    const F r = reduce_turns(job.inv_freq + first + i, lanes, factor, quadrant);
    sin_cos_turns(quadrant, r, s, c);
    store(cosine + i, c * scale);
    store(sine + i, s * scale);
  });
}

void rotate_halves(const float* u, const float* v, float* yu, float* yv, int n, const float* cosine,
                   const float* sine) {
  for_lanes(n, [&](int64_t i, int lanes) {
    const F a = load_lanes(u + i, lanes), b = load_lanes(v + i, lanes);
    const F c = load(cosine + i), s = load(sine + i);
    store_lanes(yu + i, fma(a, c, -(b * s)), lanes);
    store_lanes(yv + i, fma(b, c, a * s), lanes);
  });
}

// Angles of neighbouring pairs, an entry an element: the sine is negative at even places.
void spread(int n, const float* cosine, const float* sine, float* cosine2, float* sine2) {
  for (int i = 0; i < n; ++i) {
    cosine2[2 * i] = cosine2[2 * i + 1] = cosine[i];
    sine2[2 * i] = -sine[i];
    sine2[2 * i + 1] = sine[i];
  }
}

void rotate_neighbours(const float* x, float* y, int n, const float* cosine2, const float* sine2) {
  if constexpr (kLanes == 1) {
    for (int i = 0; i < 2 * n; i += 2) {
      const F u = load(x + i), v = load(x + i + 1), c = load(cosine2 + i), s = load(sine2 + i + 1);
      store(y + i, fma(u, c, -(v * s)));
      store(y + i + 1, fma(v, c, u * s));
    }
  } else {
    for_lanes(2 * n, [&](int64_t i, int lanes) {
      const F a = load_lanes(x + i, lanes);
      store_lanes(y + i, fma(a, load(cosine2 + i), swap_pairs(a) * load(sine2 + i)), lanes);
    });
  }
}

void copy_rest(const Rope& job, const float* x, float* y) {
  if (x == y) return;
  for (int64_t i = job.n_rot; i < job.dim; ++i) y[i] = x[i];
}

void rope_token(const Rope& job, int64_t token) {
  // One vector more than needed: the angles are stored by whole vectors.
  float cosine[kPairs + kLanes], sine[kPairs + kLanes];
  float cosine2[2 * kPairs + kLanes] = {}, sine2[2 * kPairs + kLanes] = {};
  const float* x = job.x + token * job.x_token_stride;
  float* y = job.y + token * job.y_token_stride;
  const int64_t half = job.n_rot / 2;
  for (int64_t first = 0; first < half; first += kPairs) {
    const int n = static_cast<int>(half - first < kPairs ? half - first : kPairs);
    make_angles(job, token, first, n, cosine, sine);
    if (job.pairing == Rope::Pairing::neighbours) spread(n, cosine, sine, cosine2, sine2);
    for (int64_t head = 0; head < job.heads; ++head) {
      const float* xh = x + head * job.x_head_stride;
      float* yh = y + head * job.y_head_stride;
      if (job.pairing == Rope::Pairing::halves) {
        rotate_halves(xh + first, xh + half + first, yh + first, yh + half + first, n, cosine,
                      sine);
      } else {
        rotate_neighbours(xh + 2 * first, yh + 2 * first, n, cosine2, sine2);
      }
    }
  }
  for (int64_t head = 0; head < job.heads; ++head) {
    copy_rest(job, x + head * job.x_head_stride, y + head * job.y_head_stride);
  }
}

void rope_range(const Rope& job, int64_t begin, int64_t end) {
  for (int64_t token = begin; token < end; ++token) rope_token(job, token);
}

}  // namespace

const RopeRange kRope = rope_range;

}  // namespace lamella::cpu::LAMELLA_ISA
