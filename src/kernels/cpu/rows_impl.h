// Row kernels for one instruction set; see rows.h. Included by rows_<isa>.cpp only.
#pragma once

#include "lamella/kernels/cpu/rows.h"
#include "lamella/kernels/cpu/simd_math.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace {

// fn(i, n, j) as in for_lanes, the vectors numbered j = 0 1 2 3 0 1 ...
template <class Fn>
[[gnu::always_inline]] inline void for_lanes4(int64_t count, Fn fn) {
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    for (int j = 0; j < 4; ++j) fn(i + j * kLanes, kLanes, j);
  }
  for (int j = 0; i < count; i += kLanes, ++j) {
    fn(i, static_cast<int>(count - i < kLanes ? count - i : kLanes), j);
  }
}

// Four partial sums that take the vectors in turn, added in one order.
template <class Fn>
[[gnu::always_inline]] inline float sum_lanes(int64_t count, Fn value) {
  F part[4] = {zero(), zero(), zero(), zero()};
  for_lanes4(
      count, [&](int64_t i, int n, int j)
                 __attribute__((always_inline)) { part[j] = part[j] + value(i, n); });
  return sum((part[0] + part[1]) + (part[2] + part[3]));
}

// Lanes from n on become `fill`.
inline F fill_from(F x, int n, float fill) {
  if (n == kLanes) return x;
  float lanes[kLanes];
  store(lanes, x);
  for (int i = n; i < kLanes; ++i) lanes[i] = fill;
  return load(lanes);
}

// exp(x - top). What the subtraction rounds off is put back, for it is |x - top| / 2 ulps.
inline F exp_from(F x, F top) {
  const F d = x - top, back = d - x;
  const F lost = (x - (d - back)) - (top + back);
  const F e = exp(d);
  return select(less(set1(-kInf), d), fma(e, lost, e), e);
}

template <class T>
float row_max(const T* x, int64_t count) {
  F part[4] = {set1(-kInf), set1(-kInf), set1(-kInf), set1(-kInf)};
  for_lanes4(count, [&](int64_t i, int n, int j) {
    part[j] = max(part[j], fill_from(load_lanes(x + i, n), n, -kInf));
  });
  return max_lane(max(max(part[0], part[1]), max(part[2], part[3])));
}

template <class T>
void softmax_row(const T* x, T* y, int64_t count, bool take_log) {
  const F top = set1(row_max(x, count));
  const float total = sum_lanes(count, [&](int64_t i, int n) {
    return fill_from(exp_from(load_lanes(x + i, n), top), n, 0.0f);
  });
  if (take_log) {
    const F shift = log(set1(total));
    for_lanes(count,
              [&](int64_t i, int n) { store_lanes(y + i, load_lanes(x + i, n) - top - shift, n); });
    return;
  }
  const F factor = set1(1.0f / total);
  for_lanes(count, [&](int64_t i, int n) {
    store_lanes(y + i, exp_from(load_lanes(x + i, n), top) * factor, n);
  });
}

// Exponentials are stored, then scaled in place: one exp an element where y can hold them.
inline void softmax_row_f32(const float* x, float* y, int64_t count) {
  const F top = set1(row_max(x, count));
  const float total = sum_lanes(count, [&](int64_t i, int n) {
    const F e = exp_from(load_lanes(x + i, n), top);
    store_lanes(y + i, e, n);
    return fill_from(e, n, 0.0f);
  });
  const F factor = set1(1.0f / total);
  for_lanes(count, [&](int64_t i, int n) { store_lanes(y + i, load_lanes(y + i, n) * factor, n); });
}

template <class T>
void softmax_range(const Softmax& job, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const T* x = static_cast<const T*>(job.x) + row * job.axis;
    T* y = static_cast<T*>(job.y) + row * job.axis;
    if constexpr (sizeof(T) == sizeof(float)) {
      if (!job.log) {
        softmax_row_f32(x, y, job.axis);
        continue;
      }
    }
    softmax_row(x, y, job.axis, job.log);
  }
}

