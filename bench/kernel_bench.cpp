// Speed of the CPU's kernels, a few cases a family. Filters: --benchmark_filter=attention/decode
//
// items_per_second counts elements; of attention scores, of products multiply-adds. THREADS and
// ISA as in setting.h. `--counts` runs each case twice, the second time in `counted_run`, and
// prints what was run: tools/count_instructions.py counts the instructions in there.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "lamella/base/error.h"
#include "lamella/base/function_ref.h"
#include "lamella/kernels/cpu/attention.h"
#include "lamella/kernels/cpu/conv.h"
#include "lamella/kernels/cpu/copy.h"
#include "lamella/kernels/cpu/gather.h"
#include "lamella/kernels/cpu/matmul.h"
#include "lamella/kernels/cpu/pack.h"
#include "lamella/kernels/cpu/reduce.h"
#include "lamella/kernels/cpu/rope.h"
#include "lamella/kernels/cpu/rows.h"
#include "lamella/kernels/cpu/state_space.h"
#include "lamella/kernels/cpu/tiles.h"
#include "lamella/text/sampler.h"
#include "setting.h"

// Found by name, so not in a namespace. The empty statement keeps the call from becoming a jump.
extern "C" [[gnu::noinline]] void counted_run(const lamella::FunctionRef<void()>& kernel) {
  kernel();
  asm volatile("" ::: "memory");
}

namespace {

using namespace lamella;
using namespace lamella::cpu;
using bench::random_bytes;

// Measures or counts what a case gives it.
struct Runner {
  benchmark::State* state = nullptr;  // null: counts
  ThreadPool& pool;
  Isa isa;

