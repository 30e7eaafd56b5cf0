#include "lamella/kernels/cpu/recurrent_grad.h"

#include <algorithm>
#include <cstring>

#include "lamella/kernels/cpu/scratch.h"
#include "lamella/kernels/cpu/step_team.h"

namespace lamella::cpu {
namespace {

using Cell = Recurrent::Cell;

// One direction of a job.
class DirectionBack {
 public:
  DirectionBack(const RecurrentGrad& job, int direction, ThreadPool& pool, Isa isa)
      : j_(job),
        r_(job.rule),
        d_(direction),
        pool_(pool),
        isa_(isa),
        kernels_(LAMELLA_BY_ISA(isa, kRecurrent)),
        rows_(n_gates(r_.cell) * r_.hidden),
        state_(r_.batch * r_.hidden) {}

  // What the rule keeps of all steps: rows of gates, states, cells.
  struct Kept {
    int64_t rows, resets, cells;
    explicit Kept(const Recurrent& r) {
      const bool is_rnn = r.cell == Cell::rnn_tanh || r.cell == Cell::rnn_relu;
      rows = is_rnn ? 0 : r.steps * r.batch * n_gates(r.cell) * r.hidden;
      resets = r.cell == Cell::gru_reset_before ? r.steps * r.batch * r.hidden : 0;
      cells = r.cell == Cell::lstm ? (r.steps + 1) * r.batch * r.hidden : 0;
    }
  };
  static int64_t floats(const Recurrent& r) {
    const Kept kept(r);
    return 2 * kept.rows + kept.resets + kept.cells + (r.steps + 3) * r.batch * r.hidden +
           2 * n_gates(r.cell) * r.hidden;
  }

  Status run(float* scratch) {
    const Kept kept(r_);
    gates_ = scratch, parts_ = gates_ + kept.rows, h_ = parts_ + kept.rows;
    reset_h_ = h_ + r_.steps * state_, c_ = reset_h_ + kept.resets, d_h_ = c_ + kept.cells;
    d_c_ = d_h_ + state_, d_rh_ = d_c_ + state_, bias_ = d_rh_ + state_;
    see_states();
    if (r_.steps > 0 && kernels_.activate[cell()]) {
      const Status status = find_gates();
      if (status.code != Status::Code::ok) return status;
    }
    write_seen();
    step_back();
    return {};
  }

 private:
  size_t cell() const { return static_cast<size_t>(r_.cell); }
  bool resets_before() const { return r_.cell == Cell::gru_reset_before; }
  bool is_reverse() const { return d_ == 1 || r_.reverse; }
  // The position of the step that is run as the ith.
  int64_t at(int64_t i) const { return is_reverse() ? r_.steps - 1 - i : i; }
  // Row b of the position t in [steps, directions, batch, size].
  int64_t entry(int64_t t, int64_t b) const { return (t * r_.directions + d_) * r_.batch + b; }
  const float* matrix(const float* whole, int64_t columns) const {
    return whole + d_ * rows_ * columns;
  }
  static void copy_or_clear(const float* from, float* to, int64_t n) {
    if (from)
      std::copy_n(from, n, to);
    else
      std::fill_n(to, n, 0.0f);
  }
  const float* of_direction(const float* states) const {
    return states ? states + d_ * state_ : nullptr;
  }

  // h before each position's step, from y.
  void see_states() {
    const float* h0 = of_direction(r_.h0);
    pool_.run_ranges(r_.steps, 16, [&](int64_t begin, int64_t end, int) {
      for (int64_t t = begin; t < end; ++t)
        for (int64_t b = 0; b < r_.batch; ++b) {
          float* to = h_ + (t * r_.batch + b) * r_.hidden;
          const int64_t before = is_reverse() ? t + 1 : t - 1;
          const int64_t length = std::min(r_.length(b), r_.steps);
          if (t >= length)
            std::fill_n(to, r_.hidden, 0.0f);
          else if (before < 0 || before >= length)
            copy_or_clear(h0 ? h0 + b * r_.hidden : nullptr, to, r_.hidden);
          else
            std::copy_n(r_.y + entry(before, b) * r_.hidden, r_.hidden, to);
        }
    });
  }

  // y = x w^T + bias for all positions, for rows [first, first + n) of the gates.
  Status multiply_all(const float* x, int64_t k, const float* w, const float* bias, int64_t first,
                      int64_t n, float* y) {
    MatmulJob job;
    job.w.planes[0] = reinterpret_cast<const uint8_t*>(w + first * k);
    job.n = n, job.y = y + first, job.y_stride = rows_, job.bias = bias + first;
    MatmulCall call{.isa = isa_,
                    .phase = j_.phase,
                    .m = r_.steps * r_.batch,
                    .k = k,
                    .x = {},
                    .jobs = {&job, 1}};
    call.x.planes[0] = reinterpret_cast<const uint8_t*>(x);
    call.x.row_stride = k;
    const Scratch workspace(matmul_workspace(call, pool_.size()));
    if (!workspace.ok()) return {.code = Status::Code::no_memory};
    matmul(call, workspace.at<std::byte>(), pool_);
    return {};
  }

