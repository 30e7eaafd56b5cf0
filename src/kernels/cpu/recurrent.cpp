#include "lamella/kernels/cpu/recurrent.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/scratch.h"
#include "lamella/kernels/cpu/step_team.h"

namespace lamella::cpu {
namespace {

constexpr int64_t kInputBytes = int64_t{16} << 20;  // of the input's part of the gates, at a time
constexpr int64_t kInputFloats = kRowBlock * kInputSlice;
constexpr int64_t kWorthThreads = int64_t{1} << 15;  // products of a step

// Scratch of one direction.
struct Memory {
  float* gates;    // [steps of a chunk, batch, gates * hidden]: the input's part
  float* bias;     // [gates * hidden]: what is added to it
  float* parts;    // [batch, gates * hidden]: the state's part of a step
  float* h[2];     // [batch, hidden], before and after a step
  float *c, *aux;  // [batch, hidden]; aux: r * h
  float* r;        // [gates][blocks][hidden][kRowBlock]: see RecurrentProducts
  static int64_t floats(const Recurrent& j, int64_t chunk) {
    const int64_t rows = n_gates(j.cell) * j.hidden;
    return (chunk * j.batch + 1 + j.batch) * rows + 4 * j.batch * j.hidden +
           n_gates(j.cell) * gate_floats(j) + 16;
  }
  static int64_t n_blocks(const Recurrent& j) { return (j.hidden + kRowBlock - 1) / kRowBlock; }
  static int64_t gate_floats(const Recurrent& j) { return n_blocks(j) * kRowBlock * j.hidden; }
  Memory(const Recurrent& j, int64_t chunk, float* at) {
    const int64_t rows = n_gates(j.cell) * j.hidden, state = j.batch * j.hidden;
    r = at;  // first, where lines begin
    gates = at + n_gates(j.cell) * gate_floats(j);
    bias = gates + chunk * j.batch * rows;
    parts = bias + rows;
    h[0] = parts + j.batch * rows;
    h[1] = h[0] + state;
    c = h[1] + state;
    aux = c + state;
  }
};

// One direction of a job.
class DirectionRun {
 public:
  DirectionRun(const Recurrent& job, int direction, const Memory& memory,
               const RecurrentKernels& kernels)
      : j_(job),
        d_(direction),
        m_(memory),
        kernels_(kernels),
        gates_(n_gates(job.cell)),
        rows_(gates_ * job.hidden),
        r_(job.r + direction * rows_ * job.hidden) {
    const int64_t state = j_.batch * j_.hidden;
    start(j_.h0, m_.h[0], state);
    if (j_.cell == Recurrent::Cell::lstm) start(j_.c0, m_.c, state);
    set_bias();
  }

  bool is_reverse() const { return d_ == 1 || j_.reverse; }
  // The input's part of the gates for rows of x [first, first + n) of the chunk that begins at step
  // `step`, and for rows [row, row + kRowBlock) of the gates below `end`.
  void multiply_input(int64_t step, int64_t first, int64_t n, int64_t row, int64_t end,
                      float* scratch) const {
    kernels_.input({.w = j_.w + (d_ * rows_ + row) * j_.in,
                    .x = j_.x + (step * j_.batch + first) * j_.in,
                    .bias = m_.bias + row,
                    .rows = std::min(kRowBlock, end - row),
                    .in = j_.in,
                    .n = n,
                    .y = m_.gates + first * rows_ + row,
                    .y_row = rows_,
                    .scratch = scratch});
  }

  // The rows of r of units [u, end) in blocks.
  void pack(int64_t u, int64_t end) const {
    for (int64_t at = u; at < end; at += kRowBlock) {
      const int64_t rows = std::min(kRowBlock, end - at);
      for (int g = 0; g < gates_; ++g) {
        float* to = m_.r + g * Memory::gate_floats(j_) + at * j_.hidden;
        if (rows < kRowBlock) std::fill_n(to, kRowBlock * j_.hidden, 0.0f);
        kernels_.transpose(r_ + (g * j_.hidden + at) * j_.hidden, j_.hidden, to, kRowBlock, rows,
                           j_.hidden);
      }
    }
  }

