#include "lamella/backends/mlx/gpu_wide.h"

#include "lamella/base/error.h"
#include "lamella/base/special.h"

namespace lamella::on_mlx {
namespace {

constexpr const char* kNumbers = R"(
FN double infinity() { return __longlong_as_double(0x7ff0000000000000ll); }
FN double not_a_number() { return __longlong_as_double(0x7ff8000000000000ll); }
)";

constexpr const char* kRandom = R"(
FN double log_gamma(double x) { return lgamma(x); }
FN u32 random_word(const u32* key, u64 i) {
  u32 c0 = (u32)(i / 4), c1 = (u32)(i / 4 >> 32), c2 = key[2], c3 = key[3];
  u32 k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; ++round) {
    const u64 a = (u64)0xD2511F53u * c0, b = (u64)0xCD9E8D57u * c2;
    c0 = (u32)(b >> 32) ^ c1 ^ k0;
    c1 = (u32)b;
    c2 = (u32)(a >> 32) ^ c3 ^ k1;
    c3 = (u32)a;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return i % 4 == 0 ? c0 : i % 4 == 1 ? c1 : i % 4 == 2 ? c2 : c3;
}
FN double uniform_at(const u32* key, u64 i) {
  return ((double)random_word(key, i) + 0.5) * (1.0 / 4294967296.0);
}
// Does v at i come before b at j? NaN is greatest, and of equal ones the first comes first.
FN bool comes_first(double v, int i, double b, int j) {
  if ((v != v) != (b != b)) return v != v;
  return v == v && v != b ? v > b : i < j;
}
)";

constexpr const char* kUnaryBody = R"(
const u64 at = (u64)group_at.x * 256 + local_at;
if (at < (u64)x_shape[0]) y[at] = (float)F((double)x[at]);
)";

constexpr const char* kBinaryBody = R"(
const u64 at = (u64)group_at.x * 256 + local_at;
if (at < (u64)x_shape[0]) y[at] = (float)F((double)x[at], (double)x2[at]);
)";

constexpr const char* kTruncatedBody = R"(
const u64 at = (u64)group_at.x * 256 + local_at;
const double* l = (const double*)limits;
if (at < ((const u64*)limits)[4])
  y[at] = (float)(l[2] + l[3] * inverse_erf(l[0] + l[1] * uniform_at(key, at)));
)";

constexpr const char* kCategoricalBody = R"(
SHARED double most[256];
SHARED int place[256];
const int n = logits_shape[1];
const u64 first = (u64)group_at.x * n;
double v = -infinity();
int best = 0x7fffffff;
for (int i = local_at; i < n; i += 256) {
  const double score = (double)logits[first + i] - log(-log(uniform_at(key, first + i)));
  if (comes_first(score, i, v, best)) {
    v = score;
    best = i;
  }
}
most[local_at] = v;
place[local_at] = best;
for (int step = 128; step > 0; step /= 2) {
  BARRIER;
  if (local_at < step && comes_first(most[local_at + step], place[local_at + step],
                                     most[local_at], place[local_at])) {
    most[local_at] = most[local_at + step];
    place[local_at] = place[local_at + step];
  }
}
if (local_at == 0) y[group_at.x] = place[0];
)";

// Elimination with partial pivoting of rows of n + k; It ends at a pivot of 0.
constexpr const char* kEliminate = R"(
SHARED double most[256];
SHARED int place[256];
const int n = a_shape[1], width = n + k;
const u64 system = group_at.x;
double* m = (double*)work + system * n * width;
for (int e = local_at; e < n * width; e += 256) {
  const int i = e / width, j = e % width;
  m[e] = j < n ? (double)a[(system * n + i) * n + j] : RIGHT(i, j - n);
}
double det = 1;
bool is_singular = false;
for (int j = 0; j < n; ++j) {
  BARRIER;
  double size = -1;
  int row = n;
  for (int i = j + local_at; i < n; i += 256)
    if (fabs(m[i * width + j]) > size) {
      size = fabs(m[i * width + j]);
      row = i;
    }
  most[local_at] = size;
  place[local_at] = row;
  for (int step = 128; step > 0; step /= 2) {
    BARRIER;
    if (local_at < step && comes_first(most[local_at + step], place[local_at + step],
                                       most[local_at], place[local_at])) {
      most[local_at] = most[local_at + step];
      place[local_at] = place[local_at + step];
    }
  }
  BARRIER;
  const bool is_number = m[j * width + j] == m[j * width + j];
  const int pivot = is_number && place[0] < n ? place[0] : j;
  const double at_pivot = m[pivot * width + j];
  det = pivot == j ? det * at_pivot : -det * at_pivot;
  BARRIER;
  is_singular = at_pivot == 0;
  if (is_singular) break;
  for (int c = local_at; c < width && pivot != j; c += 256) {
    const double other = m[pivot * width + c];
    m[pivot * width + c] = m[j * width + c];
    m[j * width + c] = other;
  }
  BARRIER;
  for (int i = j + 1 + local_at; i < n; i += 256) m[i * width + j] /= at_pivot;
  BARRIER;
  const int rest = width - j - 1;
  for (int e = local_at; e < (n - j - 1) * rest; e += 256) {
    const int i = j + 1 + e / rest, c = j + 1 + e % rest;
    m[i * width + c] -= m[i * width + j] * m[j * width + c];
  }
}
)";

