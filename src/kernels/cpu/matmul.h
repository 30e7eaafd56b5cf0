// Matrix products y[m, n] = sum over k of x[m, k] * w[n, k] in f32, weights in any encoding.
//
// Encoded activations (q8_32, q8_256) give integer products and f32 sums of scaled groups; f32,
// f16 and bf16 activations give f32 products of the decoded weights ("exact"), or f32 sums of
// products of both rounded to bf16 ("bf16"). The bits of row i are a function of (encodings,
// arithmetic, isa, phase), never of m, of n, or of the number of threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lamella/base/thread_pool.h"
#include "lamella/kernels/cpu/elem.h"
#include "lamella/kernels/cpu/isa.h"
#include "lamella/quant/format.h"

namespace lamella::cpu {

// Two arithmetics, not two sizes: bulk is blocked for many rows, decode streams the weights once
// for each few rows.
enum class Phase : uint8_t { bulk, decode };

// w[n, k], rows one after another in each plane, at any alignment.
struct Weights {
  const quant::Format* format = nullptr;  // null: rows of `element` (f32, f16, bf16)
  Elem element = Elem::f32;
  quant::BlockPtr planes{};  // rows without a format: in planes[0]
};

// x[m, k].
struct Activations {
  const quant::Format* format =
      nullptr;  // q8_32 or q8_256, rows one after another; null: `element`
  Elem element = Elem::f32;
  quant::BlockPtr planes{};
  int64_t row_stride = 0;  // in elements; of `element` rows only
};

enum class Activation : uint8_t { none, silu, gelu_erf, gelu_tanh };

// y = activation(x w + bias) [* (x gated + gated_bias)] + residual.
struct MatmulJob {
  Weights w;
  int64_t n = 0;
  float* y = nullptr;  // [m, n]; may be the residual
  int64_t y_stride = 0;
  const float* bias = nullptr;  // [n]
  Activation activation = Activation::none;
  const Weights* gated = nullptr;  // also [n, k]
  const float* gated_bias = nullptr;
  const float* residual = nullptr;  // [m, n]
  int64_t residual_stride = 0;
};

// Products of one x with several weights, made in one parallel region: Q, K and V; gate and up.
struct MatmulCall {
  Isa isa = Isa::scalar;
  Phase phase = Phase::bulk;
  int64_t m = 0, k = 0;
  // Round x and the weights to bf16 first; where has_bf16_unit says so, in decode for weights of
  // bf16 alone.
  bool bf16 = false;
  Activations x;
  std::span<const MatmulJob> jobs;
};

// Whether products of bf16 have a unit of their own on `isa`.
bool has_bf16_unit(Isa isa);
// Whether that unit multiplies weights of a format fastest.
bool rounds_weights(Isa isa, const quant::Format& w);

// Bytes of scratch that the call needs; does not grow with m beyond a few hundred rows. For one
// (k, formats, threads) larger m never needs less.
int64_t matmul_workspace(const MatmulCall& call, int n_threads);

// `workspace` is of at least that size, at a multiple of 64.
void matmul(const MatmulCall& call, std::byte* workspace, ThreadPool& pool);

// The encoding that activations should be packed in for weights of `format`; null where the format
// has no integer view and x stays f32. In bulk, blocks of 128 and more get one scale every 256
// elements, which takes fewer conversions; in decode, where a scale of x costs nothing, one every
// 32, with two thirds of the rounding noise.
const quant::Format* activation_encoding(const quant::Format& format, Phase phase);

}  // namespace lamella::cpu
