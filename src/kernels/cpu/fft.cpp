#include "lamella/kernels/cpu/fft.h"

#include <algorithm>
#include <cmath>

#include "lamella/kernels/cpu/elem_types.h"
#include "lamella/kernels/cpu/scratch.h"

namespace lamella::cpu {
namespace {

struct Complex {
  double re = 0, im = 0;
};
Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
Complex operator*(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
Complex conj(Complex a) { return {a.re, -a.im}; }

constexpr int64_t kLargestRadix = 61;
constexpr double kTwoPi = 6.28318530717958647692;

// exp(-2 pi i at / n), by the octant so that multiples of n / 8 are exact.
Complex root(int64_t at, int64_t n) {
  const int64_t eighth = 8 * at / n;
  const double x =
      kTwoPi * (static_cast<double>(8 * at - eighth * n) / (8.0 * static_cast<double>(n)));
  constexpr double kHalf = 0.70710678118654752440;
  constexpr Complex kOctants[] = {{1, 0},  {kHalf, -kHalf}, {0, -1}, {-kHalf, -kHalf},
                                  {-1, 0}, {-kHalf, kHalf}, {0, 1},  {kHalf, kHalf}};
  return kOctants[eighth % 8] * Complex{std::cos(x), -std::sin(x)};
}

// A length with small prime factors; roots[i] = root(i, n).
struct Radices {
  int64_t n = 1;
  int count = 0;
  int64_t radix[64] = {};
  Complex* roots = nullptr;

  // Is n a product of radices?
  bool factor(int64_t length) {
    n = length;
    int64_t left = length;
    for (int64_t p : {4, 2, 3, 5})
      for (; left % p == 0; left /= p) radix[count++] = p;
    for (int64_t p = 7; p <= kLargestRadix; p += 2)
      for (; left % p == 0; left /= p) radix[count++] = p;
    return left == 1;
  }
  void fill_roots() const {
    for (int64_t i = 0; i < n; ++i) roots[i] = root(i, n);
  }
};

// One pass: groups of p elements, m apart, each s times.
void pass(const Radices& plan, int64_t p, int64_t m, int64_t s, const Complex* x, Complex* y) {
  const int64_t turn = plan.n / p, step = plan.n / (p * m);
  Complex t[kLargestRadix];
  for (int64_t j = 0; j < m; ++j)
    for (int64_t q = 0; q < s; ++q) {
      for (int64_t r = 0; r < p; ++r) t[r] = x[q + s * (j + m * r)];
      Complex* to = y + q + s * p * j;
      if (p == 2) {
        to[0] = t[0] + t[1];
        to[s] = (t[0] - t[1]) * plan.roots[j * step];
        continue;
      }
      if (p == 4) {
        const Complex a = t[0] + t[2], b = t[0] - t[2], c = t[1] + t[3], d = t[1] - t[3];
        const Complex turned{d.im, -d.re};
        to[0] = a + c;
        to[s] = (b + turned) * plan.roots[j * step];
        to[2 * s] = (a - c) * plan.roots[2 * j * step];
        to[3 * s] = (b - turned) * plan.roots[3 * j * step];
        continue;
      }
      for (int64_t k = 0; k < p; ++k) {
        Complex sum = t[0];
        for (int64_t r = 1; r < p; ++r) sum = sum + t[r] * plan.roots[r * k % p * turn];
        to[s * k] = sum * plan.roots[j * k * step];
      }
    }
}

// The transform of x; a and b are buffers of n, the result is in one of them.
Complex* run_radices(const Radices& plan, Complex* a, Complex* b) {
  int64_t left = plan.n, s = 1;
  for (int i = 0; i < plan.count; ++i) {
    const int64_t p = plan.radix[i];
    left /= p;
    pass(plan, p, left, s, a, b);
    std::swap(a, b);
    s *= p;
  }
  return a;
}

// The transform of length n, directly or as a convolution of a longer one.
struct Plan {
  Radices radices;  // of n, or of the convolution
  int64_t n = 0;
  bool is_direct = true;
  Complex* chirp = nullptr;   // [n]: exp(-pi i j^2 / n)
  Complex* filter = nullptr;  // the transform of the conjugate chirp, over the length

  explicit Plan(int64_t length) : n(length) {
    is_direct = radices.factor(length);
    if (is_direct) return;
    int64_t m = 1;
    while (m < 2 * length - 1) m *= 2;
    radices = {};
    radices.factor(m);
  }
  int64_t table() const { return radices.n + (is_direct ? 0 : n + radices.n); }
  // Two buffers of a worker.
  int64_t buffers() const { return 2 * radices.n; }
  void fill(Complex* at, Complex* work) {
    radices.roots = at;
    radices.fill_roots();
    if (is_direct) return;
    chirp = at + radices.n, filter = chirp + n;
    for (int64_t j = 0; j < n; ++j) chirp[j] = root(j * j % (2 * n), 2 * n);
    std::fill_n(work, radices.n, Complex{});
    for (int64_t j = 0; j < n; ++j) {
      work[j] = conj(chirp[j]);
      if (j > 0) work[radices.n - j] = conj(chirp[j]);
    }
    std::copy_n(run_radices(radices, work, work + radices.n), radices.n, filter);
  }
  // Of x, which stands at the start of the buffers.
  Complex* run(Complex* work) const {
    if (is_direct) return run_radices(radices, work, work + radices.n);
    const int64_t m = radices.n;
    for (int64_t j = 0; j < n; ++j) work[j] = work[j] * chirp[j];
    std::fill_n(work + n, m - n, Complex{});
    Complex* y = run_radices(radices, work, work + m);
    // The inverse transform by the forward one of the conjugates.
    for (int64_t j = 0; j < m; ++j) y[j] = conj(y[j] * filter[j]);
    y = run_radices(radices, y, y == work ? work + m : work);
    for (int64_t j = 0; j < n; ++j) {
      const Complex c = conj(y[j]) * chirp[j];
      y[j] = {c.re / static_cast<double>(m), c.im / static_cast<double>(m)};
    }
    return y;
  }
};

template <class T>
T rounded(double x) {
  if constexpr (kIsNarrowFloat<T>) {
    return T::from(x);
  } else {
    return static_cast<T>(x);
  }
}

template <class T>
void run_row(const Fft& job, const Plan& plan, int64_t row, Complex* work) {
  const int64_t n = job.n, half = n / 2 + 1;
  const bool from_real = job.kind == Fft::Kind::to_half, from_half = job.kind == Fft::Kind::to_real;
  const int64_t in = from_real ? n : 2 * (from_half ? half : n);
  const int64_t out = from_half ? n : 2 * (from_real ? half : n);
  const T* x = static_cast<const T*>(job.x) + row * in;
  T* y = static_cast<T*>(job.y) + row * out;
  const double sign = job.inverse ? -1 : 1;  // the inverse is the conjugate of the conjugate's
  for (int64_t j = 0; j < n; ++j) {
    const bool mirrored = from_half && j >= half;
    const int64_t at = mirrored ? n - j : j;
    if (from_real) {
      work[j] = {static_cast<double>(x[at]), 0};
      continue;
    }
    double im = static_cast<double>(x[2 * at + 1]);
    if (from_half && (at == 0 || 2 * at == n)) im = 0;
    work[j] = {static_cast<double>(x[2 * at]), (mirrored ? -im : im) * sign};
  }
  const Complex* result = plan.run(work);
  for (int64_t j = 0; j < (from_real ? half : n); ++j) {
    if (from_half) {
      y[j] = rounded<T>(result[j].re * job.factor);
    } else {
      y[2 * j] = rounded<T>(result[j].re * job.factor);
      y[2 * j + 1] = rounded<T>(result[j].im * sign * job.factor);
    }
  }
}

}  // namespace

Status fft(const Fft& job, ThreadPool& pool) {
  if (job.rows == 0 || job.n == 0) return {};
  Plan plan(job.n);
  const int64_t table = plan.table(), each = plan.buffers();
  const Scratch scratch((table + each * pool.size()) * static_cast<int64_t>(sizeof(Complex)));
  if (!scratch.ok()) return {.code = Status::Code::no_memory};
  Complex* at = scratch.at<Complex>();
  plan.fill(at, at + table);
  using RunRow = void (*)(const Fft&, const Plan&, int64_t, Complex*);
  const RunRow run = job.elem == Elem::f16    ? run_row<f16>
                     : job.elem == Elem::bf16 ? run_row<bf16>
                     : job.elem == Elem::f64  ? run_row<double>
                                              : run_row<float>;
  pool.run_ranges(job.rows, std::max<int64_t>(1, 4096 / job.n),
                  [&](int64_t begin, int64_t end, int worker) {
                    for (int64_t row = begin; row < end; ++row)
                      run(job, plan, row, at + table + worker * each);
                  });
  return {};
}

}  // namespace lamella::cpu
