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

struct Sizes {
  int64_t steps, batch, in, hidden;
  int directions;
};

// A network on random data.
struct Case {
  Sizes s;
  Cell cell;
  Random random{7};
  int64_t rows = gates_of(cell) * s.hidden, state = s.directions * s.batch * s.hidden;
  float scale = 5.5f / static_cast<float>(s.in);
  std::vector<float> x = random.floats(s.steps * s.batch * s.in),
                     w = random.floats(s.directions * rows * s.in, -scale, scale),
                     r = random.floats(s.directions * rows * s.hidden, -4.2 / s.hidden,
                                       4.2 / s.hidden),
                     bias = random.floats(s.directions * 2 * rows), h0 = random.floats(state),
                     c0 = random.floats(state), y = std::vector<float>(s.steps * state), h = h0,
                     c = c0;

  Recurrent run(ThreadPool& pool, Isa isa) {
    Recurrent job;
    job.cell = cell, job.steps = s.steps, job.batch = s.batch, job.in = s.in;
    job.hidden = s.hidden, job.directions = s.directions;
    job.x = x.data(), job.w = w.data(), job.r = r.data(), job.bias = bias.data();
    job.h0 = h0.data(), job.y = y.data(), job.h = h.data();
    if (cell == Cell::lstm) job.c0 = c0.data(), job.c = c.data();
    EXPECT_TRUE(recurrent(job, pool, isa).ok());
    return job;
  }
};

constexpr Cell kCells[] = {Cell::lstm, Cell::gru, Cell::gru_reset_before, Cell::rnn_tanh,
                           Cell::rnn_relu};

TEST(Recurrent, MatchesTheFormulas) {
  // The second has steps that threads share, and a product with the input in two slices.
  for (const auto& [sizes, threads] :
       {std::pair{Sizes{5, 4, 11, 21, 2}, 2}, std::pair{Sizes{3, 2, 530, 140, 1}, 3}}) {
    ThreadPool pool(threads);
    for (Cell cell : kCells) {
      Case given{sizes, cell};
      for_each_isa([&, &sizes = sizes](Isa isa) {
        const Recurrent job = given.run(pool, isa);
        for (int64_t row = 0; row < sizes.directions * sizes.batch; ++row) {
          const int64_t d = row / sizes.batch, b = row % sizes.batch, at = row * sizes.hidden;
          Doubles hs(given.h0.begin() + at, given.h0.begin() + at + sizes.hidden);
          Doubles cs(given.c0.begin() + at, given.c0.begin() + at + sizes.hidden);
          for (int64_t i = 0; i < sizes.steps; ++i) {
            const int64_t t = d == 0 ? i : sizes.steps - 1 - i;
            const float* x = given.x.data() + (t * sizes.batch + b) * sizes.in;
            Formula{job, static_cast<int>(d)}.step(x, hs, cs);
            for (int64_t u = 0; u < sizes.hidden; ++u)
              ASSERT_NEAR(given.y[static_cast<size_t>(t * given.state + at + u)],
                          hs[static_cast<size_t>(u)], 4e-6);
          }
        }
      });
    }
  }
}

TEST(Recurrent, HasTheSameBitsOnAnyThreads) {
  ThreadPool one(1), two(2), three(3), seven(7);
  for (Cell cell : kCells)
    for (int directions : {1, 2}) {
      Case given{{6, 2, 70, 150, directions}, cell};
      for_each_isa([&](Isa isa) {
        given.run(one, isa);
        const auto y = given.y, h = given.h, c = given.c;
        for (ThreadPool* pool : {&two, &three, &seven}) {
          given.run(*pool, isa);
          ASSERT_EQ(given.y, y);
          ASSERT_EQ(given.h, h);
          ASSERT_EQ(given.c, c);
        }
      });
    }
}

}  // namespace
}  // namespace lamella::cpu
