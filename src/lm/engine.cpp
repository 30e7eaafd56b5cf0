#include "lamella/lm/engine.h"

#include <algorithm>
#include <array>
#include <set>

#include "lamella/base/error.h"
#include "lamella/lm/step_sizes.h"

namespace lamella {
namespace {

int64_t wanted_context(const ModelInfo& info, const EngineOptions& options) {
  const int64_t context = options.context > 0 ? options.context : info.context;
  CHECK_USER(options.context >= 0 && context >= 1 && context <= kMaxContext,
             "context: bad size; got ", context, "; want 1 to ", kMaxContext);
  return context;
}

Tensor ints(const std::vector<int32_t>& values, std::vector<int64_t> shape) {
  return Tensor::copy_of(kI32, std::move(shape), values.data());
}

// How long two lists agree from their start.
template <class A, class B>
int64_t n_equal(const A& a, const B& b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

using Programs = std::array<std::shared_ptr<const Program>, 2>;

Programs compile_phases(const Graph& graph, const Backend& backend, const EngineOptions& options) {
  const auto of = [&](Phase phase) {
    return compile(graph, backend,
                   {.phase = phase, .exact = options.exact, .requantize = options.requantize});
  };
  return {of(Phase::bulk), of(Phase::decode)};
}

// What the plans of both phases place at the end of the context, with prompts in steps of the usual
// size.
int64_t planned_bytes(const Programs& programs, int64_t context, int64_t prompt_step) {
  int64_t bytes = 0;
  for (size_t i = 0; i < programs.size(); ++i) {
    const int64_t tokens =
        i == static_cast<size_t>(Phase::bulk) ? std::min(prompt_step, context) : 1;
    DimBinding binding = bind_step(programs[i]->graph(), context, {tokens, context});
    for (std::optional<int64_t>& size : binding)
      if (!size) size = 1;  // such as a slot of one sequence
    bytes += programs[i]->estimate_memory(binding).arena_bytes;
  }
  return bytes;
}

// Pages and slots for snapshots beside those of the sequences.
int64_t within_budget(const EngineOptions& options, int64_t entry_bytes) {
  CHECK_USER(options.snapshot_bytes >= 0 && options.snapshot_every >= 1,
             "snapshots: got a budget of ", options.snapshot_bytes, " bytes, every ",
             options.snapshot_every, " positions; want 0 or more, and 1 or more");
  return entry_bytes == 0 ? 0 : options.snapshot_bytes / entry_bytes;
}

// Pages of no bytes, as snapshots of models without attention have them, cost nothing.
int64_t n_pages_for(const Graph& graph, const EngineOptions& options, int64_t max_pages) {
  const EntryBytes bytes = entry_bytes(graph);
  const int64_t of_sequences = max_pages * std::max<int64_t>(options.max_sequences, 1);
  if (bytes.page > 0) return of_sequences + within_budget(options, bytes.page);
  return of_sequences +
         std::min(within_budget(options, bytes.slot), kMaxContext / max_pages) * max_pages;
}

int64_t n_slots_for(const Graph& graph, const EngineOptions& options) {
  const int64_t bytes = entry_bytes(graph).slot;
  return bytes == 0 ? 0 : Engine::slots_for(options) + within_budget(options, bytes);
}

// What the program takes for a step of these items.
class StepInputs {
 public:
  StepInputs(std::span<const StepItem> items, int64_t max_pages)
      : n_seqs_(static_cast<int64_t>(items.size())),
        max_pages_(max_pages),
        table_(static_cast<size_t>(n_seqs_ * max_pages), 0) {}

  void add(const StepItem& item, std::span<const int32_t> pages) {
    std::copy(pages.begin(), pages.end(),
              table_.begin() + static_cast<int64_t>(kv_len_.size()) * max_pages_);
    const int64_t before = item.sequence->length();
    for (size_t i = 0; i < item.tokens.size(); ++i) {
      const bool is_last = i + 1 == item.tokens.size();
      if (item.rows == Rows::all || (item.rows == Rows::last && is_last))
        rows_.push_back(static_cast<int32_t>(tokens_.size()));
      positions_.push_back(static_cast<int32_t>(before + static_cast<int64_t>(i)));
      tokens_.push_back(item.tokens[i]);
    }
    q_start_.push_back(static_cast<int32_t>(tokens_.size()));
    kv_len_.push_back(static_cast<int32_t>(before + static_cast<int64_t>(item.tokens.size())));
  }
  // Of each sequence: the slot that is read, and those that are written.
  void add_read(int32_t slot) {
    from_.push_back(slot);
    to_.emplace_back();
  }
  void add_written(int32_t slot) { to_.back().push_back(slot); }
  const std::vector<std::vector<int32_t>>& written() const { return to_; }

  // In the order of the graph's inputs.
  std::vector<Tensor> tensors() const {
    const auto size = [](const auto& v) { return static_cast<int64_t>(v.size()); };
    std::vector<Tensor> all{
        ints(tokens_, {size(tokens_)}),      ints(positions_, {size(positions_)}),
        ints(q_start_, {size(q_start_)}),    ints(kv_len_, {size(kv_len_)}),
        ints(table_, {n_seqs_, max_pages_}), ints(rows_, {size(rows_)})};
    if (from_.empty()) return all;
    size_t most = 1;
    for (const auto& slots : to_) most = std::max(most, slots.size());
    std::vector<int32_t> kept;
    for (const auto& slots : to_) {
      kept.insert(kept.end(), most - slots.size(), -1);
      kept.insert(kept.end(), slots.begin(), slots.end());
    }
    all.push_back(ints(from_, {n_seqs_}));
    all.push_back(ints(kept, {n_seqs_, static_cast<int64_t>(most)}));
    return all;
  }

 private:
  int64_t n_seqs_, max_pages_;
  std::vector<int32_t> tokens_, positions_, q_start_{0}, kv_len_, rows_, table_, from_;
  std::vector<std::vector<int32_t>> to_;
};

}  // namespace

Sequence::Sequence(Engine& engine) : engine_(engine) {
  std::lock_guard lock(engine_.mutex_);
  engine_.sequences_.insert(this);
}

Sequence::~Sequence() {
  std::lock_guard lock(engine_.mutex_);
  drop_from(0);
  engine_.snapshots_.forget_owner(this);
  engine_.sequences_.erase(this);
}

void Sequence::drop_from(int64_t length) {
  history_.truncate(length);
  const size_t keep = static_cast<size_t>((length + engine_.page_ - 1) / engine_.page_);
  while (pages_.size() > keep) {
    engine_.pool_.pages().give_back(pages_.back());
    pages_.pop_back();
  }
  while (state_length() > length) {
    engine_.pool_.slots().give_back(states_.back().slot);
    states_.pop_back();
  }
}

void Sequence::hold(std::span<const int32_t> pages) {
  for (int32_t page : pages) engine_.pool_.pages().share(page);
  pages_.assign(pages.begin(), pages.end());
}

void Sequence::adopt(const RecurrentState& state) {
  engine_.pool_.slots().share(state.slot);
  states_.push_back(state);
}

void Sequence::truncate(int64_t length) {
  CHECK_USER(length >= 0 && length <= this->length(), "sequence: cannot cut to ", length, " of ",
             this->length(), " positions");
  std::lock_guard lock(engine_.mutex_);
  drop_from(length);
}

std::unique_ptr<Sequence> Sequence::snapshot() const {
  auto other = std::make_unique<Sequence>(engine_);
  std::lock_guard lock(engine_.mutex_);
  other->hold(pages_);
  for (const RecurrentState& state : states_) other->adopt(state);
  other->history_ = history_;
  return other;
}

Snapshot Sequence::as_snapshot(int64_t length) const {
  Snapshot s{this, history_, pages_, {}};
  s.history.truncate(length);
  s.pages.resize(static_cast<size_t>((length + engine_.page_ - 1) / engine_.page_));
  for (const RecurrentState& state : states_)
    if (state.length == length) s.states = {state};
  return s;
}

// The longest of its prefixes up to `length` from which a step can go on.
int64_t Sequence::usable(int64_t length) const {
  if (!engine_.pool_.has_slots()) return length;
  int64_t found = 0;
  for (const RecurrentState& s : states_)
    if (s.length <= length) found = s.length;
  return found;
}

void Sequence::keep() {
  std::lock_guard lock(engine_.mutex_);
  if (engine_.snapshots_.is_on() && length() > 0 && usable(length()) == length())
    engine_.snapshots_.keep(as_snapshot(length()));
}

// agree(history, is_own): as many of its positions are wanted; of others' recurrent states, only
// those behind whole pages if so said.
template <class Agree>
Sequence::Source Sequence::longest(int64_t own, bool whole_pages, Agree agree) const {
  Source best{.length = own};
  const bool is_recurrent = engine_.pool_.has_slots();
  const auto consider = [&](const Held& held) {
    const int64_t n = agree(held.history, held.is_own);
    if (!is_recurrent && n > best.length) best = {&held.history, &held.pages, held.snapshot, n, {}};
    if (!is_recurrent) return;
    for (const RecurrentState& s : held.states)
      if (s.length <= n && s.length > best.length &&
          (held.is_own || !whole_pages || s.length % engine_.page_ == 0))
        best = {&held.history, &held.pages, held.snapshot, s.length, s};
  };
  for (const Sequence* other : engine_.sequences_)
    if (other != this) consider({other->history_, other->pages_, other->states_, nullptr, false});
  for (const Snapshot& s : engine_.snapshots_.all())
    consider({s.history, s.pages, s.states, &s, s.owner == this});
  return best;
}

int64_t Sequence::take_over(const Source& source) {
  if (!source.history) {
    drop_from(source.length);
    return source.length;
  }
  const int64_t n_pages = (source.length + engine_.page_ - 1) / engine_.page_;
  const std::vector<int32_t> pages(source.pages->begin(), source.pages->begin() + n_pages);
  History history = *source.history;
  history.truncate(source.length);
  if (source.snapshot) engine_.snapshots_.use(*source.snapshot);
  // Before its own go back.
  for (const int32_t page : pages) engine_.pool_.pages().share(page);
  if (source.state.length > 0) engine_.pool_.slots().share(source.state.slot);
  drop_from(0);
  pages_ = pages;
  if (source.state.length > 0) states_ = {source.state};
  history_ = std::move(history);
  return source.length;
}

int64_t Sequence::resume(std::span<const int32_t> tokens) {
  CHECK_USER(!tokens.empty(), "prompt: no tokens; want at least one");
  std::lock_guard lock(engine_.mutex_);
  const auto own = [&](const History& h) {
    return n_equal(h.tokens, tokens.first(tokens.size() - 1));
  };
  return take_over(longest(usable(own(history_)), true, [&](const History& h, bool is_own) {
    return is_own ? own(h) : engine_.shareable(h, tokens);
  }));
}

int64_t Sequence::resume(const History& history) {
  std::lock_guard lock(engine_.mutex_);
  const auto agree = [&](const History& h) { return h.agreement(history); };
  return take_over(
      longest(usable(agree(history_)), false, [&](const History& h, bool) { return agree(h); }));
}

// Positions of another sequence that a prompt of these tokens would compute with the same bits:
// whole pages that were prompts there too.
int64_t Engine::shareable(const History& h, std::span<const int32_t> tokens) const {
  size_t n = 0;
  while (n < std::min(tokens.size() - 1, h.tokens.size()) && h.tokens[n] == tokens[n] &&
         h.phases[n] == Phase::bulk)
    ++n;
  if (!h.cuts.empty()) n = std::min(n, static_cast<size_t>(h.cuts[0]));
  return static_cast<int64_t>(n) / page_ * page_;
}

// A state that is read, and those that a step fills, a sequence; and one of zeros.
int64_t Engine::slots_for(const EngineOptions& options) {
  return std::max<int64_t>(options.max_sequences, 1) * 2 * options.kept_states + 1;
}

Engine::Engine(Model model, std::shared_ptr<const Weights> weights, const Backend& backend,
               const EngineOptions& options)
    : info_(model.info),
      weights_(std::move(weights)),
      page_(info_.page),
      context_(wanted_context(info_, options)),
      max_pages_((context_ + page_ - 1) / page_),
      prompt_step_(backend.prompt_step()),
      programs_(compile_phases(model.graph, backend, options)),
      pool_(model.graph, n_pages_for(model.graph, options, max_pages_),
            n_slots_for(model.graph, options), planned_bytes(programs_, context_, prompt_step_)),
      snapshots_(pool_, options.snapshot_bytes),
      snapshot_every_(options.snapshot_every),
      kept_states_(options.kept_states) {
  CHECK_USER(!model.graph.states().empty(), "engine: the model has no state");
  CHECK_USER(kept_states_ >= 1 && kept_states_ <= 16, "engine: bad number of kept states; got ",
             kept_states_, "; want 1 to 16");
  for (size_t i = 0; i < programs_.size(); ++i)
    executions_[i] = std::make_unique<Execution>(programs_[i], *weights_);
}

int64_t Engine::arena_bytes() const {
  return executions_[0]->arena_bytes() + executions_[1]->arena_bytes();
}

void Engine::check_item(const StepItem& item) const {
  CHECK_USER(item.sequence && &item.sequence->engine_ == this,
             "step: a sequence of another engine; want one of this");
  CHECK_USER(!item.tokens.empty(), "step: no tokens; want at least one");
  const int64_t total = item.sequence->length() + static_cast<int64_t>(item.tokens.size());
  CHECK_USER(total <= context_, "context: too many tokens; got ", total, "; want at most ",
             context_, "; hint: a larger --ctx");
  for (int32_t t : item.tokens)
    CHECK_USER(t >= 0 && t < info_.vocabulary, "step: token outside the vocabulary; got ", t,
               "; want 0 to ", info_.vocabulary - 1);
}

int32_t Engine::take_page() {
  while (pool_.pages().n_free() == 0 && snapshots_.drop_oldest()) continue;
  return pool_.pages().take();
}

int32_t Engine::take_slot() {
  while (pool_.slots().n_free() == 0 && snapshots_.drop_oldest()) continue;
  return pool_.slots().take();
}

// Room for the positions up to `length`, in pages that are the sequence's alone where it will
// write.
void Engine::reserve_pages(Sequence& sequence, int64_t length) {
  const auto first = static_cast<size_t>(sequence.length() / page_);
  for (size_t i = first; i < sequence.pages_.size(); ++i) {
    int32_t& page = sequence.pages_[i];
    if (!pool_.pages().is_shared(page)) continue;
    const int32_t own = take_page();
    pool_.copy_page(page, own);
    pool_.pages().give_back(page);
    page = own;
  }
  while (static_cast<int64_t>(sequence.pages_.size()) * page_ < length)
    sequence.pages_.push_back(take_page());
}

// Runs again what lies behind the newest recurrent state of what the sequence ran.
void Engine::catch_up(Sequence& sequence) {
  if (!pool_.has_slots() || sequence.state_length() == sequence.length()) return;
  const Sequence::Source source =
      sequence.longest(sequence.state_length(), false,
                       [&](const History& h, bool) { return h.agreement(sequence.history_); });
  if (source.history) sequence.adopt(source.state);
  const History history = sequence.history_;
  sequence.history_.truncate(sequence.state_length());
  try {
    while (sequence.length() < history.length()) {
      const auto at = static_cast<size_t>(sequence.length());
      const auto n = static_cast<size_t>(history.n_to_replay(sequence.length()));
      const StepItem item{&sequence, std::span(history.tokens).subspan(at, n), Rows::none};
      run({&item, 1}, history.phases[at]);
      n_replayed_ += static_cast<int64_t>(n);
    }
  } catch (...) {
    sequence.history_ = history;
    throw;
  }
}

Tensor Engine::step(std::span<const StepItem> items, Phase phase) {
  std::lock_guard lock(mutex_);
  CHECK_USER(!items.empty(), "step: no sequences");
  std::set<const Sequence*> sequences;
  for (const StepItem& item : items) {
    check_item(item);
    CHECK_USER(sequences.insert(item.sequence).second,
               "step: a sequence stands twice in one step; want each once");
  }
  for (const StepItem& item : items) catch_up(*item.sequence);
  return run(items, phase);
}

Tensor Engine::run(std::span<const StepItem> items, Phase phase) {
  StepInputs inputs(items, max_pages_);
  Tensor logits[1];
  try {
    for (const StepItem& item : items) {
      Sequence& sequence = *item.sequence;
      const auto n = static_cast<int64_t>(item.tokens.size());
      reserve_pages(sequence, sequence.length() + n);
      inputs.add(item, sequence.pages_);
      if (!pool_.has_slots()) continue;
      inputs.add_read(sequence.states_.empty() ? KvPool::kZeroSlot : sequence.states_.back().slot);
      for (int64_t i = 0; i < std::min(n, kept_states_); ++i) inputs.add_written(take_slot());
    }
    executions_[static_cast<size_t>(phase)]->run(inputs.tensors(), pool_.states(), logits);
  } catch (...) {
    for (const auto& slots : inputs.written())
      for (const int32_t slot : slots) pool_.slots().give_back(slot);
    throw;
  }
  for (size_t i = 0; i < items.size(); ++i) {
    append(items[i], phase);
    if (pool_.has_slots()) keep_states(*items[i].sequence, inputs.written()[i]);
    take_snapshot(*items[i].sequence, static_cast<int64_t>(items[i].tokens.size()));
  }
  return logits[0];
}

void Engine::append(const StepItem& item, Phase phase) {
  History& history = item.sequence->history_;
  const int64_t before = history.length();
  const bool follows_prompt =
      before > 0 && phase == Phase::bulk && history.phases.back() == Phase::bulk;
  if (pool_.has_slots() && follows_prompt && before % History::kBorder != 0)
    history.cuts.push_back(before);
  history.tokens.insert(history.tokens.end(), item.tokens.begin(), item.tokens.end());
  history.phases.resize(history.tokens.size(), phase);
}

// The states after the last positions; those that are older than wanted go back.
void Engine::keep_states(Sequence& sequence, std::span<const int32_t> slots) {
  const int64_t length = sequence.length();
  auto& states = sequence.states_;
  for (size_t i = 0; i < slots.size(); ++i)
    states.push_back({length - static_cast<int64_t>(slots.size() - 1 - i), slots[i]});
  const auto first_kept = std::find_if(states.begin(), states.end(), [&](const RecurrentState& s) {
    return s.length > length - kept_states_;
  });
  for (auto s = states.begin(); s != first_kept; ++s) pool_.slots().give_back(s->slot);
  states.erase(states.begin(), first_kept);
}

// Where the sequence has passed a multiple with its last n tokens: whole pages only, if a state
// allows it, since the next step then writes to none that is shared.
void Engine::take_snapshot(Sequence& sequence, int64_t n) {
  const int64_t length = sequence.length();
  if (!snapshots_.is_on() || length / snapshot_every_ == (length - n) / snapshot_every_) return;
  const int64_t whole = length / page_ * page_;
  const int64_t at = sequence.usable(whole) == whole ? whole : length;
  if (at > 0) snapshots_.keep(sequence.as_snapshot(at));
}

}  // namespace lamella