// Lanes are columns, each with its own running sum.
template <class T>
void softmax_columns(const Softmax& job, int64_t outer, int64_t begin, int64_t end) {
  const int64_t base = outer * job.axis * job.inner + begin, stride = job.inner;
  const T* x = static_cast<const T*>(job.x) + base;
  T* y = static_cast<T*>(job.y) + base;
  for_lanes(end - begin, [&](int64_t i, int n) {
    F top = set1(-kInf), total = zero();
    for (int64_t k = 0; k < job.axis; ++k) top = max(load_lanes(x + k * stride + i, n), top);
    for (int64_t k = 0; k < job.axis; ++k) {
      total = total + exp_from(load_lanes(x + k * stride + i, n), top);
    }
    const F factor = set1(1.0f) / total, shift = log(total);
    for (int64_t k = 0; k < job.axis; ++k) {
      const F v = load_lanes(x + k * stride + i, n);
      store_lanes(y + k * stride + i, job.log ? v - top - shift : exp_from(v, top) * factor, n);
    }
  });
}

// The first place of `value`; -1 where it is not.
template <class T>
int64_t place_of(const T* x, int64_t count, float value) {
  int64_t place = -1;
  const F wanted = set1(value);
  for (int64_t i = 0; i < count && place < 0; i += kLanes) {
    const int n = static_cast<int>(count - i < kLanes ? count - i : kLanes);
    if (!any(equal(load_lanes(x + i, n), wanted))) continue;
    float lanes[kLanes];
    store(lanes, load_lanes(x + i, n));
    for (int lane = n - 1; lane >= 0; --lane) {
      if (lanes[lane] == value) place = i + lane;
    }
  }
  return place;
}

// What the loss of a row is made of: -log_softmax(x) = (top - x) + tail.
struct Surprise {
  float top, tail;
};
// The first greatest x is left out of the sum of exponentials: its logarithm is then log1p, and no
// part of the loss cancels another.
template <class T>
Surprise surprise_of(const T* x, int64_t count) {
  const float top = row_max(x, count);
  const int64_t place = place_of(x, count, top), skipped = place < 0 ? 0 : place;
  const F from = set1(top);
  const auto exponentials = [&](const T* part, int64_t n_part) {
    return sum_lanes(n_part, [&](int64_t i, int n) {
      return fill_from(exp_from(load_lanes(part + i, n), from), n, 0.0f);
    });
  };
  const int64_t behind = place < 0 ? 0 : place + 1;
  const float others = exponentials(x, skipped) + exponentials(x + behind, count - behind);
  float tail[kLanes];
  store(tail, log1p(set1(others)));
  return {top, tail[0]};
}

template <class T, class W>
float weighted_loss(const CrossEntropy& job, const T* x, const W* weights, Surprise s) {
  const F top = set1(s.top), tail = set1(s.tail), keep = set1(1.0f - job.smoothing);
  const F even = set1(job.smoothing / static_cast<float>(job.cols));
  return sum_lanes(job.cols, [&](int64_t i, int n) {
    const F q = load_lanes(weights + i, n) * keep + even;
    const F term = q * ((top - load_lanes(x + i, n)) + tail);
    return fill_from(select(equal(q, zero()), zero(), term), n, 0.0f);
  });
}

template <class T>
float labelled_loss(const CrossEntropy& job, const T* x, int64_t label, Surprise s) {
  float at[kLanes];
  store(at, load_n(x + label, 1));
  const float loss = (s.top - at[0]) + s.tail;
  if (job.smoothing == 0) return loss;
  const F top = set1(s.top);
  const float below = sum_lanes(
      job.cols, [&](int64_t i, int n) { return fill_from(top - load_lanes(x + i, n), n, 0.0f); });
  return loss * (1.0f - job.smoothing) +
         (below / static_cast<float>(job.cols) + s.tail) * job.smoothing;
}

template <class T>
void cross_entropy_range(const CrossEntropy& job, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const int64_t at = row * job.cols;
    const T* x = static_cast<const T*>(job.x) + at;
    if (job.label_type == job.type) {
      job.loss[row] =
          weighted_loss(job, x, static_cast<const T*>(job.labels) + at, surprise_of(x, job.cols));
    } else if (job.label_type == Elem::f32) {
      job.loss[row] = weighted_loss(job, x, static_cast<const float*>(job.labels) + at,
                                    surprise_of(x, job.cols));
    } else {
      const int64_t label = label_of(job, row);
      job.loss[row] =
          label == job.ignored ? 0.0f : labelled_loss(job, x, label, surprise_of(x, job.cols));
    }
  }
}

