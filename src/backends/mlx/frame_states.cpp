// States on a GPU: MLX's memory from their first run on. A row that appends is given the only array
// of that memory, so that MLX writes in place; others get a second one, and make memory anew.
#include <mlx/transforms.h>

#include "lamella/backends/mlx/array.h"
#include "lamella/backends/mlx/frame.h"

namespace lamella::on_mlx {

void MlxFrame::take_states(const RunArgs& args) {
  cells_.clear();
  for (size_t i = 0; i < args.states.size(); ++i) {
    cells_.push_back(plan_->device->memory->state(args.states[i]));
    std::optional<mx::array>& own = cells_.back()->array;
    Held& array = arrays_[plan_->value(plan_->graph.states()[i].in)];
    array = own;
    if (is_appended_[i]) own.reset();
  }
}

void MlxFrame::put_back(size_t state, mx::array array) { cells_[state]->array = std::move(array); }

void MlxFrame::keep_states(const RunArgs& args) {
  const Graph& g = plan_->graph;
  for (size_t i = 0; i < args.states.size(); ++i) {
    const mx::array next = *arrays_[plan_->value(g.states()[i].out)];
    if (is_appended_[i] && bytes_of(next) == args.states[i].data()) {
      put_back(i, next);
      continue;
    }
    plan_->device->counters->copied_bytes += static_cast<int64_t>(next.nbytes());
    args.states[i] =
        plan_->device->memory->state_of(args.states[i].dtype(), args.states[i].shape(), next);
  }
  cells_.clear();
}

// What a row appended lies where nothing counts as valid yet: the memory is the state still.
void MlxFrame::restore_states() {
  const Graph& g = plan_->graph;
  for (size_t i = 0; i < cells_.size(); ++i) {
    if (cells_[i]->array) continue;
    const Held &before = arrays_[plan_->value(g.states()[i].in)],
               &after = arrays_[plan_->value(g.states()[i].out)];
    if (after) mx::eval(*after);
    if (after || before) put_back(i, after ? *after : *before);
  }
  cells_.clear();
}

}  // namespace lamella::on_mlx