  // The bias of w's products and of r's: r's is with w's, but for what gru adds to R_n h.
  void set_bias(float* of_parts) {
    std::fill_n(bias_, rows_, 0.0f), std::fill_n(of_parts, rows_, 0.0f);
    if (!r_.bias) return;
    const float *of_w = r_.bias + d_ * 2 * rows_, *of_r = of_w + rows_;
    const int64_t n = r_.cell == Cell::gru ? r_.gate_at[2] * r_.hidden : rows_;
    for (int64_t i = 0; i < rows_; ++i) {
      const bool apart = i >= n;
      bias_[i] = apart ? of_w[i] : of_w[i] + of_r[i];
      of_parts[i] = apart ? of_r[i] : 0;
    }
  }

  // The gates of all steps, and the cells.
  Status find_gates() {
    float* of_parts = bias_ + rows_;
    set_bias(of_parts);
    Status status = multiply_all(r_.x, r_.in, matrix(r_.w, r_.in), bias_, 0, rows_, gates_);
    const int64_t first = resets_before() ? 2 * r_.hidden : rows_;
    const float* r = matrix(r_.r, r_.hidden);
    if (status.code == Status::Code::ok)
      status = multiply_all(h_, r_.hidden, r, of_parts, 0, first, parts_);
    if (status.code != Status::Code::ok) return status;
    if (r_.cell == Cell::lstm) copy_or_clear(of_direction(r_.c0), c_, state_);
    activate(kernels_.activate[cell()]);
    if (!resets_before()) return {};
    status = multiply_all(reset_h_, r_.hidden, r, of_parts, first, r_.hidden, parts_);
    if (status.code == Status::Code::ok) activate(kernels_.activate_new);
    return status;
  }
  void activate(void (*kernel)(const RecurrentGates&)) {
    pool_.run_ranges(r_.hidden, 64, [&](int64_t u, int64_t end, int) {
      for (int64_t i = 0; i < r_.steps; ++i)
        for (int64_t b = 0; b < r_.batch; ++b) activate_row(kernel, i, b, u, end);
    });
  }
  void activate_row(void (*kernel)(const RecurrentGates&), int64_t i, int64_t b, int64_t u,
                    int64_t end) {
    const int64_t row = at(i) * r_.batch + b, unit = row * r_.hidden + u;
    RecurrentGates job{};
    for (int g = 0; g < n_gates(r_.cell); ++g) {
      const int64_t place = row * rows_ + r_.gate_at[g] * r_.hidden + u;
      job.gate[g] = gates_ + place, job.s[g] = parts_ + place;
    }
    job.h = h_ + unit, job.n = end - u;
    job.c = c_ + i * state_ + b * r_.hidden + u;
    job.next = resets_before() ? reset_h_ + unit : c_ + (i + 1) * state_ + b * r_.hidden + u;
    if (at(i) < r_.length(b))
      kernel(job);
    else if (r_.cell == Cell::lstm)
      std::copy_n(job.c, job.n, job.next);
    else if (resets_before())
      std::fill_n(job.next, job.n, 0.0f);
  }

  void write_seen() {
    const int64_t n = r_.hidden * j_.n_seen();
    for (int64_t t = 0; t < r_.steps; ++t)
      for (int64_t b = 0; b < r_.batch; ++b) {
        const int64_t unit = (t * r_.batch + b) * r_.hidden;
        float* to = j_.seen + entry(t, b) * n;
        std::copy_n(h_ + unit, r_.hidden, to);
        if (resets_before()) std::copy_n(reset_h_ + unit, r_.hidden, to + r_.hidden);
      }
  }

