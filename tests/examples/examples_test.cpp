// The example graphs on every back end, at three sizes of one compiled program each, against values
// that NumPy computed from the definitions in f64 (tests/golden/examples).
#include "examples/example.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "examples/graphs.h"
#include "lamella/backends/cpu/cpu.h"
#include "lamella/backends/mlx/mlx.h"
#include "lamella/backends/reference/reference.h"
#include "lamella/base/error.h"
#include "lamella/frontends/numpy/npy.h"
#include "tests/support/golden.h"

namespace lamella::examples {
namespace {

// |got - want| <= kSlack * e * max |want|, where e is what the reference's own code is off when it
// computes in f32 throughout: 1e-7 to 3e-6 for these networks. A back end adds up in another order,
// so its error is another draw of the same size; four times e leaves room for that and for no
// mistake. kFloor, four roundings of the output, is for outputs that hardly any arithmetic reaches.
constexpr double kSlack = 4, kFloor = 4 * 0x1p-24;

struct Maker {
  std::string_view name;
  std::unique_ptr<Backend> (*make)();
};
constexpr Maker kBackends[] = {
    {"reference", make_reference_backend},
    {"cpu", [] { return make_cpu_backend(); }},
    {"cpu_scalar", [] { return make_cpu_backend({.threads = 1, .isa = cpu::Isa::scalar}); }},
    {"mlx", [] { return make_mlx_backend(); }},
    {"mlx_compiled", [] { return make_mlx_backend({.mode = MlxMode::compiled}); }},
    {"mlx_gpu_rows", [] { return make_mlx_backend({.lowering = MlxLowering::gpu}); }},
};
bool is_missing(const Maker& maker) { return maker.name.starts_with("mlx") && !has_mlx(); }

Example find(std::string_view name) {
  for (const Example& e : all_examples())
    if (e.name == name) return e;
  throw InternalError(str("no example ", name));
}

using Sizes = std::vector<Size>;
struct Case {
  std::string_view example;
  std::vector<Sizes> sizes;
};
const Case kCases[] = {
    {"vocoder",
     {{{"batch", 1}, {"frames", 1}},
      {{"batch", 2}, {"frames", 7}},
      {{"batch", 3}, {"frames", 33}}}},
    {"speech_decoder",
     {{{"batch", 1}, {"steps", 1}}, {{"batch", 2}, {"steps", 5}}, {{"batch", 3}, {"steps", 19}}}},
    {"diffusion_step",
     {{{"batch", 1}, {"rows", 1}, {"columns", 1}},
      {{"batch", 2}, {"rows", 3}, {"columns", 5}},
      {{"batch", 3}, {"rows", 7}, {"columns", 4}}}},
    {"text_recogniser",
     {{{"batch", 1}, {"width", 4}}, {{"batch", 2}, {"width", 37}}, {{"batch", 3}, {"width", 101}}}},
    {"voice_detector",
     {{{"batch", 1}, {"hops", 1}}, {{"batch", 2}, {"hops", 5}}, {{"batch", 3}, {"hops", 16}}}},
};

std::string text_of(const Sizes& sizes) {
  std::string text;
  for (const Size& s : sizes) text += str(text.empty() ? "" : ",", s.name, "=", s.value);
  return text;
}

using Golden = std::map<std::string, Tensor>;
Golden golden_of(std::string_view example) {
  return read_npz((test::golden_dir() / "examples" / str(example, ".npz")).string());
}

void expect_output(const Golden& golden, const std::string& name, const Sizes& sizes,
                   const Tensor& got) {
  const Tensor& want = golden.at(str(name, "@", text_of(sizes)));
  ASSERT_EQ(got.shape(), want.shape()) << name;
  const std::vector<double> y = got.to_doubles(), expected = want.to_doubles();
  double most = 0, error = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    ASSERT_TRUE(std::isfinite(y[i])) << name << " element " << i;
    most = std::max(most, std::abs(expected[i]));
    error = std::max(error, std::abs(y[i] - expected[i]));
  }
  const double plain = golden.at("error@" + name).to_doubles()[0];
  EXPECT_LE(error / most, std::max(kSlack * plain, kFloor)) << name << ", f32 is off by " << plain;
}

class OnBackend : public testing::TestWithParam<std::tuple<const Case*, const Maker*>> {};

TEST_P(OnBackend, GivesNumPysValuesAtEachSize) {
  const auto [c, maker] = GetParam();
  if (is_missing(*maker)) GTEST_SKIP() << "built without MLX; ./x setup installs it";
  const Example example = find(c->example);
  const Golden golden = golden_of(c->example);
  const Graph graph = example.small();
  Weights weights;
  set_formula_weights(graph, weights);
  const auto backend = maker->make();
  const auto program = compile(graph, *backend);
  for (const Sizes& sizes : c->sizes) {
    SCOPED_TRACE(text_of(sizes));
    TensorMap states = formula_states(graph, sizes);
    const TensorMap inputs = formula_inputs(graph, example, sizes);
    const TensorMap outputs = program->run(inputs, weights, &states);
    for (const auto& [name, tensor] : outputs) expect_output(golden, name, sizes, tensor);
    for (const auto& [name, tensor] : states) expect_output(golden, name, sizes, tensor);
  }
}

std::vector<const Case*> cases() {
  std::vector<const Case*> list;
  for (const Case& c : kCases) list.push_back(&c);
  return list;
}
std::vector<const Maker*> makers() {
  std::vector<const Maker*> list;
  for (const Maker& m : kBackends) list.push_back(&m);
  return list;
}
INSTANTIATE_TEST_SUITE_P(Examples, OnBackend,
                         testing::Combine(testing::ValuesIn(cases()), testing::ValuesIn(makers())),
                         [](const auto& info) {
                           return str(std::get<0>(info.param)->example, "_on_",
                                      std::get<1>(info.param)->name);
                         });

TEST(Examples, EveryOneIsTested) {
  std::vector<std::string_view> tested, all;
  for (const Case& c : kCases) tested.push_back(c.example);
  for (const Example& e : all_examples()) all.push_back(e.name);
  EXPECT_EQ(tested, all);
}

TEST(Examples, LabelsAreReadAsNumPyReadsThem) {
  const Golden golden = golden_of("text_recogniser");
  for (const Sizes& sizes : kCases[3].sizes) {
    const Tensor& want = golden.at("labels@" + text_of(sizes));
    const std::vector<int64_t> rows = want.to_ints();
    const auto lines = collapse_ctc(golden.at("log_probs@" + text_of(sizes)));
    ASSERT_EQ(static_cast<int64_t>(lines.size()), want.shape()[0]);
    for (size_t line = 0; line < lines.size(); ++line) {
      const auto first = rows.begin() + static_cast<int64_t>(line) * want.shape()[1];
      EXPECT_EQ(lines[line],
                std::vector<int64_t>(first, std::find(first, first + want.shape()[1], -1)));
    }
  }
  // Nothing, one class twice with a blank between, a repeat at the end.
  const auto classes = [](const std::vector<int64_t>& best) {
    std::vector<double> values(best.size() * 3, -9.0);
    for (size_t i = 0; i < best.size(); ++i) values[i * 3 + static_cast<size_t>(best[i])] = 0;
    return Tensor::from(kF32, {static_cast<int64_t>(best.size()), 1, 3}, values);
  };
  EXPECT_THAT(collapse_ctc(classes({}))[0], testing::IsEmpty());
  EXPECT_THAT(collapse_ctc(classes({0, 0}))[0], testing::IsEmpty());
  EXPECT_THAT(collapse_ctc(classes({2, 2, 0, 2, 1, 1}))[0], testing::ElementsAre(2, 2, 1));
  EXPECT_THROW(collapse_ctc(Tensor(kF32, {2, 3})), UserError);
}

// Hops `first` to `first` + n of [batch, hops, hop].
Tensor hops_of(const Tensor& audio, int64_t first, int64_t n) {
  const int64_t hop = audio.shape()[2];
  return audio
      .strided({audio.shape()[0], n, hop}, audio.strides(),
               audio.byte_offset() + static_cast<size_t>(first * hop) * sizeof(float))
      .contiguous();
}

// Audio in chunks of any sizes gives the bits of the whole: the order of arithmetic does not depend
// on how many hops there are.
TEST(Examples, AudioInChunksIsTheWhole) {
  const Example example = find("voice_detector");
  const Graph graph = example.small();
  Weights weights;
  set_formula_weights(graph, weights);
  const Sizes sizes{{"batch", 2}, {"hops", 23}};
  const Tensor audio = formula_inputs(graph, example, sizes).at("chunk");
  for (const Maker& maker : kBackends) {
    if (is_missing(maker)) continue;
    SCOPED_TRACE(maker.name);
    const auto backend = maker.make();
    const auto program = compile(graph, *backend);
    TensorMap states = formula_states(graph, sizes);
    const std::vector<double> whole =
        program->run({{"chunk", audio}}, weights, &states).at("speech").to_doubles();
    TensorMap carried = formula_states(graph, sizes);
    int64_t at = 0;
    for (int64_t n : {1, 7, 1, 2, 12}) {
      const Tensor part =
          program->run({{"chunk", hops_of(audio, at, n)}}, weights, &carried).at("speech");
      const std::vector<double> got = part.to_doubles();
      for (int64_t row = 0; row < 2; ++row)
        for (int64_t i = 0; i < n; ++i)
          EXPECT_EQ(got[static_cast<size_t>(row * n + i)],
                    whole[static_cast<size_t>(row * 23 + at + i)])
              << "hop " << at + i;
      at += n;
    }
    for (const auto& [name, tensor] : states)
      EXPECT_EQ(carried.at(name).to_doubles(), tensor.to_doubles()) << name;
  }
}

TEST(Examples, FullSizesCanBeBuilt) {
  for (const Example& e : all_examples()) {
    const Graph graph = e.full();
    int64_t n = 0;
    for (ValueId id : graph.parameters()) n += graph.type(id).shape.numel().value();
    EXPECT_GT(n, 100'000) << e.name;
  }
}

TEST(Examples, SizesThatCannotBeAreRefused) {
  const Graph graph = text_recogniser();
  const auto backend = make_cpu_backend({.threads = 1});
  const auto program = compile(graph, *backend);
  Weights weights;
  set_formula_weights(graph, weights);
  for (int64_t width : {0, 3}) {
    try {
      program->run({{"image", Tensor(kF32, {1, 1, 32, width})}}, weights);
      FAIL() << width;
    } catch (const UserError& e) {
      EXPECT_THAT(e.what(), testing::HasSubstr("width"));
    }
  }
}

}  // namespace
}  // namespace lamella::examples
