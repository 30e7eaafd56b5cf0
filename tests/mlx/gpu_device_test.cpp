// The device `gpu` of the mlx back end without one: its rows, plans and states as on a GPU, over
// kernels that are compiled for the CPU.
#include <gtest/gtest.h>

#include <bit>
#include <map>

#include "lamella/backends/cpu/cpu.h"
#include "lamella/backends/mlx/gpu_emulation.h"
#include "lamella/backends/mlx/mlx.h"
#include "lamella/check/parity.h"
#include "lamella/frontends/checkpoint.h"
#include "lamella/lm/engine.h"
#include "lamella/ops/attention/kv_append.h"
#include "lamella/ops/attention/paged_attention.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/reshape.h"
#include "tests/mlx/gpu_library.h"
#include "tests/support/golden.h"

namespace lamella {
namespace {

std::string type_of(DType dtype) {
  static const std::map<std::string_view, std::string> kNames{
      {"f32", "float"}, {"f16", "shim_half"}, {"bf16", "shim_bf16"}, {"u8", "u8"}, {"i32", "int"}};
  return kNames.at(dtype.name());
}

// Compiles each source once.
std::shared_ptr<const MlxEmulation> emulation() {
  static std::map<std::string, std::shared_ptr<test::Library>> libraries;
  auto made = std::make_shared<MlxEmulation>();
  made->compile = [](const GpuSource& s) {
    std::vector<test::GpuOperand> inputs, outputs;
    for (const auto& x : s.inputs) inputs.push_back({type_of(x.dtype), x.name});
    for (const auto& y : s.outputs) outputs.push_back({type_of(y.dtype), y.name});
    const std::string text =
        test::shim_prelude() + (s.format ? on_mlx::gpu_decoder(*s.format) : "") +
        test::shim_function("run", s.kernel, s.constants, inputs, outputs, s.parts);
    auto& library = libraries[text];
    if (!library) library = std::make_shared<test::Library>(text);
    CHECK_INTERNAL(library->is_loaded(), "no library of kernel ", s.kernel.name);
    return MlxEmulation::Launch(library->find("run"));
  };
  return made;
}

std::unique_ptr<Backend> emulated_gpu() {
  return make_mlx_backend({.threads = 1, .device = MlxDevice::gpu, .emulation = emulation()});
}

bool can_run() { return has_mlx() && test::finds_cxx(); }
constexpr const char* kCannot = "built without MLX, or no g++ here";

TEST(GpuDevice, RowsMatchTheMeaning) {
  if (!can_run()) GTEST_SKIP() << kCannot;
  for (const char* pattern : {"add_rms_norm", "gated_mlp_up", "kv_append", "multi_linear",
                              "paged_attention", "rope", "unpack"}) {
    check::ParityOptions options;
    options.subjects.push_back({"mlx", emulated_gpu()});
    options.op_pattern = pattern;
    options.samples_per_op = 12;
    const check::Report report = check_parity(options);
    EXPECT_TRUE(report.ok()) << report.text(false).substr(0, 2000);
    EXPECT_GE(report.count(check::Outcome::passed), 12) << pattern;
  }
}

struct Session {
  explicit Session(std::unique_ptr<Backend> by) : backend(std::move(by)) {
    const Checkpoint checkpoint =
        load_checkpoint((test::golden_dir() / "arch" / "qwen3.gguf").string());
    Model model = build_model(checkpoint, {.kv_type = kF32, .context = 128});
    auto weights = std::make_shared<Weights>();
    for (const auto& [name, tensor] : model.weights) weights->set(name, tensor);
    engine =
        std::make_unique<Engine>(std::move(model), std::move(weights), *backend,
                                 EngineOptions{.context = 128, .max_sequences = 3, .exact = true});
  }
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Engine> engine;
};

// Two sequences in one prompt step, decode steps of both, a roll-back.
std::vector<float> logits_of(Session& s) {
  Sequence a(*s.engine), b(*s.engine);
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < 70; ++i) tokens.push_back(7 * i % 50);
  std::vector<float> all;
  const auto step = [&](std::vector<StepItem> items, Phase phase) {
    const Tensor logits = s.engine->step(items, phase);
    all.insert(all.end(), logits.as<float>(), logits.as<float>() + logits.numel());
  };
  const std::span<const int32_t> t(tokens);
  step({{&a, t, Rows::last}, {&b, t.first(5), Rows::last}}, Phase::bulk);
  for (size_t i = 0; i < 3; ++i)
    step({{&a, t.subspan(i, 1), Rows::last}, {&b, t.subspan(i + 1, 1), Rows::last}}, Phase::decode);
  a.truncate(66);
  step({{&a, t.subspan(9, 2), Rows::all}}, Phase::decode);
  return all;
}

TEST(GpuDevice, SequencesGiveTheCpusLogitsAndStatesAreWrittenInPlace) {
  if (!can_run()) GTEST_SKIP() << kCannot;
  Session gpu(emulated_gpu()), cpu(make_cpu_backend({.threads = 1}));
  const std::vector<float> got = logits_of(gpu), want = logits_of(cpu);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 2e-3) << i;
  // What is copied is what is handed out.
  EXPECT_LE(mlx_counts(*gpu.backend).copied_bytes,
            static_cast<int64_t>(got.size() * sizeof(float)));
}