template <class T, class W>
void scale_row(const T* s, float mean, float factor, const W* weight, float plus, const W* bias,
               T* y, int64_t count) {
  const F centre = set1(mean), scale = set1(factor), added = set1(plus);
  for_lanes(count, [&](int64_t i, int n) {
    F v = (load_lanes(s + i, n) - centre) * scale;
    if (weight) v = v * (load_lanes(weight + i, n) + added);
    if (bias) v = v + load_lanes(bias + i, n);
    store_lanes(y + i, v, n);
  });
}

template <class T, class W>
void norm_row(const Norm& job, int64_t row) {
  const int64_t count = job.cols;
  const T* s = static_cast<const T*>(job.x) + row * job.x_stride;
  if (job.residual) {
    const T* x = s;
    const T* residual = static_cast<const T*>(job.residual) + row * job.residual_stride;
    T* out = static_cast<T*>(job.sum) + row * job.sum_stride;
    for_lanes(count, [&](int64_t i, int n) {
      store_lanes(out + i, load_lanes(x + i, n) + load_lanes(residual + i, n), n);
    });
    s = out;
  }
  const float n_cols = static_cast<float>(count);
  float mean = 0;
  if (job.kind == Norm::Kind::layer) {
    mean = sum_lanes(count, [&](int64_t i, int n) { return load_lanes(s + i, n); }) / n_cols;
  }
  const F centre = set1(mean);
  const float squares = sum_lanes(count, [&](int64_t i, int n) {
    const F d = load_lanes(s + i, n) - centre;
    return mean == 0 ? d * d : fill_from(d * d, n, 0.0f);
  });
  const float factor = 1.0f / __builtin_sqrtf(squares / n_cols + job.eps);
  const int64_t vector = job.shared_rows == 0 ? 0 : row / job.shared_rows * count;
  const W* weight = static_cast<const W*>(job.weight);
  const W* bias = static_cast<const W*>(job.bias);
  scale_row(s, mean, factor, weight ? weight + vector : nullptr, job.weight_plus,
            bias ? bias + vector : nullptr, static_cast<T*>(job.y) + row * job.y_stride, count);
}

template <class T, class W>
void norm_range(const Norm& job, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) norm_row<T, W>(job, row);
}

void softmax_any(const Softmax& job, int64_t begin, int64_t end) {
  if (job.type == Elem::f32) return softmax_range<float>(job, begin, end);
  if (job.type == Elem::f16) return softmax_range<f16>(job, begin, end);
  softmax_range<bf16>(job, begin, end);
}
void softmax_strided_any(const Softmax& job, int64_t outer, int64_t begin, int64_t end) {
  if (job.type == Elem::f32) return softmax_columns<float>(job, outer, begin, end);
  if (job.type == Elem::f16) return softmax_columns<f16>(job, outer, begin, end);
  softmax_columns<bf16>(job, outer, begin, end);
}
void norm_any(const Norm& job, int64_t begin, int64_t end) {
  const bool f32_weight = job.weight_type == Elem::f32;
  if (job.type == Elem::f32) return norm_range<float, float>(job, begin, end);
  if (job.type == Elem::f16) {
    return f32_weight ? norm_range<f16, float>(job, begin, end)
                      : norm_range<f16, f16>(job, begin, end);
  }
  return f32_weight ? norm_range<bf16, float>(job, begin, end)
                    : norm_range<bf16, bf16>(job, begin, end);
}
void cross_entropy_any(const CrossEntropy& job, int64_t begin, int64_t end) {
  if (job.type == Elem::f32) return cross_entropy_range<float>(job, begin, end);
  if (job.type == Elem::f16) return cross_entropy_range<f16>(job, begin, end);
  cross_entropy_range<bf16>(job, begin, end);
}

}  // namespace

const RowTable kRowTable = {softmax_any, softmax_strided_any, norm_any, cross_entropy_any};

}  // namespace lamella::cpu::LAMELLA_ISA
