// Recurrent kernels on random data: the gated delta rule in chunks, token by token, a call a token
// and backward, over 2,048 tokens of 16 heads of 128; Mamba 2's step likewise, over 2,048 tokens of
// 24 heads of 64 with states of 128; a selective scan over 2,048 tokens of 1,536 channels, states
// of 16; an LSTM over 100 steps of a batch of one, as bench/lstm_peer.py times it. The last
// argument is the number of threads.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "lamella/kernels/cpu/isa.h"
#include "lamella/kernels/cpu/recurrent_grad.h"
#include "lamella/kernels/cpu/state_space.h"

namespace {

using namespace lamella;
using namespace lamella::cpu;

std::vector<float> random_floats(int64_t n, float low, float high, uint32_t seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> draw(low, high);
  std::vector<float> out(static_cast<size_t>(n));
  for (float& v : out) v = draw(rng);
  return out;
}

struct DeltaCase {
  static constexpr int64_t kTokens = 2048, kHeads = 16, kHead = 128, kAll = kTokens * kHeads;
  std::vector<float> q = random_floats(kAll * kHead, -1, 1, 1),
                     k = random_floats(kAll * kHead, -0.09f, 0.09f, 2),
                     v = random_floats(kAll * kHead, -1, 1, 3),
                     g = random_floats(kAll, -0.1f, 0, 4), beta = random_floats(kAll, 0, 1, 5),
                     d_y = random_floats(kAll * kHead, -1, 1, 6), y = q, d_q = q, d_k = q, d_v = q,
                     d_g = g, d_beta = g, state = random_floats(kHeads * kHead * kHead, -1, 1, 7),
                     d_state = state;
  int32_t q_start[2] = {0, kTokens}, slot[1] = {0};

  DeltaRule rule(bool chunked) {
    DeltaRule job;
    job.seqs = {.q_start = q_start, .slot = slot, .n = 1, .slots = 1, .tokens = kTokens};
    job.hk = job.hv = kHeads, job.dk = job.dv = kHead;
    job.chunked = chunked;
    job.scale = 0.088f;
    job.state = state.data(), job.y = y.data();
    job.q = q.data(), job.k = k.data(), job.v = v.data();
    job.g = g.data(), job.beta = beta.data();
    return job;
  }
};

void delta(benchmark::State& bench, bool chunked) {
  DeltaCase c;
  const DeltaRule job = c.rule(chunked);
  ThreadPool pool(static_cast<int>(bench.range(0)));
  for (auto _ : bench) delta_rule(job, pool, best_isa());
}
void delta_chunked(benchmark::State& bench) { delta(bench, true); }
// As decoding does it: each token is a call.
void delta_calls(benchmark::State& bench) {
  DeltaCase c;
  ThreadPool pool(static_cast<int>(bench.range(0)));
  constexpr int64_t kRow = DeltaCase::kHeads * DeltaCase::kHead;
  c.q_start[1] = 1;
  for (auto _ : bench) {
    DeltaRule job = c.rule(false);
    job.seqs.tokens = 1;
    for (int64_t t = 0; t < DeltaCase::kTokens; ++t) {
      delta_rule(job, pool, best_isa());
      job.q += kRow, job.k += kRow, job.v += kRow, job.y += kRow;
      job.g += DeltaCase::kHeads, job.beta += DeltaCase::kHeads;
    }
  }
}
void delta_sequential(benchmark::State& bench) { delta(bench, false); }

void delta_backward(benchmark::State& bench) {
  DeltaCase c;
  DeltaRuleGrad job;
  job.rule = c.rule(true);
  job.d_y = c.d_y.data(), job.d_state = c.d_state.data();
  job.d_q = c.d_q.data(), job.d_k = c.d_k.data(), job.d_v = c.d_v.data();
  job.d_g = c.d_g.data(), job.d_beta = c.d_beta.data();
  ThreadPool pool(static_cast<int>(bench.range(0)));
  for (auto _ : bench) delta_rule_grad(job, pool, best_isa());
}

// Mamba 2's step with p > 1, else a selective scan.
struct SpaceCase {
  static constexpr int64_t kTokens = 2048;
  int64_t heads, p, n;
  std::vector<float> x, dt, a, b, c, d_y, y, d_x, d_dt, d_a, d_b, d_c, state, d_state;
  int32_t q_start[2] = {0, kTokens}, slot[1] = {0};

  SpaceCase(int64_t n_heads, int64_t head, int64_t state_size)
      : heads(n_heads),
        p(head),
        n(state_size),
        x(random_floats(kTokens * heads * p, -1, 1, 1)),
        dt(random_floats(kTokens * heads, 0, 0.1f, 2)),
        a(random_floats(heads * (p > 1 ? 1 : n), -2, 0, 3)),
        b(random_floats(kTokens * n, -1, 1, 4)),
        c(random_floats(kTokens * n, -1, 1, 5)),
        d_y(random_floats(kTokens * heads * p, -1, 1, 6)),
        y(x),
        d_x(x),
        d_dt(dt),
        d_a(p > 1 ? dt : a),
        d_b(static_cast<size_t>(kTokens * n * (p > 1 ? heads : 1))),
        d_c(d_b),
        state(random_floats(heads * p * n, -1, 1, 7)),
        d_state(state) {}