constexpr const char* kDetEnd = R"(
if (local_at == 0) y[system] = is_singular ? 0.0f : (float)det;
)";

constexpr const char* kSolveEnd = R"(
for (int i = n - 1; i >= 0 && !is_singular; --i) {
  BARRIER;
  for (int c = local_at; c < k; c += 256) m[i * width + n + c] /= m[i * width + i];
  BARRIER;
  for (int e = local_at; e < i * k; e += 256) {
    const int r = e / k, c = n + e % k;
    m[r * width + c] -= m[r * width + i] * m[i * width + c];
  }
}
BARRIER;
for (int e = local_at; e < n * k; e += 256)
  y[system * n * k + e] = (float)m[e / k * width + n + e % k];
if (local_at == 0) bad[system] = is_singular;
)";

constexpr const char* kTriangularBody = R"(
SHARED int has_zero;
const int n = a_shape[1], k = b_shape[2];
const int row = TRANSPOSE ? 1 : n, column = TRANSPOSE ? n : 1;
const bool ascends = (UPPER != 0) == (TRANSPOSE != 0);
const u64 system = group_at.x;
const float* m = a + system * n * n;
double* v = (double*)work + system * n * k;
if (local_at == 0) has_zero = 0;
for (int e = local_at; e < n * k; e += 256) v[e] = (double)b[system * n * k + e];
BARRIER;
for (int i = local_at; i < n && !UNIT; i += 256)
  if (m[i * n + i] == 0) has_zero = 1;
for (int step = 0; step < n; ++step) {
  BARRIER;
  const int i = ascends ? step : n - 1 - step, first = ascends ? i + 1 : 0, left = n - 1 - step;
  for (int c = local_at; c < k && !UNIT; c += 256) v[i * k + c] /= (double)m[i * n + i];
  BARRIER;
  for (int e = local_at; e < left * k; e += 256) {
    const int r = first + e / k, c = e % k;
    v[r * k + c] -= (double)m[r * row + i * column] * v[i * k + c];
  }
}
BARRIER;
for (int e = local_at; e < n * k; e += 256) y[system * n * k + e] = (float)v[e];
if (local_at == 0) bad[system] = has_zero;
)";

// The factor U with U^T U = a, row by row; of a lower one the transpose.
constexpr const char* kCholeskyBody = R"(
const int n = a_shape[1], row = UPPER ? n : 1, column = UPPER ? 1 : n;
const u64 system = group_at.x;
double* u = (double*)work + system * n * n;
for (int e = local_at; e < n * n; e += 256) {
  const int i = e / n, j = e % n;
  u[e] = (UPPER ? j >= i : j <= i) ? (double)a[system * n * n + e] : 0;
}
int is_bad = 0;
for (int i = 0; i < n; ++i) {
  BARRIER;
  const double square = u[i * n + i];
  const double root = sqrt(square);
  BARRIER;
  is_bad = !(square > 0);
  if (is_bad) break;
  for (int j = i + local_at; j < n; j += 256)
    u[i * row + j * column] = j == i ? root : u[i * row + j * column] / root;
  BARRIER;
  const int rest = n - i - 1;
  for (int e = local_at; e < rest * rest; e += 256) {
    const int r = i + 1 + e / rest, c = i + 1 + e % rest;
    if (c >= r) u[r * row + c * column] -= u[i * row + r * column] * u[i * row + c * column];
  }
}
BARRIER;
for (int e = local_at; e < n * n; e += 256) y[system * n * n + e] = (float)u[e];
if (local_at == 0) bad[system] = is_bad;
)";

const std::string kDetText =
    str("const int k = 0;\n#define RIGHT(i, c) 0.0\n", kEliminate, kDetEnd);
const std::string kSolveText =
    str("const int k = b_shape[2];\n#define RIGHT(i, c) (double)b[(system * n + (i)) * k + (c)]\n",
        kEliminate, kSolveEnd);

}  // namespace

std::string gpu_wide_prelude() { return str(kNumbers, special_source(), kRandom); }

std::string gpu_function(std::string_view name) { return str("#define F ", name, "\n"); }

const GpuKernel kWideUnary{"unary", kUnaryBody, kWideThreads};
const GpuKernel kWideBinary{"binary", kBinaryBody, kWideThreads};
const GpuKernel kTruncated{"truncated_normal", kTruncatedBody, kWideThreads};
const GpuKernel kCategorical{"categorical", kCategoricalBody, kWideThreads};
const GpuKernel kDet{"det", kDetText, kWideThreads};
const GpuKernel kSolve{"solve", kSolveText, kWideThreads};
const GpuKernel kTriangular{"triangular_solve", kTriangularBody, kWideThreads};
const GpuKernel kCholesky{"cholesky", kCholeskyBody, kWideThreads};

}  // namespace lamella::on_mlx
