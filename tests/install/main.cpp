// Uses the installed library from outside: builds a graph from op headers, compiles it, runs it.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "lamella/backends/cpu/cpu.h"
#include "lamella/backends/reference/reference.h"
#include "lamella/base/error.h"
#include "lamella/base/version.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/math/exp.h"
#include "lamella/ops/operators.h"
#include "lamella/runtime/program.h"

namespace {

using namespace lamella;

// y = exp(x wᵀ) + 1 for any number of rows
Graph make_graph() {
  Graph g;
  const Value x = g.input("x", Type(kF32, {g.symbol("rows"), 2}));
  const Value w = g.parameter("w", Type(kF32, {3, 2}));
  g.output("y", lamella::exp(matmul(x, w)) + 1.0);
  return g;
}

bool gives_the_right_values(const Backend& backend) {
  const std::vector<double> x = {0, 1, 2, -1}, w = {1, 0, 0, 1, -1, 1};
  Weights weights;
  weights.set("w", Tensor::from(kF32, {3, 2}, w));
  const auto program = compile(make_graph(), backend);
  const TensorMap outputs = program->run({{"x", Tensor::from(kF32, {2, 2}, x)}}, weights);
  const std::vector<double> y = outputs.at("y").to_doubles();
  const std::vector<double> products = {0, 1, 1, 2, -1, -3};
  for (size_t i = 0; i < products.size(); ++i) {
    if (y.size() != products.size() || std::abs(y[i] - (std::exp(products[i]) + 1)) > 1e-5) {
      return false;
    }
  }
  return true;
}

}  // namespace

int main() {
  std::printf("lamella %s\n", std::string(version()).c_str());
  try {
    if (!gives_the_right_values(*make_reference_backend())) return 1;
    if (!gives_the_right_values(*make_cpu_backend())) return 2;
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
    return 3;
  }
  return 0;
}
