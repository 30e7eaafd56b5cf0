// A product with a block format, its inputs, and what the f64 meaning makes of them.
#pragma once

#include <cmath>
#include <vector>

#include "lamella/check/cases.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/runtime/program.h"

namespace lamella::test {

struct Product {
  Graph graph;
  Tensor x, w;
  std::vector<double> want, scale;
  int64_t k = 0;

  TensorMap inputs() const { return {{"x0", x}, {"x1", w}}; }
  // Elements that are further off than f32 sums of that length may be.
  int64_t n_bad(const std::vector<double>& got) const {
    const Info& info = op<Matmul>.info;
    const double ulps = info.ulps + info.ulps_per_length * static_cast<double>(k);
    if (got.size() != want.size()) return static_cast<int64_t>(want.size());
    int64_t n = 0;
    for (size_t i = 0; i < got.size(); ++i)
      n += !(std::abs(got[i] - want[i]) <= ulps * 0x1p-23 * scale[i]);
    return n;
  }
};

inline Product product(DType format, int64_t m, int64_t n, int64_t k) {
  Samples samples;
  samples.add({In{.shape = {m, k}, .dtype = kF32}, In{.shape = {n, k}, .dtype = format}},
              Matmul::Attrs{});
  const Sample& sample = samples.list[0];
  const check::Case c = check::make_case(op<Matmul>, 0, sample, kF32, 7);
  Product p{check::graph_of_case(op<Matmul>, sample, kF32), c.inputs[0], c.inputs[1], {}, {}, k};
  RefTensors given, absolute;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    given[c.names[i]] = absolute[c.names[i]] = RefTensor::from(c.inputs[i]);
    for (double& v : absolute[c.names[i]].f) v = std::abs(v);
  }
  p.want = evaluate_graph(p.graph, given).outputs[0].f;
  p.scale = evaluate_graph(p.graph, absolute).outputs[0].f;
  return p;
}

}  // namespace lamella::test