  // Units [u, end) of step t, whose part of the gates is entry `at` of the chunk and which is the
  // `n`th that is run.
  void run_units(int64_t t, int64_t at, int64_t n, int64_t u, int64_t end) const {
    if (j_.cell == Recurrent::Cell::gru_reset_before) {
      add_parts(m_.aux, 2, 3, u, end);
    } else {
      add_parts(m_.h[n & 1], 0, gates_, u, end);
    }
    for (int64_t b = 0; b < j_.batch; ++b) {
      const int64_t row = b * j_.hidden + u;
      float* y = j_.y + ((t * j_.directions + d_) * j_.batch + b) * j_.hidden + u;
      const size_t bytes = static_cast<size_t>(end - u) * sizeof(float);
      float* next = m_.h[1 - (n & 1)] + row;
      if (t >= j_.length(b)) {
        std::memcpy(next, m_.h[n & 1] + row, bytes);
        std::memset(y, 0, bytes);
        continue;
      }
      RecurrentCells cells = cells_of(at, n, b, u, end);
      cells.next_h = next;
      cells.next_c = m_.c + row;
      kernels_.cells[static_cast<int>(j_.cell)](cells);
      std::memcpy(y, next, bytes);
    }
  }
  // gru_reset_before: r * h and z, before run_units.
  void reset_units(int64_t at, int64_t n, int64_t u, int64_t end) const {
    add_parts(m_.h[n & 1], 0, 2, u, end);
    for (int64_t b = 0; b < j_.batch; ++b) {
      RecurrentCells cells = cells_of(at, n, b, u, end);
      cells.next_h = m_.aux + b * j_.hidden + u;
      cells.next_c = m_.c + b * j_.hidden + u;
      kernels_.reset(cells);
    }
  }

  // Steps [first, first + n) of the sequence, by this thread alone ...
  void run_alone(int64_t first, int64_t n) {
    if (done_ == 0) pack(0, j_.hidden);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t phase = 0; phase < n_phases(); ++phase)
        run_part(first, n, i, phase, 0, j_.hidden);
    done_ += n;
  }
  // ... or by a team, each part with units of its own; with `input`, scratch, their part of the
  // gates that is the input's too.
  void run_shared(int64_t first, int64_t n, StepTeam& team, ThreadPool& pool, float* input) {
    const int64_t grain = (Memory::n_blocks(j_) + pool.size() - 1) / pool.size() * kRowBlock;
    const auto split = [&](int64_t steps, auto fn) {
      team.run(steps, pool, [&](int64_t step, int64_t part) {
        const int64_t u = std::min(part * grain, j_.hidden), end = std::min(u + grain, j_.hidden);
        if (u < end) fn(step, u, end);
      });
    };
    split(1, [&](int64_t, int64_t u, int64_t end) {
      if (done_ == 0) pack(u, end);
      if (input) multiply_own_input(first, n, u, end, input + u / grain * kInputFloats);
    });
    split(n * n_phases(), [&](int64_t step, int64_t u, int64_t end) {
      run_part(first, n, step / n_phases(), step % n_phases(), u, end);
    });
    done_ += n;
  }
  void finish() const {
    const int64_t state = j_.batch * j_.hidden;
    std::copy_n(m_.h[done_ & 1], state, j_.h + d_ * state);
    if (j_.cell == Recurrent::Cell::lstm) std::copy_n(m_.c, state, j_.c + d_ * state);
  }

 private:
  void multiply_own_input(int64_t step, int64_t n, int64_t u, int64_t end, float* scratch) const {
    for (int64_t g = 0; g < gates_; ++g)
      for (int64_t at = u; at < end; at += kRowBlock)
        multiply_input(step, 0, n * j_.batch, g * j_.hidden + at, g * j_.hidden + end, scratch);
  }
  int64_t n_phases() const { return j_.cell == Recurrent::Cell::gru_reset_before ? 2 : 1; }
  // Units [u, end) in step i of the chunk [first, first + n).
  void run_part(int64_t first, int64_t n, int64_t i, int64_t phase, int64_t u, int64_t end) const {
    const int64_t at = is_reverse() ? n - 1 - i : i;
    if (phase + 1 < n_phases())
      reset_units(at, done_ + i, u, end);
    else
      run_units(first + at, at, done_ + i, u, end);
  }
  void start(const float* from, float* to, int64_t state) const {
    if (from)
      std::copy_n(from + d_ * state, state, to);
    else
      std::fill_n(to, state, 0.0f);
  }
  // Of w and r, but for what gru adds to R_n h before the reset gate.
  void set_bias() {
    std::fill_n(m_.bias, rows_, 0.0f);
    if (!j_.bias) return;
    const float *of_w = j_.bias + d_ * 2 * rows_, *of_r = of_w + rows_;
    for (int64_t i = 0; i < rows_; ++i) m_.bias[i] = of_w[i] + of_r[i];
    if (j_.cell != Recurrent::Cell::gru) return;
    const int64_t n = j_.gate_at[2] * j_.hidden;
    std::copy_n(of_w + n, j_.hidden, m_.bias + n);
    n_bias_ = of_r + n;
  }
  // The state's part of gates [first, last), from `state`.
  void add_parts(const float* state, int first, int last, int64_t u, int64_t end) const {
    // What other threads have made comes line by line, and all lines take as long as one.
    constexpr int64_t kLine = 16, kWorthAsking = 1 << 12;
    for (int64_t i = 0; i < std::min(j_.batch * j_.hidden, kWorthAsking); i += kLine)
      __builtin_prefetch(state + i);
    RecurrentProducts job{};
    for (int g = first; g < last; ++g) {
      job.r[g - first] = m_.r + j_.gate_at[g] * Memory::gate_floats(j_) + u * j_.hidden;
      job.y[g - first] = m_.parts + j_.gate_at[g] * j_.hidden + u;
    }
    job.n_gates = last - first, job.rows = end - u, job.n_k = j_.hidden;
    job.h = state, job.batch = j_.batch, job.h_stride = j_.hidden, job.y_stride = rows_;
    kernels_.products(job);
  }
  RecurrentCells cells_of(int64_t at, int64_t n, int64_t b, int64_t u, int64_t end) const {
    RecurrentCells cells{};
    for (int g = 0; g < gates_; ++g) {
      const int64_t row = j_.gate_at[g] * j_.hidden + u;
      cells.x[g] = m_.gates + (at * j_.batch + b) * rows_ + row;
      cells.s[g] = m_.parts + b * rows_ + row;
    }
    cells.n_bias = n_bias_ ? n_bias_ + u : nullptr;
    cells.h = m_.h[n & 1] + b * j_.hidden + u;
    cells.c = m_.c + b * j_.hidden + u;
    cells.n = end - u;
    return cells;
  }

