// The samples that lstm, gru and rnn share. Included by recurrence.h.
#pragma once

namespace lamella {

template <class Make>
void add_recurrent_samples(Samples& s, int64_t n_gates, size_t n_states, Make make) {
  struct Case {
    int64_t steps, batch, in, hidden;
    Direction direction;
    bool bias, lengths, states;
  };
  const auto inputs = [&](const Case& c) {
    const int64_t d = n_directions(c.direction), rows = n_gates * c.hidden;
    std::vector<In> in{In{.shape = {c.steps, c.batch, c.in}},
                       In{.shape = {d, rows, c.in}, .domain = {-0.5, 0.5}},
                       In{.shape = {d, rows, c.hidden}, .domain = {-0.5, 0.5}}};
    in.push_back(c.bias ? In{.shape = {d, 2 * rows}, .domain = {-0.5, 0.5}} : In::absent());
    in.push_back(
        c.lengths
            ? In{.shape = {c.batch}, .dtype = kI32, .domain = {0, static_cast<double>(c.steps)}}
            : In::absent());
    for (size_t i = 0; i < n_states; ++i)
      in.push_back(c.states ? In{.shape = {d, c.batch, c.hidden}} : In::absent());
    return in;
  };
  for (const Case& c : {Case{4, 2, 3, 5, Direction::forward, true, false, true},
                        Case{3, 3, 2, 4, Direction::reverse, true, true, false},
                        Case{3, 2, 5, 7, Direction::bidirectional, true, true, true},
                        Case{2, 1, 3, 19, Direction::bidirectional, false, false, false},
                        Case{1, 5, 4, 33, Direction::forward, true, false, true},
                        Case{0, 2, 3, 4, Direction::forward, true, false, true}})
    s.add(inputs(c), make(c.direction)).length = c.in + c.hidden;
  const Case plain{3, 2, 3, 4, Direction::forward, true, true, true};
  const auto bad = [&](size_t input, In with, const char* message) {
    std::vector<In> in = inputs(plain);
    in[input] = std::move(with);
    s.bad(std::move(in), make(Direction::forward), message);
  };
  bad(0, In{.shape = {2, 3}}, "rank");
  bad(1, In{.shape = {1, n_gates * 4, 2}}, "input sizes of x and w");
  bad(1, In{.shape = {1, n_gates * 5, 3}}, "rows of w and r");
  bad(2, In{.shape = {2, n_gates * 4, 4}}, "directions");
  bad(2, In{.shape = {1, n_gates * 4 + 4, 4}}, "rows of r");
  bad(3, In{.shape = {1, n_gates * 4}}, "entries of bias");
  bad(4, In{.shape = {3}, .dtype = kI32}, "rows of lengths");
  bad(4, In{.shape = {2}, .dtype = kF32}, "i32 or i64");
  bad(5, In{.shape = {1, 2, 5}}, "sizes of");
}

}  // namespace lamella
