// Products with every block format on the mlx back end against the f64 meaning, for few and many
// rows, through every row that takes them.
#include <gtest/gtest.h>

#include <cmath>

#include "lamella/backends/mlx/mlx.h"
#include "lamella/check/cases.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/runtime/program.h"

namespace lamella {
namespace {

constexpr int64_t kRows = 5, kLength = 512;

struct Product {
  Graph graph;
  TensorMap inputs;
  std::vector<double> want, scale;
};

Product product(DType format, int64_t m) {
  Samples samples;
  samples.add(
      {In{.shape = {m, kLength}, .dtype = kF32}, In{.shape = {kRows, kLength}, .dtype = format}},
      Matmul::Attrs{});
  const Sample& sample = samples.list[0];
  const check::Case c = check::make_case(op<Matmul>, 0, sample, kF32, 7);
  Product p{check::graph_of_case(op<Matmul>, sample, kF32), {}, {}, {}};
  RefTensors given, absolute;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    p.inputs[c.names[i]] = c.inputs[i];
    given[c.names[i]] = absolute[c.names[i]] = RefTensor::from(c.inputs[i]);
    for (double& v : absolute[c.names[i]].f) v = std::abs(v);
  }
  p.want = evaluate_graph(p.graph, given).outputs[0].f;
  p.scale = evaluate_graph(p.graph, absolute).outputs[0].f;
  return p;
}

// Elements that are further off than f32 sums of that length may be.
int64_t n_bad(const Product& p, const Tensor& y) {
  const double ulps = op<Matmul>.info.ulps + op<Matmul>.info.ulps_per_length * kLength;
  const std::vector<double> got = y.to_doubles();
  if (got.size() != p.want.size()) return static_cast<int64_t>(p.want.size());
  int64_t n = 0;
  for (size_t i = 0; i < got.size(); ++i)
    n += !(std::abs(got[i] - p.want[i]) <= ulps * 0x1p-23 * p.scale[i]);
  return n;
}

TEST(MlxFormats, ProductsMatchTheMeaning) {
  if (!has_mlx()) GTEST_SKIP() << "built without MLX; ./x setup installs it";
  const auto lazy = make_mlx_backend({.threads = 2});
  const auto core = make_mlx_backend({.threads = 2, .lowering = MlxLowering::gpu});
  int n_formats = 0;
  for (const DTypeInfo& info : block_dtypes()) {
    const DType format{info};
    if (info.format->n_planes > 1) continue;  // encodings of activations
    ++n_formats;
    for (int64_t m : {1, 3, 64, 257}) {
      const Product p = product(format, m);
      for (const Backend* backend : {lazy.get(), core.get()})
        for (Phase phase : {Phase::bulk, Phase::decode}) {
          const auto program = compile(p.graph, *backend, {.phase = phase, .exact = true});
          EXPECT_EQ(n_bad(p, program->run(p.inputs).at("y0")), 0) << info.name << ", " << m;
        }
    }
  }
  EXPECT_GE(n_formats, 26);
}

}  // namespace
}  // namespace lamella
