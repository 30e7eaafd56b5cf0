#include "lamella/lm/engine.h"

#include <algorithm>
#include <set>

#include "lamella/base/error.h"

namespace lamella {
namespace {

constexpr int64_t kMaxContext = int64_t{1} << 24;

int64_t wanted_context(const ModelInfo& info, const EngineOptions& options) {
  const int64_t context = options.context > 0 ? options.context : info.context;
  CHECK_USER(options.context >= 0 && context >= 1 && context <= kMaxContext,
             "context: bad size; got ", context, "; want 1 to ", kMaxContext);
  return context;
}

int64_t page_size(const Graph& graph) {
  CHECK_USER(!graph.states().empty(), "engine: the model has no KV state");
  return graph.type(graph.states()[0].in).shape[1].value();
}

Tensor ints(const std::vector<int32_t>& values, std::vector<int64_t> shape) {
  return Tensor::copy_of(kI32, std::move(shape), values.data());
}

// How long two lists agree from their start.
template <class A, class B>
int64_t n_equal(const A& a, const B& b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

// Pages for snapshots beside those of the sequences.
int64_t snapshot_pages(const Graph& graph, const EngineOptions& options) {
  CHECK_USER(options.snapshot_bytes >= 0 && options.snapshot_every >= 1,
             "snapshots: got a budget of ", options.snapshot_bytes, " bytes, every ",
             options.snapshot_every, " positions; want 0 or more, and 1 or more");
  return options.snapshot_bytes / std::max<int64_t>(KvPool::page_bytes(graph), 1);
}

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
    engine_.pool_.give_back(pages_.back());
    pages_.pop_back();
  }
}

void Sequence::hold(std::span<const int32_t> pages) {
  for (int32_t page : pages) engine_.pool_.share(page);
  pages_.assign(pages.begin(), pages.end());
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
  other->history_ = history_;
  return other;
}

Snapshot Sequence::as_snapshot(int64_t length) const {
  Snapshot s{this, history_, pages_};
  s.history.truncate(length);
  s.pages.resize(static_cast<size_t>((length + engine_.page_ - 1) / engine_.page_));
  return s;
}

void Sequence::keep() {
  std::lock_guard lock(engine_.mutex_);
  if (engine_.snapshots_.is_on() && length() > 0) engine_.snapshots_.keep(as_snapshot(length()));
}

// agree(history, is_own): as many of its positions are wanted.
template <class Agree>
Sequence::Source Sequence::longest(int64_t own, Agree agree) const {
  Source best{.length = own};
  const auto consider = [&](const History& history, const std::vector<int32_t>& pages,
                            const Snapshot* snapshot) {
    const int64_t n = agree(history, snapshot && snapshot->owner == this);
    if (n > best.length) best = {&history, &pages, snapshot, n};
  };
  for (const Sequence* other : engine_.sequences_)
    if (other != this) consider(other->history_, other->pages_, nullptr);
  for (const Snapshot& s : engine_.snapshots_.all()) consider(s.history, s.pages, &s);
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
  for (const int32_t page : pages) engine_.pool_.share(page);  // before its own go back
  drop_from(0);
  pages_ = pages;
  history_ = std::move(history);
  return source.length;
}

int64_t Sequence::resume(std::span<const int32_t> tokens) {
  CHECK_USER(!tokens.empty(), "prompt: no tokens; want at least one");
  std::lock_guard lock(engine_.mutex_);
  const auto own = [&](const History& h) {
    return n_equal(h.tokens, tokens.first(tokens.size() - 1));
  };
  return take_over(longest(own(history_), [&](const History& h, bool is_own) {
    return is_own ? own(h) : engine_.shareable(h, tokens);
  }));
}

int64_t Sequence::resume(const History& history) {
  std::lock_guard lock(engine_.mutex_);
  const auto agree = [&](const History& h) {
    return std::min(n_equal(h.tokens, history.tokens), n_equal(h.phases, history.phases));
  };
  return take_over(longest(agree(history_), [&](const History& h, bool) { return agree(h); }));
}

// Positions of another sequence that a prompt of these tokens would compute with the same bits:
// whole pages that were prompts there too.
int64_t Engine::shareable(const History& h, std::span<const int32_t> tokens) const {
  size_t n = 0;
  while (n < std::min(tokens.size() - 1, h.tokens.size()) && h.tokens[n] == tokens[n] &&
         h.phases[n] == Phase::bulk)
    ++n;
  return static_cast<int64_t>(n) / page_ * page_;
}

Engine::Engine(Model model, std::shared_ptr<const Weights> weights, const Backend& backend,
               const EngineOptions& options)
    : info_(model.info),
      weights_(std::move(weights)),
      page_(page_size(model.graph)),
      context_(wanted_context(info_, options)),
      max_pages_((context_ + page_ - 1) / page_),
      pool_(model.graph, max_pages_ * std::max<int64_t>(options.max_sequences, 1) +
                             snapshot_pages(model.graph, options)),
      snapshots_(pool_, options.snapshot_bytes),
      snapshot_every_(options.snapshot_every) {
  for (Phase phase : {Phase::bulk, Phase::decode}) {
    const size_t i = static_cast<size_t>(phase);
    programs_[i] =
        compile(model.graph, backend,
                {.phase = phase, .exact = options.exact, .requantize = options.requantize});
    executions_[i] = std::make_unique<Execution>(programs_[i], *weights_);
  }
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
  while (pool_.n_free() == 0 && snapshots_.drop_oldest()) continue;
  return pool_.take();
}

// Room for the positions up to `length`, in pages that are the sequence's alone where it will
// write.
void Engine::reserve_pages(Sequence& sequence, int64_t length) {
  const auto first = static_cast<size_t>(sequence.length() / page_);
  for (size_t i = first; i < sequence.pages_.size(); ++i) {
    int32_t& page = sequence.pages_[i];
    if (!pool_.is_shared(page)) continue;
    const int32_t own = take_page();
    pool_.copy(page, own);
    pool_.give_back(page);
    page = own;
  }
  while (static_cast<int64_t>(sequence.pages_.size()) * page_ < length)
    sequence.pages_.push_back(take_page());
}

Tensor Engine::step(std::span<const StepItem> items, Phase phase) {
  std::lock_guard lock(mutex_);
  CHECK_USER(!items.empty(), "step: no sequences");
  std::vector<int32_t> tokens, positions, q_start{0}, kv_len, rows;
  const int64_t n_seqs = static_cast<int64_t>(items.size());
  std::vector<int32_t> table(static_cast<size_t>(n_seqs * max_pages_), 0);
  std::set<const Sequence*> sequences;
  for (const StepItem& item : items) {
    check_item(item);
    CHECK_USER(sequences.insert(item.sequence).second,
               "step: a sequence stands twice in one step; want each once");
  }
  for (size_t s = 0; s < items.size(); ++s) {
    const StepItem& item = items[s];
    Sequence& sequence = *item.sequence;
    const int64_t total = sequence.length() + static_cast<int64_t>(item.tokens.size());
    reserve_pages(sequence, total);
    std::copy(sequence.pages_.begin(), sequence.pages_.end(),
              table.begin() + static_cast<int64_t>(s) * max_pages_);
    for (size_t i = 0; i < item.tokens.size(); ++i) {
      const bool is_last = i + 1 == item.tokens.size();
      if (item.rows == Rows::all || (item.rows == Rows::last && is_last))
        rows.push_back(static_cast<int32_t>(tokens.size()));
      positions.push_back(static_cast<int32_t>(sequence.length() + static_cast<int64_t>(i)));
      tokens.push_back(item.tokens[i]);
    }
    q_start.push_back(static_cast<int32_t>(tokens.size()));
    kv_len.push_back(static_cast<int32_t>(total));
  }
  const int64_t n = static_cast<int64_t>(tokens.size()), n_rows = static_cast<int64_t>(rows.size());
  const Tensor inputs[] = {ints(tokens, {n}),
                           ints(positions, {n}),
                           ints(q_start, {n_seqs + 1}),
                           ints(kv_len, {n_seqs}),
                           ints(table, {n_seqs, max_pages_}),
                           ints(rows, {n_rows})};
  Tensor logits[1];
  executions_[static_cast<size_t>(phase)]->run(inputs, pool_.states(), logits);
  for (const StepItem& item : items) {
    History& history = item.sequence->history_;
    const int64_t before = history.length();
    history.tokens.insert(history.tokens.end(), item.tokens.begin(), item.tokens.end());
    history.phases.resize(history.tokens.size(), phase);
    // Whole pages only: the next step then writes to none that is shared.
    if (snapshots_.is_on() && history.length() / snapshot_every_ > before / snapshot_every_)
      if (const int64_t whole = history.length() / page_ * page_; whole > 0)
        snapshots_.keep(item.sequence->as_snapshot(whole));
  }
  return logits[0];
}

}  // namespace lamella
