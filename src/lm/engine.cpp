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

}  // namespace

Sequence::Sequence(Engine& engine) : engine_(engine) {
  std::lock_guard lock(engine_.mutex_);
  engine_.sequences_.insert(this);
}

Sequence::~Sequence() {
  std::lock_guard lock(engine_.mutex_);
  drop_from(0);
  engine_.sequences_.erase(this);
}

void Sequence::drop_from(int64_t length) {
  history_.tokens.resize(static_cast<size_t>(length));
  history_.phases.resize(static_cast<size_t>(length));
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

int64_t Sequence::resume(std::span<const int32_t> tokens) {
  CHECK_USER(!tokens.empty(), "prompt: no tokens; want at least one");
  std::lock_guard lock(engine_.mutex_);
  const size_t most = std::min(tokens.size() - 1, history_.tokens.size());
  const auto own = static_cast<int64_t>(std::mismatch(tokens.begin(),
                                                      tokens.begin() + static_cast<int64_t>(most),
                                                      history_.tokens.begin())
                                            .first -
                                        tokens.begin());
  const Sequence* best = nullptr;
  int64_t length = own;
  for (const Sequence* other : engine_.sequences_)
    if (const int64_t n = engine_.shareable(*other, tokens); n > length) best = other, length = n;
  if (!best) {
    drop_from(own);
    return own;
  }
  const std::vector<int32_t> pages(best->pages_.begin(),
                                   best->pages_.begin() + length / engine_.page_);
  drop_from(0);
  hold(pages);
  history_.tokens.assign(tokens.begin(), tokens.begin() + length);
  history_.phases.assign(static_cast<size_t>(length), Phase::bulk);
  return length;
}

// Positions of another sequence that a prompt of these tokens would compute with the same bits:
// whole pages that were prompts there too.
int64_t Engine::shareable(const Sequence& other, std::span<const int32_t> tokens) const {
  const History& h = other.history_;
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
      pool_(model.graph, max_pages_ * std::max<int64_t>(options.max_sequences, 1)) {
  for (Phase phase : {Phase::bulk, Phase::decode}) {
    const size_t i = static_cast<size_t>(phase);
    programs_[i] = compile(model.graph, backend, {.phase = phase, .exact = options.exact});
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

// Room for the positions up to `length`, in pages that are the sequence's alone where it will
// write.
void Engine::reserve_pages(Sequence& sequence, int64_t length) {
  const auto first = static_cast<size_t>(sequence.length() / page_);
  for (size_t i = first; i < sequence.pages_.size(); ++i) {
    int32_t& page = sequence.pages_[i];
    if (!pool_.is_shared(page)) continue;
    const int32_t own = pool_.take();
    pool_.copy(page, own);
    pool_.give_back(page);
    page = own;
  }
  while (static_cast<int64_t>(sequence.pages_.size()) * page_ < length)
    sequence.pages_.push_back(pool_.take());
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
    history.tokens.insert(history.tokens.end(), item.tokens.begin(), item.tokens.end());
    history.phases.resize(history.tokens.size(), phase);
  }
  return logits[0];
}

}  // namespace lamella