  // From the last step to the first, and what is left for the states before it.
  void step_back() {
    copy_or_clear(of_direction(j_.d_h), d_h_, state_);
    copy_or_clear(of_direction(j_.d_c), d_c_, state_);
    const int64_t phases = resets_before() ? 2 : 1, parts = pool_.size();
    const int64_t grain = (r_.hidden + parts * kUnits - 1) / (parts * kUnits) * kUnits;
    StepTeam team(parts);
    team.run((r_.steps + 1) * phases, pool_, [&](int64_t step, int64_t part) {
      const int64_t u = std::min(part * grain, r_.hidden), end = std::min(u + grain, r_.hidden);
      const int64_t i = r_.steps - 1 - step / phases;
      if (u == end) return;
      if (step % phases == 0) {
        if (i + 1 < r_.steps) add_state_part(at(i + 1), u, end);
        if (i >= 0) back_units(i, u, end);
      } else if (i >= 0) {
        reset_units(i, u, end);
      }
    });
    std::copy_n(d_h_, state_, j_.d_h0 + d_ * state_);
    if (j_.d_c0) std::copy_n(d_c_, state_, j_.d_c0 + d_ * state_);
  }
  // What r gives to the state before position t's step; gru_reset_before: without n.
  void add_state_part(int64_t t, int64_t u, int64_t end) const {
    const int64_t n = resets_before() ? 2 * r_.hidden : rows_;
    kernels_.multiply(j_.d_parts + entry(t, 0) * rows_, rows_, matrix(r_.r, r_.hidden) + u,
                      r_.hidden, d_h_ + u, r_.hidden, r_.batch, end - u, n);
  }
  void reset_units(int64_t i, int64_t u, int64_t end) const {
    for (int64_t b = 0; b < r_.batch; ++b)
      std::fill(d_rh_ + b * r_.hidden + u, d_rh_ + b * r_.hidden + end, 0.0f);
    const int64_t first = 2 * r_.hidden;
    kernels_.multiply(j_.d_parts + entry(at(i), 0) * rows_ + first, rows_,
                      matrix(r_.r, r_.hidden) + first * r_.hidden + u, r_.hidden, d_rh_ + u,
                      r_.hidden, r_.batch, end - u, r_.hidden);
    for (int64_t b = 0; b < r_.batch; ++b)
      if (at(i) < r_.length(b)) kernels_.back_reset(back_of(i, b, u, end));
  }
  void back_units(int64_t i, int64_t u, int64_t end) const {
    const int64_t t = at(i);
    for (int64_t b = 0; b < r_.batch; ++b) {
      const RecurrentBack job = back_of(i, b, u, end);
      if (t >= r_.length(b)) {
        for (int g = 0; g < n_gates(r_.cell); ++g)
          for (float* to : {job.d_gate[g], job.d_s[g]}) std::fill_n(to, job.n, 0.0f);
        continue;
      }
      const float* d_y = j_.d_y + entry(t, b) * r_.hidden + u;
      for (int64_t k = 0; k < job.n; ++k) job.d_h[k] += d_y[k];
      kernels_.back[cell()](job);
    }
  }
  RecurrentBack back_of(int64_t i, int64_t b, int64_t u, int64_t end) const {
    const int64_t t = at(i), row = t * r_.batch + b, unit = b * r_.hidden + u;
    RecurrentBack job{};
    for (int g = 0; g < n_gates(r_.cell); ++g) {
      const int64_t place = r_.gate_at[g] * r_.hidden + u;
      job.gate[g] = gates_ + row * rows_ + place, job.s[g] = parts_ + row * rows_ + place;
      job.d_gate[g] = j_.d_gates + entry(t, b) * rows_ + place;
      job.d_s[g] = j_.d_parts + entry(t, b) * rows_ + place;
    }
    job.h = h_ + row * r_.hidden + u, job.y = r_.y + entry(t, b) * r_.hidden + u;
    job.c = c_ + i * state_ + unit, job.next_c = job.c + state_;
    job.d_h = d_h_ + unit, job.d_c = d_c_ + unit, job.d_rh = d_rh_ + unit;
    job.n = end - u;
    return job;
  }

  static constexpr int64_t kUnits = 16;  // a part's units are a multiple: lines of its own

  const RecurrentGrad& j_;
  const Recurrent& r_;
  int d_;
  ThreadPool& pool_;
  Isa isa_;
  const RecurrentKernels& kernels_;
  int64_t rows_, state_;
  float *gates_ = nullptr, *parts_ = nullptr;  // [steps, batch, gates * hidden]
  float *h_ = nullptr, *reset_h_ = nullptr;    // [steps, batch, hidden]
  float* c_ = nullptr;                         // [steps + 1, batch, hidden], as steps are run
  float *d_h_ = nullptr, *d_c_ = nullptr, *d_rh_ = nullptr;  // [batch, hidden]
  float* bias_ = nullptr;                                    // [2][gates * hidden]
};

}  // namespace

Status recurrent_grad(const RecurrentGrad& job, ThreadPool& pool, Isa isa) {
  if (job.rule.batch == 0 || job.rule.hidden == 0) return {};
  const Scratch scratch(DirectionBack::floats(job.rule) * static_cast<int64_t>(sizeof(float)));
  if (!scratch.ok()) return {.code = Status::Code::no_memory};
  for (int d = 0; d < job.rule.directions; ++d) {
    const Status status = DirectionBack(job, d, pool, isa).run(scratch.at<float>());
    if (status.code != Status::Code::ok) return status;
  }
  return {};
}

}  // namespace lamella::cpu