  const Recurrent& j_;
  int d_;
  Memory m_;
  const RecurrentKernels& kernels_;
  int gates_;
  int64_t rows_;
  const float* r_;
  const float* n_bias_ = nullptr;
  int64_t done_ = 0;  // steps; h[done_ & 1] is the state behind them
};

// The input's part of the gates for steps [first, first + n), in tiles.
void multiply_input(const Recurrent& job, std::span<const DirectionRun> runs, int64_t first,
                    int64_t n, float* scratch, ThreadPool& pool) {
  constexpr int64_t kTile = 96;
  const int64_t m = n * job.batch, rows = n_gates(job.cell) * job.hidden;
  const int64_t tiles = (m + kTile - 1) / kTile, blocks = (rows + kRowBlock - 1) / kRowBlock;
  pool.run(static_cast<int64_t>(runs.size()) * blocks * tiles, [&](int64_t task, int worker) {
    const int64_t from = task % tiles * kTile, block = task / tiles % blocks;
    runs[static_cast<size_t>(task / tiles / blocks)].multiply_input(
        first, from, std::min(kTile, m - from), block * kRowBlock, rows,
        scratch + worker * kInputFloats);
  });
}

}  // namespace

Status recurrent(const Recurrent& job, ThreadPool& pool, Isa isa) {
  const int64_t rows = n_gates(job.cell) * job.hidden;
  if (job.batch == 0 || job.hidden == 0) return {};
  const int64_t step_bytes = job.batch * rows * static_cast<int64_t>(sizeof(float));
  const int64_t chunk =
      std::clamp<int64_t>(kInputBytes / step_bytes, 1, std::max<int64_t>(job.steps, 1));
  const int64_t floats = (Memory::floats(job, chunk) + 15) / 16 * 16;
  const Scratch scratch(floats * job.directions * static_cast<int64_t>(sizeof(float)));
  if (!scratch.ok()) return {.code = Status::Code::no_memory};
  const RecurrentKernels& kernels = LAMELLA_BY_ISA(isa, kRecurrent);
  const Scratch input(kInputFloats * pool.size() * static_cast<int64_t>(sizeof(float)));
  if (!input.ok()) return {.code = Status::Code::no_memory};
  std::vector<DirectionRun> runs;
  for (int d = 0; d < job.directions; ++d)
    runs.emplace_back(job, d, Memory(job, chunk, scratch.at<float>() + d * floats), kernels);
  const bool shared =
      rows * job.hidden * job.batch >= kWorthThreads && pool.size() > job.directions;
  if (chunk == job.steps && !shared) {
    multiply_input(job, runs, 0, chunk, input.at<float>(), pool);
    pool.run(job.directions,
             [&](int64_t d, int) { runs[static_cast<size_t>(d)].run_alone(0, chunk); });
  } else {
    StepTeam team(pool.size());
    // Enough units for every thread: then each makes what it will read.
    const bool own_input = shared && Memory::n_blocks(job) >= pool.size();
    for (DirectionRun& run : runs)
      for (int64_t done = 0; done < job.steps; done += chunk) {
        const int64_t n = std::min(chunk, job.steps - done);
        const int64_t first = run.is_reverse() ? job.steps - done - n : done;
        if (!own_input) multiply_input(job, {&run, 1}, first, n, input.at<float>(), pool);
        if (shared)
          run.run_shared(first, n, team, pool, own_input ? input.at<float>() : nullptr);
        else
          run.run_alone(first, n);
      }
  }
  for (const DirectionRun& run : runs) run.finish();
  return {};
}

}  // namespace lamella::cpu
