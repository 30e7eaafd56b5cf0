// Runs a causal model: sequences of any lengths in one step, over one pool of KV pages.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "lamella/backends/backend.h"
#include "lamella/lm/kv_pool.h"
#include "lamella/models/model.h"
#include "lamella/runtime/program.h"

namespace lamella {

class Engine;

// A sequence's pages and length. Belongs to one engine; its pages go back when it ends.
class Sequence {
 public:
  explicit Sequence(Engine& engine) : engine_(engine) {}
  ~Sequence();
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  int64_t length() const { return length_; }
  // Forgets all positions from `length` on.
  void truncate(int64_t length);

 private:
  friend class Engine;
  Engine& engine_;
  std::vector<int32_t> pages_;
  int64_t length_ = 0;
};

struct EngineOptions {
  int64_t context = 0;        // positions a sequence may have; 0: what the model was trained for
  int64_t max_sequences = 1;  // room for this many sequences of that length
  bool exact = false;
};

// Which logits a step's item wants.
enum class Rows { none, last, all };

struct StepItem {
  Sequence* sequence = nullptr;
  std::span<const int32_t> tokens;
  Rows rows = Rows::last;
};

class Engine {
 public:
  // Compiles the model for both phases over one set of weights. `backend` must outlive the engine.
  Engine(Model model, std::shared_ptr<const Weights> weights, const Backend& backend,
         const EngineOptions& options);

  // Appends each item's tokens to its sequence and returns logits f32[rows, vocabulary], item by
  // item. Items of one step run together in the given phase. A failed step leaves the sequences as
  // they were. UserError: a token outside the vocabulary, no tokens, or more than the context
  // holds.
  Tensor step(std::span<const StepItem> items, Phase phase);

  const ModelInfo& info() const { return info_; }
  int64_t context() const { return context_; }
  int64_t kv_bytes() const { return pool_.bytes(); }
  int64_t weight_bytes() const { return weights_->bytes(); }
  int64_t arena_bytes() const;
  // See Frame::time_steps; `seconds` must outlive the steps.
  void time_steps(Phase phase, std::vector<double>* seconds) {
    executions_[static_cast<size_t>(phase)]->time_steps(seconds);
  }
  const Program& program(Phase phase) const { return *programs_[static_cast<size_t>(phase)]; }

 private:
  friend class Sequence;
  void reserve_pages(Sequence& sequence, int64_t length);
  void check_item(const StepItem& item) const;

  ModelInfo info_;
  std::shared_ptr<const Weights> weights_;
  std::shared_ptr<const Program> programs_[2];
  std::unique_ptr<Execution> executions_[2];
  int64_t page_ = 0, context_ = 0, max_pages_ = 0;
  KvPool pool_;
  std::mutex mutex_;
};

}  // namespace lamella
