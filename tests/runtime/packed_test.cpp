// Weights of every format stay packed: products and look-ups by the CPU back end against f64, and
// the bytes that a run needs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "lamella/backends/cpu/cpu.h"
#include "lamella/ops/index/gather.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/quant/unpack.h"
#include "lamella/runtime/program.h"

namespace lamella {
namespace {

// Bytes whose scales are small numbers in every format.
Tensor random_weights(DType dtype, int64_t n, int64_t k) {
  Tensor t(dtype, {n, k});
  std::mt19937 rng(7);
  for (size_t i = 0; i < t.bytes(); ++i) t.data()[i] = static_cast<std::byte>(rng() & 0x3b);
  return t;
}

Graph product_and_look_up(DType dtype, int64_t n, int64_t k) {
  Graph g;
  const Value w = g.parameter("w", Type(dtype, {n, k}));
  g.output("y", matmul(g.input("x", Type(kF32, {g.symbol("rows"), k})), w));
  g.output("e", gather(w, g.input("ids", Type(kI32, {3})), {}));
  return g;
}

Tensor random_x(int64_t m, int64_t k) {
  Tensor x(kF32, {m, k});
  std::mt19937 rng(9);
  std::uniform_real_distribution<float> draw(-1, 1);
  for (int64_t i = 0; i < m * k; ++i) x.as<float>()[i] = draw(rng);
  return x;
}

const int32_t kIds[] = {12, 0, 5};
Tensor ids() { return Tensor::copy_of(kI32, {3}, kIds); }

// `step` is what one x may be off by, 1 / 254 of the largest when x is packed in bytes.
void expect_products(const Tensor& x, const std::vector<double>& w, const Tensor& y, double step) {
  const int64_t m = x.shape()[0], k = x.shape()[1], n = y.shape()[1];
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, sum_w = 0, most = 0;
      for (int64_t c = 0; c < k; ++c) {
        const double v = w[static_cast<size_t>(j * k + c)];
        sum += x.as<float>()[i * k + c] * v;
        sum_w += std::abs(v);
        most = std::max(most, std::abs(v));
      }
      const double rounding = 0x1p-20 * static_cast<double>(k) * most;
      ASSERT_NEAR(y.as<float>()[i * n + j], sum, step * sum_w + rounding) << i << ", " << j;
    }
  }
}

TEST(PackedWeights, EveryFormatAgainstF64) {
  const int64_t n = 13, k = 512;
  const auto cpu = make_cpu_backend({.threads = 2});
  for (const DTypeInfo& info : block_dtypes()) {
    SCOPED_TRACE(info.name);
    const DType dtype{info};
    const Graph g = product_and_look_up(dtype, n, k);
    Weights weights;
    weights.set("w", random_weights(dtype, n, k));
    const std::vector<double> w = weights.find("w")->to_doubles();
    for (const bool exact : {true, false}) {
      for (const Phase phase : {Phase::bulk, Phase::decode}) {
        const auto program = compile(g, *cpu, {.phase = phase, .exact = exact});
        for (const int64_t m : {1, 3, 64, 257}) {
          if (phase == Phase::decode && m > 3) continue;
          const Tensor x = random_x(m, k);
          const TensorMap out = program->run({{"x", x}, {"ids", ids()}}, weights);
          expect_products(x, w, out.at("y"), exact ? 0 : 1.01 / 254);
          for (int64_t i = 0; i < 3; ++i)
            for (int64_t c = 0; c < k; ++c)
              ASSERT_EQ(out.at("e").as<float>()[i * k + c],
                        w[static_cast<size_t>(kIds[i] * k + c)]);
        }
      }
    }
  }
}

// Less than a quarter of the matrix in f32 beside the parameters: nothing was unpacked.
TEST(PackedWeights, NoRunUnpacksThem) {
  const int64_t n = 1025, k = 1024, matrix = n * k * 4;
  const auto cpu = make_cpu_backend({.threads = 1});
  for (const DTypeInfo& info : block_dtypes()) {
    SCOPED_TRACE(info.name);
    const DType dtype{info};
    const Graph g = product_and_look_up(dtype, n, k);
    Weights weights;
    weights.set("w", Tensor(dtype, {n, k}));
    for (const Phase phase : {Phase::bulk, Phase::decode}) {
      const auto program = compile(g, *cpu, {.phase = phase});
      for (const Node& node : program->graph().nodes())
        EXPECT_FALSE(node.is(op<Unpack>) && program->graph().type(node.inputs[0]).dtype == dtype &&
                     program->graph().node(node.inputs[0]).is(op<Parameter>));
      for (const ValueId& p : program->graph().parameters())
        EXPECT_EQ(program->graph().type(p).dtype, dtype);
      Execution execution(program, weights);
      const Tensor inputs[] = {random_x(phase == Phase::bulk ? 16 : 1, k), ids()};
      Tensor outputs[2];
      execution.run(inputs, {}, outputs);
      EXPECT_LT(execution.arena_bytes(), matrix / 4);
    }
  }
}

}  // namespace
}  // namespace lamella
