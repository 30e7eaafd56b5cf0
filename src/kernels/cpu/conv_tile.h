// The inner loops of convolution, for one instruction set (f32) or plain (f64). Not for users.
#pragma once

#include <cstdint>

#include "lamella/kernels/cpu/by_isa.h"

namespace lamella::cpu {

inline constexpr int kConvRows = 8;      // most rows of a tile
inline constexpr int kConvPlaces = 128;  // most places of a tile

// y[r][j] = sum over channel c, then tap t of w[r][c * w_channel + w_at[t]] *
//   x[c * x_channel + x_at[t] + j], for rows r and places j < n.
template <class T>
struct ConvTile {
  const T* x;
  const T* w[kConvRows];
  const int64_t* x_at;
  const int64_t* w_at;
  int64_t taps, channels, x_channel, w_channel;
  int64_t n;
  int rows;
  T* y;  // [rows][kConvPlaces]
};

inline constexpr int kConvDotRows = 4, kConvDotColumns = 6;

// y[r][c] += sum over j < n of g[r][j] * x[c][j].
template <class T>
struct ConvDots {
  const T* g[kConvDotRows];
  const T* x[kConvDotColumns];
  int rows, columns;
  int64_t n;
  T* y;  // [rows][kConvDotColumns]
};

// y[j] = the largest of x[x_at[t] + j] over the taps, or NaN, for j < n.
template <class T>
struct ConvMost {
  const T* x;
  const int64_t* x_at;
  int64_t taps, n;
  T* y;
};

template <class T>
struct ConvKernels {
  void (*tile)(const ConvTile<T>&) = nullptr;
  void (*dots)(const ConvDots<T>&) = nullptr;
  void (*most)(const ConvMost<T>&) = nullptr;
  int rows = 0;                            // of a full tile
  int places_of_rows[kConvRows + 1] = {};  // that suit a tile of so many rows
};

LAMELLA_TABLE(ConvKernels<float>, kConv)

}  // namespace lamella::cpu
