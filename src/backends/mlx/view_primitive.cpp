#include "lamella/backends/mlx/view_primitive.h"

#include <mlx/backend/cpu/encoder.h>

#include <algorithm>

#include "lamella/backends/mlx/array.h"
#include "lamella/backends/planned/views.h"
#include "lamella/kernels/cpu/copy.h"

namespace lamella::on_mlx {
namespace {

using Strides = std::vector<int64_t>;

Strides dense(std::span<const int64_t> shape) {
  Strides strides(shape.size());
  planned::dense_strides(shape, strides);
  return strides;
}

Strides strides_of(const mx::array& x, std::span<const int64_t> shape) {
  return x.flags().row_contiguous ? dense(shape) : Strides(x.strides().begin(), x.strides().end());
}

// Axes of size 1 have any stride.
bool is_dense(std::span<const int64_t> shape, const Strides& strides) {
  const Strides want = dense(shape);
  const bool is_empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  for (size_t i = 0; i < shape.size() && !is_empty; ++i)
    if (shape[i] != 1 && strides[i] != want[i]) return false;
  return true;
}

void share(const mx::array& x, std::span<const int64_t> shape, const Strides& strides,
           int64_t offset, mx::array& y) {
  const bool dense = is_dense(shape, strides);
  y.copy_shared_buffer(x, mx::Strides(strides.begin(), strides.end()),
                       {dense, dense, dense && shape.size() < 2}, y.size(), offset);
}

// The elements in order, in memory of their own.
void lay_out(const std::shared_ptr<const BoundStep>& bound, const RunState& run, mx::Stream stream,
             const mx::array& x, const Strides& x_strides, mx::array& y) {
  allocate(y);
  const auto copy = [bound, x_strides, from = bytes_of(x), to = bytes_of(y), n = x.size()] {
    const std::vector<int64_t>& shape = bound->shapes[0];
    if (n > 0)
      cpu::copy({bound->dtypes[0].bytes(), shape, x_strides, dense(shape), from, to},
                *bound->plan->device->cpu.pool);
  };
  if (run.is_here())
    copy();
  else
    mx::cpu::get_command_encoder(stream).dispatch(copy);
}

}  // namespace

void evaluate_view(const std::shared_ptr<const BoundStep>& bound,
                   const std::shared_ptr<RunState>& run, mx::Stream stream,
                   const std::vector<mx::array>& inputs, std::vector<mx::array>& outputs) {
  const BoundStep& b = *bound;
  const mx::array& x = inputs[0];
  const planned::ViewRule* rule = planned::view_rule(b.plan->graph, b.node());
  const Strides x_strides = strides_of(x, b.shapes[0]);
  if (!rule->apply && !x.flags().row_contiguous)
    return lay_out(bound, *run, stream, x, x_strides, outputs[0]);
  for (uint32_t o = 0; o < outputs.size(); ++o) {
    const std::vector<int64_t>& shape = b.shapes[b.n_inputs + o];
    Strides strides = dense(shape);
    int64_t offset = 0;
    if (rule->apply)
      rule->apply(b.plan->graph, b.node(), o, b.shapes[0], x_strides, shape, b.binding, strides,
                  offset);
    share(x, shape, strides, offset, outputs[o]);
  }
}

}  // namespace lamella::on_mlx
