// Sizes beyond the machine's memory are refused before anything of them is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lamella/backends/cpu/cpu.h"
#include "lamella/base/error.h"
#include "lamella/base/memory.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/math/exp.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/runtime/program.h"

namespace lamella {
namespace {

using testing::HasSubstr;

// a b^T, or the sum of its exponentials.
Graph outer_product(bool summed) {
  Graph g;
  const Value a = g.input("a", Type(kF32, {g.symbol("n"), 1}));
  const Value b = g.input("b", Type(kF32, {g.symbol("m"), 1}));
  const Value y = matmul(a, b);
  g.output("y", summed ? sum(exp(y)) : y);
  return g;
}

void expect_refused(const Program& program, const std::string& message) {
  const Tensor a(kF32, {int64_t{1} << 21, 1});  // 16 TiB for all pairs
  const int64_t before = peak_rss_bytes();
  try {
    program.run({{"a", a}, {"b", a}});
    FAIL();
  } catch (const DeviceError& e) {
    EXPECT_THAT(e.what(), HasSubstr(message));
    EXPECT_THAT(e.what(), HasSubstr("16.00 TiB"));
    EXPECT_THAT(e.what(), HasSubstr("of free memory"));
  }
  EXPECT_LT(peak_rss_bytes() - before, int64_t{64} << 20);
}

TEST(Memory, ARunBeyondItIsRefusedAndTheNextOneWorks) {
  const auto backend = make_cpu_backend({.threads = 1});
  const Tensor one = Tensor::from(kF32, {2, 1}, std::vector<double>{0, 0});
  for (bool summed : {true, false}) {
    const auto program = compile(outer_product(summed), *backend);
    expect_refused(*program, summed ? "intermediate values of these sizes need"
                                    : "tensor: f32[2097152, 2097152] needs");
    const TensorMap y = program->run({{"a", one}, {"b", one}});
    EXPECT_EQ(y.at("y").to_doubles()[0], summed ? 4 : 0);
  }
}

TEST(Memory, WhatTheSystemHasNotIsNotGranted) {
  const int64_t free = available_memory_bytes();
  ASSERT_GT(free, 0);
  EXPECT_THROW(Tensor(kU8, {int64_t{1} << 45}), DeviceError);
}

}  // namespace
}  // namespace lamella
