// Recurrences in f64, token by token and in plain C++: for checks and small networks.
#include <algorithm>
#include <cmath>

#include "lamella/kernels/cpu/recurrent.h"
#include "lamella/kernels/cpu/scratch.h"
#include "lamella/kernels/cpu/state_space.h"

namespace lamella::cpu {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// In an order of its own, the same for every length.
double dot(const double* a, const double* b, int64_t n) {
  double sums[4] = {};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int64_t k = 0; k < 4; ++k) sums[k] += a[i + k] * b[i + k];
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// A row of the batch in one direction, all its steps.
class RowRun {
 public:
  RowRun(const RecurrentOf<double>& job, int64_t direction, int64_t row, double* scratch)
      : j_(job),
        d_(direction),
        b_(row),
        rows_(n_gates(job.cell) * job.hidden),
        h_(scratch),
        c_(h_ + job.hidden),
        reset_h_(c_ + job.hidden),
        from_x_(reset_h_ + job.hidden),
        from_h_(from_x_ + rows_) {}
  static int64_t scratch_size(const RecurrentOf<double>& job) {
    return (3 + 2 * n_gates(job.cell)) * job.hidden;
  }

  void run() {
    start(j_.h0, h_), start(j_.c0, c_);
    const bool is_reverse = d_ == 1 || j_.reverse;
    for (int64_t i = 0; i < j_.steps; ++i) {
      const int64_t t = is_reverse ? j_.steps - 1 - i : i;
      double* y = j_.y + ((t * (j_.directions) + d_) * j_.batch + b_) * j_.hidden;
      if (t < j_.length(b_)) {
        step(j_.x + (t * j_.batch + b_) * j_.in);
        std::copy_n(h_, j_.hidden, y);
      } else {
        std::fill_n(y, j_.hidden, 0.0);
      }
    }
    std::copy_n(h_, j_.hidden, j_.h + (d_ * j_.batch + b_) * j_.hidden);
    if (j_.c) std::copy_n(c_, j_.hidden, j_.c + (d_ * j_.batch + b_) * j_.hidden);
  }

 private:
  void start(const double* from, double* to) const {
    if (from)
      std::copy_n(from + (d_ * j_.batch + b_) * j_.hidden, j_.hidden, to);
    else
      std::fill_n(to, j_.hidden, 0.0);
  }
  // Rows [first, last) of w x or r h, with their bias.
  void multiply(const double* matrix, const double* x, int64_t n, int64_t which, int64_t first,
                int64_t last, double* y) const {
    for (int64_t r = first; r < last; ++r)
      y[r] = (j_.bias ? j_.bias[(d_ * 2 + which) * rows_ + r] : 0) +
             dot(matrix + (d_ * rows_ + r) * n, x, n);
  }
  double x_of(int gate, int64_t i) const { return from_x_[j_.gate_at[gate] * j_.hidden + i]; }
  double h_of(int gate, int64_t i) const { return from_h_[j_.gate_at[gate] * j_.hidden + i]; }
  double sum(int gate, int64_t i) const { return x_of(gate, i) + h_of(gate, i); }

  void step(const double* x) {
    const int64_t n = j_.hidden;
    const bool resets_before = j_.cell == RecurrentCell::gru_reset_before;
    multiply(j_.w, x, j_.in, 0, 0, rows_, from_x_);
    multiply(j_.r, h_, n, 1, 0, resets_before ? 2 * n : rows_, from_h_);
    if (resets_before) {
      for (int64_t i = 0; i < n; ++i) reset_h_[i] = sigmoid(sum(0, i)) * h_[i];
      multiply(j_.r, reset_h_, n, 1, 2 * n, rows_, from_h_);
    }
    for (int64_t i = 0; i < n; ++i) h_[i] = next(i);
  }
  double next(int64_t i) {
    if (j_.cell == RecurrentCell::rnn_tanh) return std::tanh(sum(0, i));
    if (j_.cell == RecurrentCell::rnn_relu) return sum(0, i) < 0 ? 0 : sum(0, i);
    if (j_.cell == RecurrentCell::lstm) {
      c_[i] = sigmoid(sum(1, i)) * c_[i] + sigmoid(sum(0, i)) * std::tanh(sum(2, i));
      return sigmoid(sum(3, i)) * std::tanh(c_[i]);
    }
    const double reset = j_.cell == RecurrentCell::gru ? sigmoid(sum(0, i)) : 1;
    const double fresh = std::tanh(x_of(2, i) + reset * h_of(2, i));
    return fresh + sigmoid(sum(1, i)) * (h_[i] - fresh);
  }

