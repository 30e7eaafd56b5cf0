// Convolution along three axes, its transpose and its gradient in the kernel, without im2col.
//
// The wide side is copied once, padded and, for strides, split by residue, so that the elements
// that one tap takes for neighbouring outputs lie side by side; products then read rows of that
// copy at the offsets of their taps. Memory: as much as the input (a few images at a time).
// Sums are fused multiply-adds over channels, then taps, whatever the size: f16 and bf16 in f32,
// rounded once.
#pragma once

#include <cstdint>

#include "lamella/base/thread_pool.h"
#include "lamella/kernels/cpu/elem.h"
#include "lamella/kernels/cpu/isa.h"

namespace lamella::cpu {

// wide place = narrow place * stride + tap * dilation - pad.
struct ConvAxis {
  int64_t wide = 1, narrow = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
};

struct ConvJob {
  Elem elem = Elem::f32;  // a float type, of all tensors
  ConvAxis axes[3];
  int64_t batch = 1, groups = 1;
  int64_t wide_channels = 1, narrow_channels = 1;  // of a group
  // [batch, groups * channels, ...] and w [groups * narrow channels, wide channels, taps]; the one
  // that is computed is written.
  void* wide = nullptr;
  void* narrow = nullptr;
  void* w = nullptr;
  const void* bias = nullptr;  // of the output's channels
};

// narrow from wide and w.
Status conv(const ConvJob& job, ThreadPool& pool, Isa isa);
// wide from narrow and w.
Status conv_transpose(const ConvJob& job, ThreadPool& pool, Isa isa);
// w from wide and narrow.
Status conv_grad_w(const ConvJob& job, ThreadPool& pool, Isa isa);

}  // namespace lamella::cpu