  template <class Kernel>
  void operator()(int64_t items, Kernel kernel) const {
    if constexpr (std::is_same_v<decltype(kernel()), Status>) {
      CHECK_INTERNAL(kernel().ok(), "kernel_bench: a kernel refused its case");
    } else {
      kernel();  // what is made on a first call
    }
    if (!state) return counted_run([&] { kernel(); });
    for (auto _ : *state) {
      kernel();
      benchmark::ClobberMemory();
    }
    state->SetItemsProcessed(state->iterations() * items);
  }
};

std::vector<float> floats(int64_t n) {
  std::vector<float> values(n);
  uint32_t word = 1;
  for (float& v : values) {
    word = word * 1664525u + 1013904223u;
    v = static_cast<float>(word >> 8) * 0x1p-23f - 1;
  }
  return values;
}

std::vector<int32_t> counting(int64_t n) {
  std::vector<int32_t> values(n);
  for (int64_t i = 0; i < n; ++i) values[i] = static_cast<int32_t>(i);
  return values;
}

// --- attention and its cache
// ----------------------------------------------------------------------

constexpr int64_t kHeads = 8, kKvHeads = 2, kHead = 64, kPage = 16;

void attend(const Runner& run, KvType type, int32_t n_new, int32_t n_keys, int64_t window = 0) {
  const auto q = floats(n_new * kHeads * kHead);
  const auto cache = random_bytes(n_keys * kKvHeads * kv_row_bytes(type, kHead));
  const auto pages = counting(n_keys / kPage);
  const int32_t q_start[] = {0, n_new}, kv_len[] = {n_keys};
  std::vector<float> y(q.size());
  PagedAttention job{.math = {.heads = kHeads, .kv_heads = kKvHeads, .dk = kHead, .dv = kHead}};
  job.math.scale = 0.125f, job.math.window = window, job.math.decode = n_new == 1;
  job.q = q.data(), job.y = y.data();
  job.q_token_stride = job.y_token_stride = kHeads * kHead;
  job.q_head_stride = job.y_head_stride = kHead;
  job.n_seqs = 1, job.q_start = q_start, job.kv_len = kv_len, job.page_table = pages.data();
  job.page_table_stride = job.n_pages = n_keys / kPage, job.page = kPage;
  job.k_type = job.v_type = type, job.k_pages = job.v_pages = cache.data();
  int64_t scores = 0;
  for (int64_t i = n_keys - n_new + 1; i <= n_keys; ++i) scores += window ? std::min(i, window) : i;
  run(scores * kHeads, [&] { return paged_attention(job, run.pool, run.isa); });
}

void rotate(const Runner& run, Rope::Pairing pairing) {
  constexpr int64_t kTokens = 128;
  const auto x = floats(kTokens * kHeads * kHead);
  std::vector<float> y(x.size());
  const auto positions = counting(kTokens);
  std::vector<double> inv_freq(kHead / 2);
  for (int i = 0; i < kHead / 2; ++i) inv_freq[i] = std::pow(1e4, -2.0 * i / kHead);
  const int64_t row = kHeads * kHead;
  const Rope job{pairing,        kTokens, kHeads, kHead, kHead, x.data(),
                 y.data(),       row,     kHead,  row,   kHead, positions.data(),
                 inv_freq.data()};
  run(kTokens * row, [&] { rope(job, run.pool, run.isa); });
}

// --- rows, elements, reductions
// -------------------------------------------------------------------

void soften(const Runner& run, bool log, int64_t outer, int64_t axis, int64_t inner) {
  const auto x = floats(outer * axis * inner);
  std::vector<float> y(x.size());
  const Softmax job{Elem::f32, log, outer, axis, inner, x.data(), y.data()};
  run(outer * axis * inner, [&] { softmax(job, run.pool, run.isa); });
}

void normalize(const Runner& run, Norm::Kind kind, Elem elem, bool with_residual) {
  constexpr int64_t kRows = 64, kCols = 2048;
  const auto x = random_bytes(kRows * kCols * elem_bytes(elem));
  const auto weight = floats(kCols);
  std::vector<uint8_t> y(x.size()), sum(x.size());
  Norm job{.kind = kind, .type = elem, .rows = kRows, .cols = kCols, .eps = 1e-5f, .x = x.data()};
  if (with_residual) job.residual = x.data(), job.sum = sum.data();
  job.weight = weight.data(), job.y = y.data();
  job.x_stride = job.residual_stride = job.sum_stride = job.y_stride = kCols;
  run(kRows * kCols, [&] { norm(job, run.pool, run.isa); });
}

// y = op(x), or with a row of 4096 for every row of x: y = op(x) * row.
void apply(const Runner& run, TileOp op, Elem elem, bool by_row) {
  const int64_t shape[] = {32, 4096}, dense[] = {4096, 1}, repeated[] = {0, 1};
  auto x = random_bytes(shape[0] * shape[1] * elem_bytes(elem));
  auto row = x;
  std::vector<uint8_t> y(x.size());
  const TileType type = tile_type(elem);
  TileProgram program;
  program.inputs = {{elem, 0, type}}, program.outputs = {{elem, 2, type}};
  program.steps = {{op, type, 2, 0, 0, 0, elem}};
  std::vector<TileOperand> operands{{x.data(), dense}};
  if (by_row) {
    program.inputs.push_back({elem, 1, type});
    program.steps.push_back({TileOp::mul, type, 2, 2, 1, 0, elem});
    operands.push_back({row.data(), repeated});
  }
  operands.push_back({y.data(), dense});
  run(shape[0] * shape[1], [&] { run_tiles(program, shape, operands, run.pool, run.isa); });
}

void combine(const Runner& run, Reduce::Kind kind, int reduced_axis) {
  const int64_t shape[] = {512, 1024}, strides[] = {1024, 1};
  const uint8_t reduced[] = {reduced_axis == 0, reduced_axis == 1};
  const auto x = floats(shape[0] * shape[1]);
  std::vector<float> y(1024);
  const Reduce job{kind, Elem::f32, shape, strides, reduced, x.data(), y.data()};
  run(shape[0] * shape[1], [&] { reduce(job, run.pool, run.isa); });
}

void transpose(const Runner& run, int64_t bytes) {
  const int64_t shape[] = {384, 384}, x_strides[] = {1, 384}, y_strides[] = {384, 1};
  const auto x = random_bytes(shape[0] * shape[1] * bytes);
  std::vector<uint8_t> y(x.size());
  const Copy job{bytes, shape, x_strides, y_strides, x.data(), y.data()};
  run(shape[0] * shape[1], [&] { copy(job, run.pool); });
}

// --- choosing a token
// -----------------------------------------------------------------------------

constexpr int64_t kVocabulary = 1 << 18;

void sample(const Runner& run, const SamplerOptions& options) {
  auto logits = floats(kVocabulary);
  for (float& x : logits) x *= 40 * x * x;  // one in a hundred is likely
  const Sampler sampler(options);
  run(kVocabulary, [&] { benchmark::DoNotOptimize(sampler.sample(logits, {})); });
}

void pick(const Runner& run, int64_t k) {  // 0: the position of the greatest
  const auto x = floats(kVocabulary);
  const AxisView view{.axis = kVocabulary};
  std::vector<float> values(k);
  std::vector<int64_t> indices(k + 1);
  const ArgReduce arg{.view = view, .x = x.data(), .y = indices.data()};
  TopK top{.view = view, .k = k, .x = x.data()};
  top.values = values.data(), top.indices = indices.data();
  run(kVocabulary, [&] { k ? void(top_k(top, run.pool)) : arg_reduce(arg, run.pool, run.isa); });
}

// --- products
// -------------------------------------------------------------------------------------

void pack(const Runner& run, const char* name) {
  constexpr int64_t kM = 64, kK = 2048;
  const quant::Format& format = *quant::find_format(name);
  const auto x = floats(kM * kK);
  std::vector<uint8_t> packed(quant::plane_offset(format, 3, kM, kK));
  PackCall call{.isa = run.isa, .x = x.data(), .row_stride = kK, .m = kM, .k = kK};
  call.format = &format;
  for (int p = 0; p < 3; ++p)
    call.planes[p] = packed.data() + quant::plane_offset(format, p, kM, kK);
  run(kM * kK, [&] { pack_rows(call, run.pool); });
}

void look_up(const Runner& run, const char* name) {
  constexpr int64_t kRows = 1000, kK = 2048, kIds = 64;
  const quant::Format& format = *quant::find_format(name);
  const auto table = random_bytes(kRows * format.blocks(kK) * format.block_bytes());
  const auto ids = counting(kIds);
  std::vector<float> y(kIds * kK);
  const GatherCall call{.table = {.format = &format, .planes = {table.data()}},
                        .n = kRows,
                        .k = kK,
                        .ids = ids.data(),
                        .n_ids = kIds,
                        .y = y.data(),
                        .y_stride = kK};
  run(kIds * kK, [&] { return gather_rows(call, run.pool); });
}

// With f32 activations where `name` is null.
void multiply(const Runner& run, const char* name, int64_t m) {
  constexpr int64_t kN = 256, kK = 2048;
  const quant::Format* format = name ? quant::find_format(name) : nullptr;
  const Phase phase = m < 8 ? Phase::decode : Phase::bulk;
  const auto* x_format = format ? activation_encoding(*format, phase) : nullptr;
  const auto w =
      random_bytes(kN * (format ? format->blocks(kK) * format->block_bytes() : kK * int64_t{4}));
  const auto x = random_bytes(x_format ? quant::plane_offset(*x_format, 3, m, kK) : m * kK * 4);
  std::vector<float> y(m * kN);
  MatmulJob job{.w = {.format = format, .planes = {w.data()}}, .n = kN};
  job.y = y.data(), job.y_stride = kN;
  MatmulCall call{};
  call.isa = run.isa, call.phase = phase, call.m = m, call.k = kK;
  call.x.format = x_format, call.x.row_stride = kK, call.jobs = {&job, 1};
  for (int p = 0; p < 3; ++p)
    call.x.planes[p] = x.data() + (x_format ? quant::plane_offset(*x_format, p, m, kK) : 0);
  std::vector<std::byte> space(matmul_workspace(call, run.pool.size()) + 64);
  auto* workspace = space.data() + (64 - reinterpret_cast<uintptr_t>(space.data()) % 64);
  run(m * kN * kK, [&] { matmul(call, workspace, run.pool); });
}

using ConvFn = Status (*)(const ConvJob&, ThreadPool&, Isa);
void convolve(const Runner& run, ConvFn kernel, int64_t groups) {
  constexpr int64_t kChannels = 32, kSide = 28, kTaps = 9;
  auto wide = floats(kChannels * kSide * kSide), narrow = wide;
  auto w = floats(kChannels * kChannels / groups * kTaps);
  constexpr ConvAxis kAxis{.wide = kSide, .narrow = kSide, .kernel = 3, .pad = 1};
  ConvJob job{.axes = {{}, kAxis, kAxis}, .groups = groups};
  job.wide_channels = job.narrow_channels = kChannels / groups;
  job.wide = wide.data(), job.narrow = narrow.data(), job.w = w.data();
  const auto items = static_cast<int64_t>(w.size()) * kSide * kSide;
  run(items, [&] { return kernel(job, run.pool, run.isa); });
}

// --- recurrences
// ----------------------------------------------------------------------------------

struct OneSequence {
  int32_t q_start[2] = {0, 128}, slot[1] = {0};
  Sequences seqs{.q_start = q_start, .slot = slot, .n = 1, .slots = 1, .tokens = 128};
};

void scan(const Runner& run, bool chunked) {
  constexpr int64_t kP = 64, kN = 128;
  const OneSequence one;
  const auto x = floats(one.seqs.tokens * kHeads * kP), b = floats(one.seqs.tokens * kN);
  const std::vector<float> dt(one.seqs.tokens * kHeads, 0.1f), a(kHeads, -1.f);
  std::vector<float> state(kHeads * kP * kN), y(x.size());
  StateSpace job{.seqs = one.seqs, .heads = kHeads, .p = kP, .n = kN, .state = state.data()};
  job.x = x.data(), job.dt = dt.data(), job.a = a.data(), job.b = job.c = b.data();
  job.y = y.data(), job.chunked = chunked;
  run(one.seqs.tokens * kHeads * kP * kN, [&] { return state_space(job, run.pool, run.isa); });
}

void learn_delta(const Runner& run, bool chunked) {
  constexpr int64_t kD = 64;
  const OneSequence one;
  auto q = floats(one.seqs.tokens * kHeads * kD);
  for (float& v : q) v *= 0.1f;
  const std::vector<float> g(one.seqs.tokens * kHeads, -0.1f), beta(g.size(), 0.5f);
  std::vector<float> state(kHeads * kD * kD), y(q.size());
  DeltaRule job{.seqs = one.seqs, .hk = kHeads, .hv = kHeads, .dk = kD, .dv = kD};
  job.chunked = chunked, job.state = state.data(), job.q = job.k = job.v = q.data();
  job.g = g.data(), job.beta = beta.data(), job.y = y.data();
  run(one.seqs.tokens * kHeads * kD * kD, [&] { return delta_rule(job, run.pool, run.isa); });
}

// --- the table
// ------------------------------------------------------------------------------------

struct Case {
  const char* name;
  void (*run)(const Runner&);
};
using R = const Runner&;
constexpr Case kCases[] = {
    {"attention/bulk/f16", [](R r) { attend(r, KvType::f16, 256, 256); }},
    {"attention/bulk/q8_0", [](R r) { attend(r, KvType::q8_0, 256, 256); }},
    {"attention/bulk/f16/window64", [](R r) { attend(r, KvType::f16, 256, 256, 64); }},
    {"attention/decode/f16", [](R r) { attend(r, KvType::f16, 1, 2048); }},
    {"attention/decode/q8_0", [](R r) { attend(r, KvType::q8_0, 1, 2048); }},
    {"attention/decode/f16/window512", [](R r) { attend(r, KvType::f16, 1, 2048, 512); }},
    {"rope/neighbours", [](R r) { rotate(r, Rope::Pairing::neighbours); }},
    {"rope/halves", [](R r) { rotate(r, Rope::Pairing::halves); }},
    {"rows/softmax", [](R r) { soften(r, false, 64, 2048, 1); }},
    {"rows/softmax/strided", [](R r) { soften(r, false, 4, 128, 256); }},
    {"rows/log_softmax", [](R r) { soften(r, true, 64, 2048, 1); }},
    {"rows/rms_norm/f32", [](R r) { normalize(r, Norm::Kind::rms, Elem::f32, false); }},
    {"rows/rms_norm/residual", [](R r) { normalize(r, Norm::Kind::rms, Elem::f32, true); }},
    {"rows/layer_norm/f16", [](R r) { normalize(r, Norm::Kind::layer, Elem::f16, false); }},
    {"tiles/mul/f32", [](R r) { apply(r, TileOp::copy, Elem::f32, true); }},
    {"tiles/silu_mul/f32", [](R r) { apply(r, TileOp::silu, Elem::f32, true); }},
    {"tiles/gelu/f16", [](R r) { apply(r, TileOp::gelu, Elem::f16, false); }},
    {"tiles/neg/i32", [](R r) { apply(r, TileOp::neg, Elem::i32, false); }},
    {"reduce/sum/row", [](R r) { combine(r, Reduce::Kind::sum, 1); }},
    {"reduce/sum/column", [](R r) { combine(r, Reduce::Kind::sum, 0); }},
    {"reduce/max/row", [](R r) { combine(r, Reduce::Kind::max, 1); }},
    {"copy/transpose/4", [](R r) { transpose(r, 4); }},
    {"copy/transpose/2", [](R r) { transpose(r, 2); }},
    {"vocabulary/arg_max", [](R r) { pick(r, 0); }},
    {"vocabulary/top_k40", [](R r) { pick(r, 40); }},
    {"vocabulary/sample/greedy", [](R r) { sample(r, {}); }},
    {"vocabulary/sample/top_k40", [](R r) { sample(r, {.temperature = 0.8f, .top_k = 40}); }},
    {"vocabulary/sample/top_p", [](R r) { sample(r, {.temperature = 0.8f, .top_p = 0.95f}); }},
    {"pack/q8_32", [](R r) { pack(r, "q8_32"); }},
    {"pack/q8_256", [](R r) { pack(r, "q8_256"); }},
    {"gather/q4_k", [](R r) { look_up(r, "q4_k"); }},
    {"gather/q8_0", [](R r) { look_up(r, "q8_0"); }},
    {"matmul/decode/q4_k", [](R r) { multiply(r, "q4_k", 1); }},
    {"matmul/decode/q8_0", [](R r) { multiply(r, "q8_0", 1); }},
    {"matmul/bulk/q4_k", [](R r) { multiply(r, "q4_k", 64); }},
    {"matmul/bulk/q6_k", [](R r) { multiply(r, "q6_k", 64); }},
    {"matmul/bulk/q8_0", [](R r) { multiply(r, "q8_0", 64); }},
    {"matmul/bulk/f32", [](R r) { multiply(r, nullptr, 64); }},
    {"conv/3x3", [](R r) { convolve(r, conv, 1); }},
    {"conv/3x3/depthwise", [](R r) { convolve(r, conv, 32); }},
    {"conv/transpose", [](R r) { convolve(r, conv_transpose, 1); }},
    {"conv/grad_w", [](R r) { convolve(r, conv_grad_w, 1); }},
    {"recurrent/state_space/step", [](R r) { scan(r, false); }},
    {"recurrent/state_space/chunk", [](R r) { scan(r, true); }},
    {"recurrent/delta_rule/step", [](R r) { learn_delta(r, false); }},
    {"recurrent/delta_rule/chunk", [](R r) { learn_delta(r, true); }},
};

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

}  // namespace

int main(int argc, char** argv) {
  ThreadPool pool(bench::n_threads());
  const Isa isa = bench::isa();
  if (argc > 1 && argv[1] == std::string_view("--counts")) {
    printf("compiler %s\nisa %s\n", COMPILER, name(isa).data());
    for (const Case& c : kCases) {
      c.run({nullptr, pool, isa});
      printf("case %s\n", c.name);
    }
    return 0;
  }
  for (const Case& c : kCases) {
    const auto measure = [&](benchmark::State& state) { c.run({&state, pool, isa}); };
    benchmark::RegisterBenchmark(c.name, measure)->Unit(benchmark::kMicrosecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
