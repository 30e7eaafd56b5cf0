// The kernels that compute in f64 inside, compiled for the CPU: against the ops' meaning.
#include "lamella/backends/mlx/gpu_wide.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "lamella/base/error.h"
#include "lamella/base/special.h"
#include "lamella/ops/evaluate.h"
#include "lamella/ops/linalg/cholesky.h"
#include "lamella/ops/linalg/det.h"
#include "lamella/ops/linalg/matrices.h"
#include "lamella/ops/linalg/solve.h"
#include "lamella/ops/linalg/triangular_solve.h"
#include "lamella/ops/random/categorical.h"
#include "lamella/ops/random/truncated_normal.h"
#include "tests/mlx/gpu_shim.h"

namespace lamella {
namespace {

using on_mlx::GpuKernel;

// What the bodies name; `sizes` are the n of a, the k of b, and how many of the rest.
constexpr const char* kOperands = R"(
static double __longlong_as_double(long long bits) { double v; memcpy(&v, &bits, 8); return v; }
typedef const void* In;
static const float *x, *x2, *logits, *a, *b;
static const u32 *key, *limits;
static float* y_floats;
static long long* y_longs;
static u32* work;
static int* bad;
static int x_shape[1], logits_shape[2], a_shape[3], b_shape[3];
static void bind(const void* const* in, const int* sizes, void* out, u32* w, int* flags) {
  x = a = (const float*)in[0]; x2 = logits = b = (const float*)in[1];
  key = (const u32*)in[0]; limits = (const u32*)in[1];
  y_floats = (float*)out; y_longs = (long long*)out; work = w; bad = flags;
  x_shape[0] = sizes[2]; logits_shape[1] = sizes[1];
  a_shape[1] = a_shape[2] = sizes[0]; b_shape[1] = sizes[0]; b_shape[2] = sizes[1];
}
)";

std::string function(const GpuKernel& kernel, const std::string& name, const std::string& first,
                     const char* y) {
  return str(
      "#undef F\n#undef RIGHT\nnamespace in_", name, " {\n", first, "static void run() {\n",
      test::kShimPlaces, "auto y = ", y, ";\n", kernel.body, "}\n}\n", "extern \"C\" void ", name,
      "(const void* const* in, const int* sizes, void* out, u32* w, int* flags, ",
      "int groups) {\n  bind(in, sizes, out, w, flags);\n  shim_kernel = in_", name,
      "::run;\n  for (int i = 0; i < groups; ++i) {\n    shim_group = {(unsigned)i, 0, 0};\n",
      "    shim_run_group(", kernel.threads, ");\n  }\n}\n");
}

std::string source() {
  std::string out =
      str("#include <math.h>\n", test::kShimPrelude, kOperands, on_mlx::gpu_wide_prelude());
  for (const char* name : {"log_gamma", "digamma_of", "trigamma_of", "inverse_erf"})
    out += function(on_mlx::kWideUnary, str("wide_", name), on_mlx::gpu_function(name), "y_floats");
  out += function(on_mlx::kWideBinary, "wide_polygamma", on_mlx::gpu_function("polygamma_of"),
                  "y_floats");
  out += function(on_mlx::kTruncated, "truncated", "", "y_floats");
  out += function(on_mlx::kCategorical, "categorical", "", "y_longs");
  out += function(on_mlx::kDet, "det", "", "y_floats");
  out += function(on_mlx::kSolve, "solve", "", "y_floats");
  for (int how = 0; how < 8; ++how) {
    const on_mlx::GpuConstant constants[] = {
        {"UPPER", how & 1}, {"TRANSPOSE", how >> 1 & 1}, {"UNIT", how >> 2}};
    out +=
        function(on_mlx::kTriangular, str("triangular", how), gpu_constants(constants), "y_floats");
  }
  for (int upper : {0, 1}) {
    const on_mlx::GpuConstant constants[] = {{"UPPER", upper}};
    out +=
        function(on_mlx::kCholesky, str("cholesky", upper), gpu_constants(constants), "y_floats");
  }
  return out;
}

class GpuWide : public testing::Test {
 public:
  static void SetUpTestSuite() {
    if (std::system("g++ --version > /dev/null 2>&1") != 0) return;
    std::string name = (std::filesystem::temp_directory_path() / "lamella_wide_XXXXXX").string();
    const std::filesystem::path folder = mkdtemp(name.data());
    std::ofstream(folder / "kernels.cpp") << source();
    const std::string path = (folder / "kernels").string();
    const std::string command =
        "g++ -std=c++17 -O1 -ffp-contract=off -w -shared -fPIC " + path + ".cpp -o " + path + ".so";
    if (std::system(command.c_str()) == 0) library = dlopen((path + ".so").c_str(), RTLD_NOW);
    std::filesystem::remove_all(folder);
  }
  static void TearDownTestSuite() {
    if (library) dlclose(std::exchange(library, nullptr));
  }
  void SetUp() override {
    if (std::system("g++ --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no g++ here";
    ASSERT_TRUE(library);
  }

  using Launch = void (*)(const void* const* in, const int* sizes, void* out, uint32_t* work,
                          int* bad, int groups);
  static void launch(const std::string& name, std::vector<const void*> in, std::vector<int> sizes,
                     void* out, int groups, uint32_t* work = nullptr, int* bad = nullptr) {
    const auto found = reinterpret_cast<Launch>(dlsym(library, name.c_str()));
    ASSERT_TRUE(found) << name;
    in.resize(2);
    found(in.data(), sizes.data(), out, work, bad, groups);
  }

  static void* library;
};
void* GpuWide::library = nullptr;

struct Row {
  const char* name;
  double (*meaning)(double);
};

TEST_F(GpuWide, SpecialFunctionsAreThoseOfTheCpu) {
  std::vector<float> x{0, -0.0f, 1, 2, -1, -3, INFINITY, -INFINITY, NAN, 1e30f, -1e30f, 1e-30f};
  std::mt19937 random(1);
  std::uniform_real_distribution<float> of(-12, 12);
  while (x.size() < 300) x.push_back(of(random));
  constexpr Row kRows[] = {{"wide_log_gamma", log_gamma},
                           {"wide_digamma_of", digamma_of},
                           {"wide_trigamma_of", trigamma_of},
                           {"wide_inverse_erf", inverse_erf}};
  for (const Row& row : kRows) {
    std::vector<float> y(x.size());
    launch(row.name, {x.data()}, {0, 0, static_cast<int>(x.size())}, y.data(), 2);
    for (size_t i = 0; i < x.size(); ++i) {
      const float want = static_cast<float>(row.meaning(static_cast<double>(x[i])));
      if (std::isnan(want))
        EXPECT_TRUE(std::isnan(y[i])) << row.name << " of " << x[i];
      else
        EXPECT_FLOAT_EQ(y[i], want) << row.name << " of " << x[i];
    }
  }
  std::vector<float> order, at, y(300);
  for (size_t i = 0; i < 300; ++i) {
    order.push_back(static_cast<float>(i % 23) - 1);
    at.push_back(of(random));
  }
  launch("wide_polygamma", {order.data(), at.data()}, {0, 0, 300}, y.data(), 2);
  for (size_t i = 0; i < 300; ++i) {
    const float want =
        static_cast<float>(polygamma_of(static_cast<double>(order[i]), static_cast<double>(at[i])));
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(y[i])) << order[i] << ", " << at[i];
      continue;
    }
    if (y[i] == want) continue;  // infinite, too
    EXPECT_LE(std::abs(y[i] - want), 1e-5f * std::abs(want)) << order[i] << ", " << at[i];
  }
}

constexpr int64_t kKey[] = {-7, 9};
RefTensor key_tensor() { return RefTensor::from(Tensor::from(kI64, {2}, std::span(kKey))); }

RefTensor as_ref(const std::vector<float>& v, std::vector<int64_t> shape) {
  RefTensor t(kF32, std::move(shape));
  t.f.assign(v.begin(), v.end());
  return t;
}

TEST_F(GpuWide, DrawsAreThoseOfTheMeaning) {
  Graph g("draws");
  const Value key = g.input("key", Type(kI64, {2}));
  g.output("y", truncated_normal(
                    key, {.shape = {300}, .low = -1, .high = 3, .mean = 4, .deviation = 0.5}));
  const auto want = evaluate_graph(g, {{"key", key_tensor()}}).outputs[0];
  const double low = std::erf(-1 / std::sqrt(2.0)), high = std::erf(3 / std::sqrt(2.0));
  const uint64_t limits[] = {std::bit_cast<uint64_t>(low), std::bit_cast<uint64_t>(high - low),
                             std::bit_cast<uint64_t>(4.0),
                             std::bit_cast<uint64_t>(std::sqrt(2.0) * 0.5), 300};
  std::vector<float> y(300);
  launch("truncated", {kKey, limits}, {0, 0, 0}, y.data(), 2);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_FLOAT_EQ(y[i], static_cast<float>(want.f[i]));
}

TEST_F(GpuWide, CategoricalTakesWhatTheMeaningTakes) {
  for (const int n : {1, 7, 700}) {
    Graph g("draws");
    const Value key = g.input("key", Type(kI64, {2})), x = g.input("x", Type(kF32, {33, n}));
    g.output("y", categorical(key, x));
    std::vector<float> logits;
    std::mt19937 random(2);
    std::uniform_real_distribution<float> of(-4, 4);
    for (int i = 0; i < 33 * n; ++i)
      logits.push_back(i % 5 == 0 ? -INFINITY : i == 11 ? NAN : of(random));
    const RefTensor rows = as_ref(logits, {33, n});
    const auto want = evaluate_graph(g, {{"key", key_tensor()}, {"x", rows}}).outputs[0];
    std::vector<int64_t> y(33);
    launch("categorical", {kKey, logits.data()}, {0, n, 0}, y.data(), 33);
    EXPECT_EQ(y, want.i) << n;
  }
}

std::vector<float> sample(int64_t batch, int64_t n, int64_t m, int64_t shift) {
  const In in = sample_matrices({batch, n, m}, shift);
  std::vector<float> small;  // so that determinants stay numbers of f32
  for (double v : in.values)
    small.push_back(static_cast<float>(v / static_cast<double>(n / 2 + 1)));
  return small;
}

void expect_near(const std::vector<float>& y, const RefTensor& want, const std::string& what) {
  ASSERT_EQ(y.size(), want.f.size());
  double most = 0;
  for (double v : want.f) most = std::max(most, std::abs(v));
  for (size_t i = 0; i < y.size(); ++i)
    ASSERT_NEAR(static_cast<double>(y[i]), want.f[i], 1e-7 * most) << what << ", " << i;
}

TEST_F(GpuWide, LinearSystemsMatchTheMeaning) {
  for (const int n : {1, 2, 5, 34})
    for (const int k : {1, 3}) {
      const std::string what = str(n, " by ", k);
      Graph g("systems");
      const Value a = g.input("a", Type(kF32, {2, n, n})), b = g.input("b", Type(kF32, {2, n, k}));
      g.output("solve", solve(a, b));
      g.output("det", det(a));
      for (int upper : {0, 1}) g.output(str("u", upper), cholesky(a, {.upper = upper == 1}));
      for (int how = 0; how < 4; ++how)
        g.output(str("t", how),
                 triangular_solve(a, b, {.upper = (how & 1) != 0, .transpose = how >> 1 != 0}));
      const std::vector<float> left = sample(2, n, n, 0), right = sample(2, n, k, 0);
      const auto want =
          evaluate_graph(g, {{"a", as_ref(left, {2, n, n})}, {"b", as_ref(right, {2, n, k})}})
              .outputs;
      const size_t rows = static_cast<size_t>(n), columns = static_cast<size_t>(k);
      std::vector<uint32_t> work(4 * rows * (rows + columns));
      std::vector<float> x(2 * rows * columns), u(2 * rows * rows), d(2);
      int bad[] = {-1, -1};
      const auto run = [&](const std::string& name, std::vector<float>& to) {
        launch(name, {left.data(), right.data()}, {n, k, 0}, to.data(), 2, work.data(), bad);
        EXPECT_TRUE(bad[0] <= 0 && bad[1] <= 0) << name << ", " << what;
      };
      run("solve", x), expect_near(x, want[0], "solve, " + what);
      run("det", d), expect_near(d, want[1], "det, " + what);
      for (int upper : {0, 1})
        run(str("cholesky", upper), u),
            expect_near(u, want[2 + static_cast<size_t>(upper)], "cholesky, " + what);
      for (int how = 0; how < 4; ++how)
        run(str("triangular", how), x),
            expect_near(x, want[4 + static_cast<size_t>(how)], "triangular, " + what);
    }
}

TEST_F(GpuWide, RowsAreExchangedAndBadMatricesFlagged) {
  // Sizes that need pivots in each column.
  const std::vector<float> a = sample(2, 34, 34, 7);
  Graph g("det");
  g.output("y", det(g.input("a", Type(kF32, {2, 34, 34}))));
  std::vector<uint32_t> work(4 * 34 * 35);
  std::vector<float> d(2);
  launch("det", {a.data()}, {34, 0, 0}, d.data(), 2, work.data());
  expect_near(d, evaluate_graph(g, {{"a", as_ref(a, {2, 34, 34})}}).outputs[0], "det");
  const float pair[] = {1, 0, 0, 1, 1, 2, 2, 4}, zero[] = {1, 0, 0, 1, 1, 3, 3, 0},
              b[] = {1, 1, 1, 1};
  float y[8];
  int bad[2];
  launch("solve", {pair, b}, {2, 1, 0}, y, 2, work.data(), bad);
  EXPECT_TRUE(bad[0] == 0 && bad[1] == 1);
  launch("det", {pair}, {2, 0, 0}, y, 2, work.data());
  EXPECT_TRUE(y[0] == 1 && y[1] == 0);
  launch("cholesky0", {pair}, {2, 0, 0}, y, 2, work.data(), bad);
  EXPECT_TRUE(bad[0] == 0 && bad[1] == 1);
  launch("triangular0", {zero, b}, {2, 1, 0}, y, 2, work.data(), bad);
  EXPECT_TRUE(bad[0] == 0 && bad[1] == 1);
  launch("triangular4", {zero, b}, {2, 1, 0}, y, 2, work.data(), bad);  // ones on the diagonal
  EXPECT_TRUE(bad[0] == 0 && bad[1] == 0);
}

}  // namespace
}  // namespace lamella
