// How a program uses Lamella: it builds a graph, compiles it for a back end, runs it at two sizes
// with state carried between the runs, and reads what ran. Needs the library alone.
#include <cstdio>
#include <vector>

#include "lamella/backends/cpu/cpu.h"
#include "lamella/base/error.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/math/tanh.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/runtime/program.h"

using namespace lamella;

// y = tanh(x w^T) for any number of rows, and the sum of all rows of y that there ever were.
static Graph make_graph() {
  Graph g("embedded");
  const Dim rows = g.symbol("rows");
  const Value x = g.input("x", Type(kF32, {rows, 2}));
  const Value w = g.parameter("w", Type(kF32, {3, 2}));
  const Value y = lamella::tanh(matmul(x, w));  // ::tanh is that of C
  g.output("y", y);
  g.set_state("total", g.state("total", Type(kF32, {3})) + sum(y, {.axes = {0}}));
  return g;
}

static Tensor floats(std::vector<int64_t> shape, const std::vector<double>& values) {
  return Tensor::from(kF32, std::move(shape), values);
}

static void print(const char* name, const Tensor& tensor) {
  std::printf("%s =", name);
  for (double v : tensor.to_doubles()) std::printf(" %.4f", v);
  std::printf("\n");
}

static void use() {
  const Graph graph = make_graph();
  const auto backend = make_cpu_backend({.threads = 1});
  // A program may be shared by threads; each run takes an arena of its own.
  const auto program = compile(graph, *backend);

  Weights weights;
  weights.set("w", floats({3, 2}, {1, 0, 0, 1, 1, -1}));
  TensorMap states{{"total", floats({3}, {0, 0, 0})}};
  // Each run binds the symbol `rows` to what its input has; nothing is compiled anew.
  for (const Tensor& x : {floats({1, 2}, {0.5, 1}), floats({3, 2}, {1, 2, -1, 0, 0.25, 0.5})})
    print("y", program->run({{"x", x}}, weights, &states).at("y"));
  print("total", states.at("total"));

  // What ran each node, and what that costs with 1,000 rows.
  DimBinding sizes(graph.dims()->n_symbols());
  sizes[graph.dims()->find_symbol("rows")->expr()->symbol] = 1000;
  for (const NodeReport& node : program->report(sizes))
    std::printf("%-10s ran by %-14s %8.0f FLOP %8.0f bytes\n", node.op.c_str(), node.row.c_str(),
                node.flops, node.bytes);
  std::printf("arena %lld bytes\n",
              static_cast<long long>(program->estimate_memory(sizes).arena_bytes));

  try {
    program->run({{"x", floats({1, 3}, {1, 2, 3})}}, weights, &states);
  } catch (const UserError& error) {  // says which input, what it got and what it wants
    std::printf("refused: %s\n", error.what());
  }
}

int main() {
  try {
    use();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
