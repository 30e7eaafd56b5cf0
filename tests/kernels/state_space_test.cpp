// Recurrences over tokens against their formulas in f64.
#include "lamella/kernels/cpu/state_space.h"

#include "kernel_cases.h"

namespace lamella::cpu {
namespace {

using Doubles = std::vector<double>;

Doubles doubles(const std::vector<float>& x) { return {x.begin(), x.end()}; }
void expect_near(const std::vector<float>& y, const Doubles& want, double bound) {
  for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], want[i], bound);
}

// Sequences of 0, 1, 70 and 9 tokens.
const std::vector<int32_t> kStarts{0, 0, 1, 71, 80}, kSlots{4, 2, 0, 3};
constexpr int64_t kTokens = 80, kStates = 5;
const Sequences kSequences{
    .q_start = kStarts.data(), .slot = kSlots.data(), .n = 4, .slots = kStates, .tokens = kTokens};

// fn(token, slot) in order.
template <class Fn>
void for_tokens(Fn fn) {
  for (size_t s = 0; s < kSlots.size(); ++s) {
    for (int64_t t = kStarts[s]; t < kStarts[s + 1]; ++t) fn(t, int64_t{kSlots[s]});
  }
}

TEST(StateSpace, CausalConvolution) {
  ThreadPool pool(2);
  Random random(1);
  const int64_t channels = 37, taps = 4, kept = taps - 1;
  const auto x = random.floats(kTokens * channels), w = random.floats(channels * taps);
  const auto bias = random.floats(channels), start = random.floats(kStates * channels * kept);
  Doubles state = doubles(start), want(x.size());
  for_tokens([&](int64_t t, int64_t slot) {
    for (int64_t c = 0; c < channels; ++c) {
      double* past = &state[(slot * channels + c) * kept];
      double y = bias[c] + w[c * taps + kept] * x[t * channels + c];
      for (int64_t k = 0; k < kept; ++k) y += w[c * taps + k] * past[k];
      for (int64_t k = 0; k + 1 < kept; ++k) past[k] = past[k + 1];
      past[kept - 1] = x[t * channels + c];
      want[t * channels + c] = y;
    }
  });
  for_each_isa([&](Isa isa) {
    std::vector<float> y(x.size()), end = start;
    causal_conv({kSequences, channels, taps, end.data(), x.data(), w.data(), bias.data(), y.data()},
                pool, isa);
    expect_near(y, want, 1e-6);
    expect_near(end, state, 0);
  });
}

TEST(StateSpace, SelectiveScan) {
  ThreadPool pool(2);
  const int64_t heads = 6, groups = 2, p = 5, n = 19;
  for (bool per_element : {false, true}) {
    Random random(2);
    const auto x = random.floats(kTokens * heads * p), dt = random.floats(kTokens * heads, 0, 0.5);
    const auto a = random.floats(heads * (per_element ? n : 1), -2, 0), d = random.floats(heads);
    const auto b = random.floats(kTokens * groups * n), c = random.floats(kTokens * groups * n);
    const auto start = random.floats(kStates * heads * p * n);
    Doubles state = doubles(start), want(x.size());
    for_tokens([&](int64_t t, int64_t slot) {
      for (int64_t i = 0; i < heads * p; ++i) {
        const int64_t head = i / p, row = (t * groups + head / (heads / groups)) * n;
        const double step = dt[t * heads + head], value = x[t * heads * p + i];
        double y = d[head] * value;
        for (int64_t k = 0; k < n; ++k) {
          double& h = state[(slot * heads * p + i) * n + k];
          h = std::exp(step * a[per_element ? head * n + k : head]) * h + step * value * b[row + k];
          y += c[row + k] * h;
        }
        want[t * heads * p + i] = y;
      }
    });
    for_each_isa([&](Isa isa) {
      std::vector<float> y(x.size()), end = start;
      StateSpace job{kSequences, heads, groups, p, n, per_element, false, end.data()};
      job.x = x.data(), job.dt = dt.data(), job.a = a.data(), job.b = b.data(), job.c = c.data();
      job.d = d.data(), job.y = y.data();
      ASSERT_EQ(state_space(job, pool, isa).code, Status::Code::ok);
      expect_near(y, want, 1e-5);
      expect_near(end, state, 1e-5);
      if (per_element) return;
      end = start, job.chunked = true;
      ASSERT_EQ(state_space(job, pool, isa).code, Status::Code::ok);
      expect_near(y, want, 1e-5);
      expect_near(end, state, 1e-5);
    });
  }
}

struct DeltaCase {
  bool per_channel, chunked;
};

TEST(StateSpace, GatedDeltaRule) {
  ThreadPool pool(2);
  const int64_t hk = 2, hv = 4, dk = 18, dv = 23;
  for (const DeltaCase& c : {DeltaCase{false, false}, {false, true}, {true, false}}) {
    const bool per_channel = c.per_channel;
    Random random(3);
    const auto q = random.floats(kTokens * hk * dk),
               k = random.floats(kTokens * hk * dk, -0.2, 0.2);
    const auto v = random.floats(kTokens * hv * dv), beta = random.floats(kTokens * hv, 0, 1);
    const auto g = random.floats(kTokens * hv * (per_channel ? dk : 1), -0.3, 0);
    const auto start = random.floats(kStates * hv * dk * dv);
    DeltaRule job{.seqs = kSequences, .hk = hk, .hv = hv, .dk = dk, .dv = dv};
    job.g_per_channel = per_channel, job.chunked = c.chunked, job.scale = 0.25f;
    job.q = q.data(), job.k = k.data(), job.v = v.data(), job.g = g.data(), job.beta = beta.data();
    Doubles state = doubles(start), want(v.size());
    for_tokens([&](int64_t t, int64_t slot) {
      for (int64_t head = 0; head < hv; ++head) {
        double* S = &state[(slot * hv + head) * dk * dv];
        const int64_t key = (t * hk + job.key_head(head)) * dk, row = t * hv + head;
        for (int64_t i = 0; i < dk * dv; ++i) {
          S[i] *= std::exp(double{g[per_channel ? row * dk + i / dv : row]});
        }
        for (int64_t j = 0; j < dv; ++j) {
          double seen = 0, y = 0;
          for (int64_t i = 0; i < dk; ++i) seen += S[i * dv + j] * k[key + i];
          const double d = (v[row * dv + j] - seen) * beta[row];
          for (int64_t i = 0; i < dk; ++i) {
            S[i * dv + j] += k[key + i] * d;
            y += S[i * dv + j] * q[key + i];
          }
          want[row * dv + j] = y * 0.25;
        }
      }
    });
    for_each_isa([&](Isa isa) {
      std::vector<float> y(v.size()), end = start;
      job.state = end.data(), job.y = y.data();
      ASSERT_TRUE(delta_rule(job, pool, isa).ok());
      expect_near(y, want, 1e-5);
      expect_near(end, state, 1e-5);
    });
  }
}

}  // namespace
}  // namespace lamella::cpu
