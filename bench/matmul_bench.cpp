// Speed of the matrix products next to the machine's limits. Filters: --benchmark_filter=bulk/q4_k
//
// Counters are of the fastest iteration, as others may use the cores too; in percent: of what one
// thread reaches in plain loops of int8 products, f32 products, and reads, times the threads.
// THREADS=n runs on n threads (1), ISA=name on that instruction set. "cached": weights that fit the
// last-level cache.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "lamella/base/error.h"
#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/limits_impl.h"
#include "lamella/kernels/cpu/matmul.h"
#include "setting.h"

namespace {

using namespace lamella;
using namespace lamella::cpu;
using namespace lamella::bench;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

const LimitLoops& loops() { return LAMELLA_BY_ISA(isa(), kLimits); }

// Of one thread.
struct Machine {
  ThreadPool pool;
  double int8_ops = 0, f32_flops = 0, read_bytes = 0;

  explicit Machine(int n_threads) : pool(n_threads) {
    const std::vector<uint8_t> memory(int64_t{128} << 20, 1);
    for (int i = 0; i < 40; ++i) {
      int8_ops = std::max(int8_ops, rate([] { return 2 * loops().dots(1 << 13); }));
      f32_flops = std::max(f32_flops, rate([] { return 2 * loops().fmas(1 << 13); }));
      const int64_t n = static_cast<int64_t>(memory.size()) / 40 / 1024 * 1024;
      read_bytes = std::max(read_bytes, rate([&] {
                              benchmark::DoNotOptimize(loops().read(memory.data() + i * n, n));
                              return n;
                            }));
    }
    printf("a thread: %.3f int8 TOPS, %.3f f32 TFLOP/s, %.1f GB/s\n", int8_ops * 1e-12,
           f32_flops * 1e-12, read_bytes * 1e-9);
  }
  template <class Work>
  static double rate(Work work) {
    const double start = now();
    const auto amount = static_cast<double>(work());
    return amount / (now() - start);
  }
};

Machine& machine() {
  static Machine instance(n_threads());
  return instance;
}

struct Case {
  const quant::Format* w;  // null: f32
  const quant::Format* x;
  Phase phase;
  int64_t m, n, k;
};

void run(benchmark::State& state, const Case& c) {
  ThreadPool& pool = machine().pool;
  const int64_t w_bytes = c.w ? c.n * c.w->blocks(c.k) * c.w->block_bytes() : c.n * c.k * 4;
  const auto w = random_bytes(w_bytes);
  const auto x_bytes = random_bytes(c.x ? quant::plane_offset(*c.x, 3, c.m, c.k) : c.m * c.k * 4);
  std::vector<float> y(c.m * c.n);
  MatmulJob job{};
  job.w = {.format = c.w, .planes = {w.data()}};
  job.n = c.n;
  job.y = y.data();
  job.y_stride = c.n;
  MatmulCall call{
      .isa = isa(), .phase = c.phase, .m = c.m, .k = c.k, .x = {.format = c.x}, .jobs = {&job, 1}};
  call.x.row_stride = c.k;
  for (int p = 0; p < 3; ++p) {
    call.x.planes[p] = x_bytes.data() + (c.x ? quant::plane_offset(*c.x, p, c.m, c.k) : 0);
  }
  std::vector<std::byte> space(matmul_workspace(call, pool.size()) + 64);
  auto* workspace = space.data() + (64 - reinterpret_cast<uintptr_t>(space.data()) % 64);
  double seconds = 1e9;
  for (auto _ : state) {
    const double start = now();
    matmul(call, workspace, pool);
    seconds = std::min(seconds, now() - start);
  }
  const int threads = pool.size();
  const double ops = 2.0 * c.m * c.n * c.k, bytes = static_cast<double>(w_bytes);
  state.counters["TOPS"] = ops * 1e-12 / seconds;
  state.counters["GB/s"] = bytes * 1e-9 / seconds;
  const double limit = c.x ? machine().int8_ops : machine().f32_flops;
  state.counters["%ops"] = 100 * ops / seconds / limit / threads;
  state.counters["%read"] = 100 * bytes / seconds / machine().read_bytes / threads;
}

void add(const char* phase, const Case& c) {
  const std::string_view w = c.w ? c.w->name : "f32", x = c.x ? c.x->name : "f32";
  const std::string name = str(phase, "/", w, "/", x, "/m", c.m, "/n", c.n, "/k", c.k);
  benchmark::RegisterBenchmark(name.c_str(), [c](benchmark::State& s) { run(s, c); })

      ->Unit(benchmark::kMillisecond)
      ->MinTime(0.2);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<const quant::Format*> formats{nullptr};
  for (const auto& format : quant::formats()) {
    if (format.n_planes == 1) formats.push_back(&format);
  }
  for (const auto* w : formats) {
    for (const char* x : {"q8_32", "q8_256", ""}) {
      if (!w && *x) continue;
      const auto* x_format = quant::find_format(x);
      add("bulk", {w, x_format, Phase::bulk, 256, 768, 2048});
      add("bulk", {w, x_format, Phase::bulk, 512, 768, 2048});
      for (int64_t m : {1, 2, 4, 8, 32}) {
        add("cached", {w, x_format, Phase::decode, m, 512, 2048});
        if (x_format || !w) add("decode", {w, x_format, Phase::decode, m, 49152, 2048});
      }
    }
  }
  machine();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
