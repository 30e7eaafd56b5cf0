// Runs a causal model: sequences of any lengths in one step, over one pool of KV pages and slots of
// recurrent states.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "lamella/backends/backend.h"
#include "lamella/lm/kv_pool.h"
#include "lamella/lm/snapshots.h"
#include "lamella/models/model.h"
#include "lamella/runtime/program.h"

namespace lamella {

class Engine;

// Positions are i32 and pages are counted; beyond this no memory would hold them anyway.
inline constexpr int64_t kMaxContext = int64_t{1} << 30;

// A sequence's pages, recurrent states and history. Belongs to one engine; they go back when it
// ends. They may be shared with other sequences of the engine: a page that is written to is copied
// first, a state is never written to again.
class Sequence {
 public:
  explicit Sequence(Engine& engine);
  ~Sequence();
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  int64_t length() const { return static_cast<int64_t>(history_.tokens.size()); }
  const History& history() const { return history_; }
  // Forgets all positions from `length` on. Where a model has recurrences and the state there is
  // gone, the next step first runs again what lies behind the nearest one.
  void truncate(int64_t length);
  // Another sequence with the same positions and pages; either may go on.
  std::unique_ptr<Sequence> snapshot() const;
  // Keeps what it is in the engine's snapshots (a turn's end), if there is a budget for them.
  void keep();
  // Makes this sequence a prefix of `tokens` that has been computed already, and returns its
  // length: its own positions, or those of a snapshot of it, as far as they agree, or whole pages
  // that another sequence of the engine computed as a prompt, whichever is longest. At least one
  // token is left to be run.
  int64_t resume(std::span<const int32_t> tokens);
  // Makes it the longest prefix of `history` that is there with the same phases, so with the same
  // bits: its own, another sequence's or a snapshot's; returns its length.
  int64_t resume(const History& history);

 private:
  friend class Engine;
  // Computed positions that it may take over.
  struct Source {
    const History* history = nullptr;  // null: its own
    const std::vector<int32_t>* pages = nullptr;
    const Snapshot* snapshot = nullptr;  // if it is one
    int64_t length = 0;
    RecurrentState state = {};  // after that length, where the model has recurrences
  };
  // What the sequence has, as it is compared with others.
  struct Held {
    const History& history;
    const std::vector<int32_t>& pages;
    const std::vector<RecurrentState>& states;
    const Snapshot* snapshot;
    bool is_own;
  };
  template <class Agree>
  Source longest(int64_t own, bool whole_pages, Agree agree) const;
  int64_t usable(int64_t length) const;
  // Positions after which its newest state is.
  int64_t state_length() const { return states_.empty() ? 0 : states_.back().length; }
  void adopt(const RecurrentState& state);
  int64_t take_over(const Source& source);
  void hold(std::span<const int32_t> pages);
  void drop_from(int64_t length);
  Snapshot as_snapshot(int64_t length) const;

  Engine& engine_;
  std::vector<int32_t> pages_;
  std::vector<RecurrentState> states_;  // lengths rise
  History history_;
};

struct EngineOptions {
  int64_t context = 0;        // positions a sequence may have; 0: what the model was trained for
  int64_t max_sequences = 1;  // room for this many sequences of that length
  bool exact = false;
  bool requantize = false;  // see CompileOptions
  // Room for snapshots beside them, taken whenever a sequence passes a multiple of this many
  // positions, and when it is told to. Sequences that need pages drop snapshots.
  int64_t snapshot_bytes = 0, snapshot_every = 512;
  // Of models with recurrences, the states after a sequence's last positions that are kept, 1 to
  // 16: cutting it to one of those lengths costs nothing.
  int64_t kept_states = 1;
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
  // Tokens of a prompt that a step takes, unless it is told otherwise.
  int64_t prompt_step() const { return prompt_step_; }
  int64_t kv_bytes() const { return pool_.bytes(); }
  int64_t n_free_pages() const { return pool_.pages().n_free(); }
  // Positions that steps ran again because a recurrent state was gone.
  int64_t n_replayed() const { return n_replayed_; }
  int64_t n_free_slots() const { return pool_.slots().n_free(); }
  // Slots that a model with recurrences gets, snapshots' aside.
  static int64_t slots_for(const EngineOptions& options);
  int64_t snapshot_bytes() const { return snapshots_.bytes(); }
  size_t n_snapshots() const { return snapshots_.all().size(); }
  int64_t weight_bytes() const { return weights_->bytes(); }
  int64_t arena_bytes() const;
  // See Frame::record_steps; `spans` must outlive the steps.
  void record_steps(Phase phase, std::vector<StepSpan>* spans) {
    executions_[static_cast<size_t>(phase)]->record_steps(spans);
  }
  // See Frame::cancel_with; the flag must outlive the steps.
  void cancel_with(const CancelFlag* flag) {
    for (const auto& execution : executions_) execution->cancel_with(flag);
  }
  const Program& program(Phase phase) const { return *programs_[static_cast<size_t>(phase)]; }

 private:
  friend class Sequence;
  int32_t take_page();
  int32_t take_slot();
  void reserve_pages(Sequence& sequence, int64_t length);
  void catch_up(Sequence& sequence);
  Tensor run(std::span<const StepItem> items, Phase phase);
  void append(const StepItem& item, Phase phase);
  void keep_states(Sequence& sequence, std::span<const int32_t> slots);
  void take_snapshot(Sequence& sequence, int64_t n);
  int64_t shareable(const History& other, std::span<const int32_t> tokens) const;
  void check_item(const StepItem& item) const;

  ModelInfo info_;
  std::shared_ptr<const Weights> weights_;
  int64_t page_ = 0, context_ = 0, max_pages_ = 0, prompt_step_ = 0;
  std::array<std::shared_ptr<const Program>, 2> programs_;  // by phase
  std::unique_ptr<Execution> executions_[2];
  KvPool pool_;
  Snapshots snapshots_;
  int64_t snapshot_every_ = 0, kept_states_ = 1, n_replayed_ = 0;
  std::set<Sequence*> sequences_;
  mutable std::mutex mutex_;
};

}  // namespace lamella
