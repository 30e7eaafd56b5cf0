// Products with every block format on the mlx back end against the f64 meaning, for few and many
// rows, through every row that takes them.
#include <gtest/gtest.h>

#include "lamella/backends/mlx/mlx.h"
#include "tests/mlx/product.h"

namespace lamella {
namespace {

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
      const test::Product p = test::product(format, m, 5, 512);
      for (const Backend* backend : {lazy.get(), core.get()})
        for (Phase phase : {Phase::bulk, Phase::decode}) {
          const auto program = compile(p.graph, *backend, {.phase = phase, .exact = true});
          EXPECT_EQ(p.n_bad(program->run(p.inputs()).at("y0").to_doubles()), 0)
              << info.name << ", " << m;
        }
    }
  }
  EXPECT_GE(n_formats, 26);
}

}  // namespace
}  // namespace lamella
