// What training sees of fake quantisation: the gradient that stands for its own, and a moving scale
// as a state.
#include "lamella/ops/quant/fake_quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lamella/autodiff/grad.h"
#include "lamella/backends/cpu/cpu.h"
#include "lamella/backends/reference/reference.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/runtime/program.h"

namespace lamella {
namespace {

using ::testing::ElementsAreArray;

Tensor floats(std::vector<int64_t> shape, const std::vector<float>& values) {
  return Tensor::copy_of(kF32, std::move(shape), values.data());
}

std::vector<std::shared_ptr<const Backend>> back_ends() {
  return {make_cpu_backend({.threads = 1}), make_reference_backend()};
}

TEST(FakeQuantize, GradientsOfALearntScale) {
  Graph g;
  const Value x = g.input("x", Type(kF32, {6})), s = g.input("s", Type(kF32, Shape{}));
  const Values q = fake_quantize(
      x, s, {.bits = 2, .mode = ScaleMode::learnt, .gradient = StraightThrough::clipped});
  g.output("loss", sum(q[0] * g.input("w", Type(kF32, {6}))));
  const Graph by = grad(g, {.outputs = {}, .wrt = {"x", "s"}});
  // x / s = -6, -1.2, 0.4, 1, 2.6, 5.2, with codes up to 1.
  const TensorMap inputs{{"x", floats({6}, {-3, -0.6f, 0.2f, 0.5f, 1.3f, 2.6f})},
                         {"s", floats({}, {0.5f})},
                         {"w", floats({6}, {1, 2, 3, 4, 5, 6})}};
  for (const auto& backend : back_ends()) {
    const TensorMap got = compile(by, *backend)->run(inputs);
    EXPECT_NEAR(got.at("loss").to_doubles()[0], 0.5 * (-1 - 2 + 4 + 5 + 6), 1e-6);
    EXPECT_THAT(got.at("grad.x").to_doubles(), ElementsAreArray({0, 2, 3, 4, 0, 0}));
    EXPECT_NEAR(got.at("grad.s").to_doubles()[0], (-1 - 2 - 0.4 * 3 + 4 + 5 + 6) / std::sqrt(6.0),
                1e-5);
  }
}

TEST(FakeQuantize, AMovingScaleIsAState) {
  Graph g;
  const Value x = g.input("x", Type(kF32, {3}));
  const Value before = g.state("scale", Type(kF32, Shape{}));
  const Values q = fake_quantize(x, before, {.bits = 4, .mode = ScaleMode::ema, .momentum = 0.75});
  g.output("y", q[0]);
  g.set_state("scale", q[1]);
  for (const auto& backend : back_ends()) {
    const auto program = compile(g, *backend);
    TensorMap states{{"scale", floats({}, {0})}};
    (void)program->run({{"x", floats({3}, {-7, 1, 3})}}, {}, &states);
    EXPECT_EQ(states.at("scale").to_doubles()[0], 1);
    const TensorMap got = program->run({{"x", floats({3}, {21, -4, 1})}}, {}, &states);
    EXPECT_EQ(states.at("scale").to_doubles()[0], 0.75 + 0.25 * 3);
    EXPECT_THAT(got.at("y").to_doubles(), ElementsAreArray({10.5, -4.5, 1.5}));
  }
}

}  // namespace
}  // namespace lamella