  StateSpace rule(bool chunked) {
    StateSpace job;
    job.seqs = {.q_start = q_start, .slot = slot, .n = 1, .slots = 1, .tokens = kTokens};
    job.heads = heads, job.p = p, job.n = n, job.a_per_element = p == 1, job.chunked = chunked;
    job.state = state.data(), job.y = y.data();
    job.x = x.data(), job.dt = dt.data(), job.a = a.data(), job.b = b.data(), job.c = c.data();
    return job;
  }
  StateSpaceGrad grad() {
    StateSpaceGrad job;
    job.rule = rule(p > 1);
    job.d_y = d_y.data(), job.d_state = d_state.data();
    job.d_x = d_x.data(), job.d_dt = d_dt.data(), job.d_a = d_a.data();
    job.d_b = d_b.data(), job.d_c = d_c.data();
    return job;
  }
};

void space(benchmark::State& bench, SpaceCase c, bool chunked) {
  ThreadPool pool(static_cast<int>(bench.range(0)));
  for (auto _ : bench) state_space(c.rule(chunked), pool, best_isa());
}
void space_backward(benchmark::State& bench, SpaceCase c) {
  ThreadPool pool(static_cast<int>(bench.range(0)));
  for (auto _ : bench) state_space_grad(c.grad(), pool, best_isa());
}
void mamba2_chunked(benchmark::State& bench) { space(bench, {24, 64, 128}, true); }
void mamba2_sequential(benchmark::State& bench) { space(bench, {24, 64, 128}, false); }
void mamba2_backward(benchmark::State& bench) { space_backward(bench, {24, 64, 128}); }
void scan_forward(benchmark::State& bench) { space(bench, {1536, 1, 16}, false); }
void scan_backward(benchmark::State& bench) { space_backward(bench, {1536, 1, 16}); }

struct LstmCase {
  static constexpr int64_t kSteps = 100;
  int64_t h;
  std::vector<float> x = random_floats(kSteps * h, -1, 1, 1),
                     w = random_floats(4 * h * h, -0.1f, 0.1f, 2),
                     r = random_floats(4 * h * h, -0.1f, 0.1f, 3),
                     bias = random_floats(8 * h, -1, 1, 4), y = x,
                     out_h = random_floats(h, 0, 0, 1), c = out_h;

  Recurrent job() {
    Recurrent job;
    job.steps = kSteps, job.batch = 1, job.in = job.hidden = h;
    job.x = x.data(), job.w = w.data(), job.r = r.data(), job.bias = bias.data();
    job.y = y.data(), job.h = out_h.data(), job.c = c.data();
    return job;
  }
};

// Arguments: hidden size, threads.
void lstm(benchmark::State& bench) {
  LstmCase c{bench.range(0)};
  ThreadPool pool(static_cast<int>(bench.range(1)));
  for (auto _ : bench) recurrent(c.job(), pool, best_isa());
}
// The gradients of the gates, which those of the matrices are products of.
void lstm_backward(benchmark::State& bench) {
  LstmCase c{bench.range(0)};
  ThreadPool pool(static_cast<int>(bench.range(1)));
  recurrent(c.job(), pool, best_isa());
  std::vector<float> d_y = c.x, d_h = c.out_h, d_c = c.out_h, d_h0 = d_h, d_c0 = d_c, seen = c.x;
  std::vector<float> d_gates(c.x.size() * 4), d_parts = d_gates;
  RecurrentGrad job;
  job.rule = c.job();
  job.d_y = d_y.data(), job.d_h = d_h.data(), job.d_c = d_c.data(), job.seen = seen.data();
  job.d_gates = d_gates.data(), job.d_parts = d_parts.data();
  job.d_h0 = d_h0.data(), job.d_c0 = d_c0.data();
  for (auto _ : bench) recurrent_grad(job, pool, best_isa());
}

void in_milliseconds(benchmark::internal::Benchmark* bench) {
  bench->Arg(1)->Arg(2)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK(delta_chunked)->Apply(in_milliseconds);
BENCHMARK(delta_sequential)->Apply(in_milliseconds);
BENCHMARK(delta_calls)->Apply(in_milliseconds);
BENCHMARK(delta_backward)->Apply(in_milliseconds);
BENCHMARK(mamba2_chunked)->Apply(in_milliseconds);
BENCHMARK(mamba2_sequential)->Apply(in_milliseconds);
BENCHMARK(mamba2_backward)->Apply(in_milliseconds);
BENCHMARK(scan_forward)->Apply(in_milliseconds);
BENCHMARK(scan_backward)->Apply(in_milliseconds);
void in_microseconds(benchmark::internal::Benchmark* bench) {
  bench->ArgsProduct({{128, 512}, {1, 2}})
      ->MeasureProcessCPUTime()
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}
BENCHMARK(lstm)->Apply(in_microseconds);
BENCHMARK(lstm_backward)->Apply(in_microseconds);

}  // namespace

BENCHMARK_MAIN();
