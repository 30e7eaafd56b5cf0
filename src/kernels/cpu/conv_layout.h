// How convolution lays out a tensor for its products, and where taps find their elements in that.
// Not for users.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/conv.h"
#include "lamella/kernels/cpu/conv_tile.h"
#include "lamella/kernels/cpu/elem_types.h"

namespace lamella::cpu {

using Places = std::array<int64_t, 3>;

constexpr int64_t conv_floor_div(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
constexpr int64_t conv_ceil_div(int64_t a, int64_t b) { return -conv_floor_div(-a, b); }
inline int64_t product(const Places& p) { return p[0] * p[1] * p[2]; }

// Copies of one channel: copy r holds at q the element q * step + residues[r] + first, or 0 where
// there is none.
struct ConvLayout {
  Places sizes{1, 1, 1};  // of a copy
  Places step{1, 1, 1}, first{0, 0, 0};
  std::vector<Places> residues;

  int64_t channel() const { return static_cast<int64_t>(residues.size()) * product(sizes); }
};

// Elements of the layout and of w that a product takes, relative to the first.
struct ConvTaps {
  std::vector<int64_t> x_at, w_at;
  bool operator==(const ConvTaps&) const = default;
};

// The wide side as conv and conv_grad_w read it: at q of the grid of `sizes`, tap t finds its
// element x_at[t] further on.
ConvLayout wide_layout(const ConvJob& job, ConvTaps& taps);

// Copies one channel; `nothing` stands where it has no element.
template <class T, class Sum>
void lay_out(const ConvLayout& layout, const Places& from_sizes, const T* from, Sum* to,
             Sum nothing = {}) {
  const int64_t inner = layout.sizes[2], step = layout.step[2];
  for (const Places& r : layout.residues) {
    for (int64_t row = 0; row < layout.sizes[0] * layout.sizes[1]; ++row, to += inner) {
      const int64_t a = row / layout.sizes[1] * layout.step[0] + r[0] + layout.first[0];
      const int64_t b = row % layout.sizes[1] * layout.step[1] + r[1] + layout.first[1];
      const int64_t c = r[2] + layout.first[2];
      if (a < 0 || a >= from_sizes[0] || b < 0 || b >= from_sizes[1]) {
        std::fill(to, to + inner, nothing);
        continue;
      }
      const T* source = from + (a * from_sizes[1] + b) * from_sizes[2];
      const int64_t low = std::clamp<int64_t>(conv_ceil_div(-c, step), 0, inner);
      const int64_t high = std::clamp<int64_t>(conv_ceil_div(from_sizes[2] - c, step), low, inner);
      std::fill(to, to + low, nothing);
      for (int64_t q = low; q < high; ++q) to[q] = static_cast<Sum>(source[q * step + c]);
      std::fill(to + high, to + inner, nothing);
    }
  }
}

// f16 and bf16 are computed in f32.
template <class T>
using ConvSum = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
T conv_rounded(ConvSum<T> x) {
  if constexpr (kIsNarrowFloat<T>) {
    return T::from(x);
  } else {
    return x;
  }
}

// The inner loops in f64.
extern const ConvKernels<double> kConvF64;

template <class Sum>
const ConvKernels<Sum>& conv_kernels(Isa isa) {
  if constexpr (std::is_same_v<Sum, double>) {
    return kConvF64;
  } else {
    return LAMELLA_BY_ISA(isa, kConv);
  }
}

// Calls fn.operator()<T>() for a float type.
template <class Fn>
Status with_float(Elem elem, Fn fn) {
  if (elem == Elem::f16) return fn.template operator()<f16>();
  if (elem == Elem::bf16) return fn.template operator()<bf16>();
  if (elem == Elem::f64) return fn.template operator()<double>();
  return fn.template operator()<float>();
}

inline Places wide_sizes(const ConvJob& j) {
  return {j.axes[0].wide, j.axes[1].wide, j.axes[2].wide};
}
inline Places narrow_sizes(const ConvJob& j) {
  return {j.axes[0].narrow, j.axes[1].narrow, j.axes[2].narrow};
}
inline int64_t conv_taps(const ConvJob& j) {
  return j.axes[0].kernel * j.axes[1].kernel * j.axes[2].kernel;
}

// Images laid out at a time: a few megabytes of them.
inline int64_t images_at_a_time(int64_t batch, int64_t image_bytes) {
  constexpr int64_t kBytes = int64_t{8} << 20;
  return std::clamp<int64_t>(kBytes / std::max<int64_t>(image_bytes, 1), 1,
                             std::max<int64_t>(batch, 1));
}

}  // namespace lamella::cpu
