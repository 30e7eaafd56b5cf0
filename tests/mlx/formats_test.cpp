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

// A matrix of 64 MiB in f32: what a product takes beside its operands is less than a quarter of it.
TEST(MlxFormats, NothingIsUnpacked) {
  if (!has_mlx()) GTEST_SKIP() << "built without MLX; ./x setup installs it";
  constexpr int64_t kSize = 4096;
  const auto backend = make_mlx_backend({.threads = 2});
  for (const quant::Format& f : quant::formats()) {
    if (f.gguf_type == quant::Format::kNoGguf) continue;
    Graph g;
    const Value x = g.input("x", Type(kF32, {g.symbol("m"), kSize}));
    const Value w = g.parameter("w", Type(find_dtype(f.name), {kSize, kSize}));
    g.output("y", matmul(x, w));
    Weights weights;
    weights.set("w", Tensor(find_dtype(f.name), {kSize, kSize}));
    for (Phase phase : {Phase::bulk, Phase::decode}) {
      const auto program = compile(g, *backend, {.phase = phase});
      Execution execution(program, weights);
      for (int64_t m : {1, 3, 64, 257}) {
        const Tensor inputs[] = {Tensor(kF32, {m, kSize})};
        Tensor outputs[1];
        execution.run(inputs, {}, outputs);
        DimBinding binding(g.dims()->n_symbols());
        binding[0] = m;
        EXPECT_LT(program->estimate_memory(binding).arena_bytes + execution.arena_bytes(),
                  kSize * kSize)
            << f.name << ", " << m;
      }
    }
  }
}

}  // namespace
}  // namespace lamella