  const RecurrentOf<double>& j_;
  int64_t d_, b_, rows_;
  double *h_, *c_, *reset_h_;  // [hidden]
  double *from_x_, *from_h_;   // [gates * hidden]
};

// fn(t) for each token of a sequence with the state at work in its home, and copies for `kept`.
// state_at(slot): `size` elements.
template <class StateAt, class Fn>
void for_tokens(const Sequences& s, int64_t seq, int64_t size, StateAt state_at, Fn fn) {
  if (!s.has_tokens(seq)) return;
  double* state = state_at(s.home(seq));
  if (s.home(seq) != s.slot[seq]) std::copy_n(state_at(s.slot[seq]), size, state);
  for (int64_t t = s.q_start[seq]; t < s.q_start[seq + 1]; ++t) {
    fn(t, state);
    if (const int64_t slot = s.kept_after(seq, t); slot >= 0)
      std::copy_n(state, size, state_at(slot));
  }
}

}  // namespace

Status recurrent(const RecurrentOf<double>& job, ThreadPool& pool) {
  const int64_t size = RowRun::scratch_size(job);
  const Scratch scratch(size * pool.size() * static_cast<int64_t>(sizeof(double)));
  if (!scratch.ok()) return {.code = Status::Code::no_memory};
  pool.run(job.directions * job.batch, [&](int64_t task, int worker) {
    RowRun(job, task / job.batch, task % job.batch, scratch.at<double>() + worker * size).run();
  });
  return {};
}

void causal_conv(const CausalConvOf<double>& job, ThreadPool& pool) {
  const int64_t kept = job.taps - 1;
  pool.run(job.seqs.n * job.channels, [&](int64_t task, int) {
    const int64_t seq = task / job.channels, c = task % job.channels;
    const auto state_at = [&](int64_t slot) {
      return job.state + (slot * job.channels + c) * kept;
    };
    for_tokens(job.seqs, seq, kept, state_at, [&](int64_t t, double* past) {
      const double x = job.x[t * job.channels + c], *w = job.w + c * job.taps;
      double y = job.bias ? job.bias[c] : 0;
      for (int64_t k = 0; k < kept; ++k) y += w[k] * past[k];
      job.y[t * job.channels + c] = y + w[kept] * x;
      for (int64_t k = 0; k + 1 < kept; ++k) past[k] = past[k + 1];
      if (kept > 0) past[kept - 1] = x;
    });
  });
}

void state_space(const StateSpaceOf<double>& job, ThreadPool& pool) {
  pool.run(job.seqs.n * job.heads, [&](int64_t task, int) {
    const int64_t seq = task / job.heads, head = task % job.heads;
    const int64_t group = head / (job.heads / job.groups);
    const auto state_at = [&](int64_t slot) { return job.state_of(slot, head); };
    for_tokens(job.seqs, seq, job.p * job.n, state_at, [&](int64_t t, double* h) {
      const double dt = job.dt[t * job.heads + head];
      const double* a = job.a + (job.a_per_element ? head * job.n : head);
      const double *b = job.b + (t * job.groups + group) * job.n,
                   *c = job.c + (t * job.groups + group) * job.n;
      for (int64_t p = 0; p < job.p; ++p) {
        const int64_t at = (t * job.heads + head) * job.p + p;
        double y = job.d ? job.d[head] * job.x[at] : 0;
        for (int64_t n = 0; n < job.n; ++n) {
          double& v = h[p * job.n + n];
          v = std::exp(dt * a[job.a_per_element ? n : 0]) * v + dt * job.x[at] * b[n];
          y += c[n] * v;
        }
        job.y[at] = y;
      }
    });
  });
}

void delta_rule(const DeltaRuleOf<double>& job, ThreadPool& pool) {
  pool.run(job.seqs.n * job.hv, [&](int64_t task, int) {
    const int64_t seq = task / job.hv, head = task % job.hv, size = job.dk * job.dv;
    const auto state_at = [&](int64_t slot) { return job.state + (slot * job.hv + head) * size; };
    for_tokens(job.seqs, seq, size, state_at, [&](int64_t t, double* S) {
      const int64_t row = t * job.hv + head, key = (t * job.hk + job.key_head(head)) * job.dk;
      const double *q = job.q + key, *k = job.k + key, *v = job.v + row * job.dv;
      const double* g = job.g + (job.g_per_channel ? row * job.dk : row);
      double* y = job.y + row * job.dv;
      std::fill_n(y, job.dv, 0.0);  // first S^T k, then what each key adds of it
      for (int64_t i = 0; i < job.dk; ++i) {
        const double decay = std::exp(g[job.g_per_channel ? i : 0]);
        for (int64_t j = 0; j < job.dv; ++j) {
          S[i * job.dv + j] *= decay;
          y[j] += k[i] * S[i * job.dv + j];
        }
      }
      for (int64_t j = 0; j < job.dv; ++j) y[j] = (v[j] - y[j]) * job.beta[row];
      for (int64_t i = 0; i < job.dk; ++i)
        for (int64_t j = 0; j < job.dv; ++j) S[i * job.dv + j] += k[i] * y[j];
      std::fill_n(y, job.dv, 0.0);
      for (int64_t i = 0; i < job.dk; ++i)
        for (int64_t j = 0; j < job.dv; ++j) y[j] += q[i] * S[i * job.dv + j];
      for (int64_t j = 0; j < job.dv; ++j) y[j] *= job.scale;
    });
  });
}

}  // namespace lamella::cpu