// Attention and the product behind it, rounded to bf16 in bulk. Long sums, so that it is worth it.
TEST(GpuDevice, BulkRoundsWhatIsReadRounded) {
  if (!can_run()) GTEST_SKIP() << kCannot;
  Graph g;
  const Dim tokens = g.symbol("tokens"), pages = g.symbol("pages");
  const Value q = g.input("q", Type(kF32, {tokens, 16, 64})),
              k = g.input("k", Type(kF32, {tokens, 4, 64})),
              start = g.input("start", Type(kI32, {2})),
              table = g.input("table", Type(kI32, {1, 3})),
              length = g.input("length", Type(kI32, {1}));
  const Value before = g.state("cache", Type(kF16, {pages, 16, 4, 64}));
  const Value after = kv_append(before, k, start, table, length);
  g.set_state("cache", after);
  const Value y = paged_attention({q, after, after, start, table, length}, {});
  const Value w = g.parameter("w", Type(find_dtype("q8_0"), {8, 1024}));
  g.output("y", matmul(reshape_to(y, {tokens, 1024}), w) + 1.0);
  Weights weights;
  const auto numbers = [](std::vector<int64_t> shape, double step) {
    std::vector<double> v;
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    for (int64_t i = 0; i < n; ++i) v.push_back(std::sin(static_cast<double>(i) * step));
    return Tensor::from(kF32, std::move(shape), v);
  };
  const Tensor plain = numbers({8, 1024}, 0.37);
  Tensor packed(find_dtype("q8_0"), {8, 1024});
  for (int64_t row = 0; row < 8; ++row) {
    const quant::Format& format = *packed.dtype().info().format;
    const int64_t at = row * format.blocks(1024) * format.block_bytes();
    quant::encode_row(format, plain.as<const float>() + row * 1024, 1024,
                      {reinterpret_cast<uint8_t*>(packed.data()) + at});
  }
  weights.set("w", packed);
  const auto ints = [](std::vector<int32_t> v) {
    return Tensor::copy_of(kI32, {static_cast<int64_t>(v.size())}, v.data());
  };
  const std::vector<int32_t> order{2, 0, 1};
  const auto run = [&](const Backend& backend, bool exact) {
    const auto program = compile(g, backend, {.phase = Phase::bulk, .exact = exact});
    Execution execution(program, weights);
    const Tensor inputs[] = {numbers({40, 16, 64}, 0.11), numbers({40, 4, 64}, 0.07), ints({0, 40}),
                             Tensor::copy_of(kI32, {1, 3}, order.data()), ints({40})};
    Tensor states[] = {Tensor::from(kF16, {3, 16, 4, 64}, std::vector<double>(3 * 16 * 4 * 64))};
    Tensor outputs[1];
    execution.run(inputs, states, outputs);
    return outputs[0].to_doubles();
  };
  const auto gpu = emulated_gpu();
  const std::vector<double> got = run(*gpu, false),
                            want = run(*make_cpu_backend({.threads = 1}), true);
  ASSERT_EQ(got.size(), want.size());
  double off = 0, size = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    off += (got[i] - want[i]) * (got[i] - want[i]);
    size += want[i] * want[i];
  }
  EXPECT_GT(off, 0);  // it was rounded
  EXPECT_EQ(mlx_counts(*gpu).unpacked_bytes, 2 * 8 * 1024);
  EXPECT_LT(std::sqrt(off / size), 1e-2);
}

}  // namespace
}  // namespace lamella
