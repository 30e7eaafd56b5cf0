#include "lamella/backends/mlx/traces.h"

#include <mlx/compile.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>

#include "lamella/backends/mlx/frame.h"

namespace lamella::on_mlx {

Trace* TraceCache::find(const DimBinding& key) {
  const auto found =
      std::find_if(traces_.begin(), traces_.end(), [&](const Trace& t) { return t.key == key; });
  if (found != traces_.end()) {
    traces_.splice(traces_.begin(), traces_, found);
    return &traces_.front();
  }
  if (traces_.size() >= kMost) {
    const auto again = std::find(seen_.begin(), seen_.end(), key);
    if (again == seen_.end()) {
      seen_.push_front(key);
      if (seen_.size() > kMost) seen_.pop_back();
      return nullptr;
    }
    seen_.erase(again);
    traces_.pop_back();
  }
  traces_.push_front({});
  traces_.front().key = key;
  return &traces_.front();
}

bool finds_cxx() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder + "/g++").c_str(), X_OK) == 0) return true;
  return false;
}

void MlxFrame::build_compiled(uint32_t r) {
  const Region& region = plan_->regions[r];
  Trace* trace = traces_[r].find(binding_);
  if (!trace) {
    ++plan_->device->counters->lazy_runs;
    return build_steps(region.first, region.end);
  }
  if (!trace->run)
    trace->run = mx::compile(
        [this, trace, r](const Arrays& inputs) { return trace_region(*trace, r, inputs); });
  call(*trace, r);
}

// The region's steps over MLX's tracers: what mx::compile compiles. Ends with its index checks.
Arrays MlxFrame::trace_region(Trace& trace, uint32_t r, const Arrays& inputs) {
  const Region& region = plan_->regions[r];
  Counters& counters = *plan_->device->counters;
  ++counters.traces;
  if (std::exchange(trace.is_traced, true)) ++counters.retraces;
  for (size_t i = 0; i < inputs.size(); ++i) arrays_[region.inputs[i]] = inputs[i];
  const std::vector<IndexCheck> before = std::exchange(lowering_.checks, {});
  for (uint32_t s = region.first; s < region.end; ++s) build_step(s);
  Arrays outputs;
  for (uint32_t v : region.outputs) outputs.push_back(*arrays_[v]);
  trace.checks = std::exchange(lowering_.checks, before);
  for (const IndexCheck& c : trace.checks) {
    outputs.push_back(c.indices);
    outputs.push_back(c.is_bad);
  }
  return outputs;
}

void MlxFrame::call(Trace& trace, uint32_t r) {
  const Region& region = plan_->regions[r];
  Arrays inputs;
  for (uint32_t v : region.inputs) inputs.push_back(*arrays_[v]);
  const Arrays outputs = trace.run(inputs);
  // Tracing went over the same places.
  free_values(region);
  for (size_t i = 0; i < region.inputs.size(); ++i) arrays_[region.inputs[i]] = inputs[i];
  inputs.clear();
  size_t at = 0;
  for (uint32_t v : region.outputs) arrays_[v] = outputs[at++];
  for (const IndexCheck& c : trace.checks) {
    lowering_.checks.push_back({c.node, c.least, c.size, outputs[at], outputs[at + 1], c.problem});
    at += 2;
  }
  for (uint32_t s = region.first; s < region.end; ++s) {
    const Step& step = plan_->steps[s];
    if (step.in_place) effects_.push_back(*arrays_[plan_->value({step.node, 0})]);
    for (uint32_t v : step.dead) arrays_[v].reset();
  }
}

void MlxFrame::free_values(const Region& region) {
  for (uint32_t s = region.first; s < region.end; ++s) {
    const uint32_t node = plan_->steps[s].node;
    for (uint32_t o = 0; o < plan_->graph.nodes()[node].outputs.size(); ++o)
      arrays_[plan_->value({node, o})].reset();
  }
}

}  // namespace lamella::on_mlx
