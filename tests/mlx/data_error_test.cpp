// What only the data make wrong is a UserError that names the op and the place, on every back end:
// MLX itself factors a matrix that is not positive definite to garbage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lamella/backends/cpu/cpu.h"
#include "lamella/backends/mlx/mlx.h"
#include "lamella/base/error.h"
#include "lamella/ops/linalg/cholesky.h"
#include "lamella/ops/linalg/solve.h"
#include "lamella/ops/linalg/triangular_solve.h"
#include "lamella/ops/nn/softmax_cross_entropy.h"
#include "lamella/runtime/program.h"

namespace lamella {
namespace {

struct Wrong {
  const char *op, *message;
  Value (*build)(Value x, Value b, Value labels);
};
const Wrong kWrong[] = {
    {"cholesky", "matrix 1 of the batch is not positive definite",
     [](Value x, Value, Value) { return cholesky(x); }},
    {"solve", "matrix 1 of the batch is singular",
     [](Value x, Value b, Value) { return solve(x, b); }},
    {"triangular_solve", "matrix 1 of the batch is singular",
     [](Value x, Value b, Value) { return triangular_solve(x, b); }},
    {"softmax_cross_entropy", "index out of range; got 2 at position 1",
     [](Value x, Value, Value labels) { return softmax_cross_entropy(x, labels); }},
};

Tensor numbers(DType dtype, std::vector<int64_t> shape, const std::vector<double>& values) {
  return Tensor::from(dtype, std::move(shape), values);
}

// The second matrix has no inverse, and a label no class.
TensorMap wrong_inputs() {
  return {{"x", numbers(kF32, {2, 2, 2}, {2, 1, 1, 3, 1, 1, 0, 0})},
          {"b", numbers(kF32, {2, 1}, {1, 2})},
          {"labels", numbers(kI64, {2, 2}, {0, 2, 1, 0})}};
}
TensorMap right_inputs() {
  TensorMap inputs = wrong_inputs();
  inputs["x"] = numbers(kF32, {2, 2, 2}, {2, 1, 1, 3, 1, 1, 0, 2});
  inputs["labels"] = numbers(kI64, {2, 2}, {0, 1, 1, 0});
  return inputs;
}

std::vector<std::shared_ptr<const Backend>> back_ends() {
  std::vector<std::shared_ptr<const Backend>> all{make_cpu_backend({.threads = 1}),
                                                  make_cpu_backend({.threads = 2})};
  if (has_mlx())
    for (MlxMode mode : {MlxMode::lazy, MlxMode::eager})
      all.push_back(make_mlx_backend({.threads = 1, .mode = mode}));
  return all;
}

TEST(DataErrors, NameTheOpAndThePlace) {
  for (const auto& backend : back_ends())
    for (const Wrong& wrong : kWrong) {
      Graph g;
      const Value x = g.input("x", Type(kF32, {2, 2, 2})), b = g.input("b", Type(kF32, {2, 1}));
      g.output("y", wrong.build(x, b, g.input("labels", Type(kI64, {2, 2}))));
      const auto program = compile(g, *backend);
      try {
        (void)program->run(wrong_inputs());
        ADD_FAILURE() << wrong.op << " took it";
      } catch (const UserError& e) {
        EXPECT_THAT(e.what(), testing::StartsWith(wrong.op));
        EXPECT_THAT(e.what(), testing::HasSubstr(wrong.message));
      }
      // The program goes on.
      EXPECT_FALSE(program->run(right_inputs()).empty());
    }
}

}  // namespace
}  // namespace lamella
