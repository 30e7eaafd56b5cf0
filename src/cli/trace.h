// A record of what an engine's steps did when, as JSON that Perfetto and Chrome's tracing page
// show.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "lamella/lm/engine.h"

namespace lamella::cli {

class Trace {
 public:
  // Records every step of the engine from now on, as long as it lives.
  explicit Trace(Engine& engine);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // Engine steps, the segments that they bound, and their kernels with op, origin and type.
  // UserError when the file cannot be written.
  void write(const std::string& path) const;

 private:
  Engine& engine_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<StepSpan> spans_[2];  // by phase
};

}  // namespace lamella::cli
