// Recurrent networks against their formulas in f64.
#include "lamella/kernels/cpu/recurrent.h"

#include "kernel_cases.h"

namespace lamella::cpu {
namespace {

using Cell = Recurrent::Cell;
using Doubles = std::vector<double>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

int gates_of(Cell cell) { return cell == Cell::lstm ? 4 : cell <= Cell::gru_reset_before ? 3 : 1; }

// Of one direction: its weights, and row `b` of its state.
struct Formula {
  const Recurrent& job;
  int direction;

  // Row `row` of w x, or of r h, with its bias.
  double product(const float* matrix, int64_t n, int64_t row, auto x, int which) const {
    const int64_t rows = gates_of(job.cell) * job.hidden;
    double sum = job.bias[(direction * 2 + which) * rows + row];
    for (int64_t k = 0; k < n; ++k) sum += matrix[(direction * rows + row) * n + k] * x(k);
    return sum;
  }
  void step(const float* x, Doubles& h, Doubles& c) const {
    const int64_t n = job.hidden;
    const Doubles before = h;
    const auto of_x = [&](int gate, int64_t i) {
      return product(
          job.w, job.in, gate * n + i, [&](int64_t k) { return double{x[k]}; }, 0);
    };
    const auto of = [&](const Doubles& state, int gate, int64_t i) {
      return product(
          job.r, n, gate * n + i, [&](int64_t k) { return state[static_cast<size_t>(k)]; }, 1);
    };
    const auto sum = [&](int gate, int64_t i) { return of_x(gate, i) + of(before, gate, i); };
    Doubles reset(before.size());
    for (int64_t i = 0; i < n && job.cell == Cell::gru_reset_before; ++i) {
      const auto at = static_cast<size_t>(i);
      reset[at] = sigmoid(sum(0, i)) * before[at];
    }
    for (int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<size_t>(i);
      if (job.cell == Cell::lstm) {
        c[at] = sigmoid(sum(1, i)) * c[at] + sigmoid(sum(0, i)) * std::tanh(sum(2, i));
        h[at] = sigmoid(sum(3, i)) * std::tanh(c[at]);
      } else if (job.cell == Cell::rnn_tanh) {
        h[at] = std::tanh(sum(0, i));
      } else if (job.cell == Cell::rnn_relu) {
        h[at] = std::max(0.0, sum(0, i));
      } else {
        const double z = sigmoid(sum(1, i));
        const double of_h =
            job.cell == Cell::gru ? sigmoid(sum(0, i)) * of(before, 2, i) : of(reset, 2, i);
        h[at] = z * before[at] + (1 - z) * std::tanh(of_x(2, i) + of_h);
      }
    }
  }
};

TEST(Recurrent, MatchesTheFormulas) {
  ThreadPool pool(2);
  const int64_t steps = 5, batch = 4, in = 11, hidden = 21;
  for (Cell cell :
       {Cell::lstm, Cell::gru, Cell::gru_reset_before, Cell::rnn_tanh, Cell::rnn_relu}) {
    Random random(7);
    const int64_t rows = gates_of(cell) * hidden, state = 2 * batch * hidden;
    const auto x = random.floats(steps * batch * in), w = random.floats(2 * rows * in, -0.5, 0.5);
    const auto r = random.floats(2 * rows * hidden, -0.2, 0.2), bias = random.floats(4 * rows);
    const auto h0 = random.floats(state), c0 = random.floats(state);
    for_each_isa([&](Isa isa) {
      std::vector<float> y(static_cast<size_t>(steps * state)), h(h0.size()), c(h0.size());
      Recurrent job;
      job.cell = cell, job.steps = steps, job.batch = batch, job.in = in, job.hidden = hidden;
      job.directions = 2;
      job.x = x.data(), job.w = w.data(), job.r = r.data(), job.bias = bias.data();
      job.h0 = h0.data(), job.y = y.data(), job.h = h.data();
      if (cell == Cell::lstm) job.c0 = c0.data(), job.c = c.data();
      ASSERT_TRUE(recurrent(job, pool, isa).ok());
      for (int d = 0; d < 2; ++d) {
        for (int64_t b = 0; b < batch; ++b) {
          const int64_t row = (d * batch + b) * hidden;
          Doubles hs(h0.begin() + row, h0.begin() + row + hidden);
          Doubles cs(c0.begin() + row, c0.begin() + row + hidden);
          for (int64_t i = 0; i < steps; ++i) {
            const int64_t t = d == 0 ? i : steps - 1 - i;
            Formula{job, d}.step(x.data() + (t * batch + b) * in, hs, cs);
            for (int64_t u = 0; u < hidden; ++u) {
              const double want = hs[static_cast<size_t>(u)];
              ASSERT_NEAR(y[static_cast<size_t>(t * state + row + u)], want, 4e-6);
            }
          }
        }
      }
    });
  }
}

}  // namespace
}  // namespace lamella::cpu
