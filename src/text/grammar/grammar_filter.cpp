// Implements text/grammar/grammar_filter.h.
#include "lamella/text/grammar/grammar_filter.h"

#include <limits>

#include "lamella/base/error.h"
#include "lamella/base/text.h"

namespace lamella {
namespace {

constexpr size_t kMaxBytes = 64 << 20, kMaxKnown = 256;

}  // namespace

GrammarFilter::GrammarFilter(std::shared_ptr<const Grammar> grammar,
                             std::shared_ptr<const TokenTrie> trie, const Tokenizer& tokenizer)
    : trie_(std::move(trie)),
      tokenizer_(tokenizer),
      matcher_(std::move(grammar)),
      state_(matcher_.start()) {}

void GrammarFilter::bound_memory() const {
  if (known_.size() > kMaxKnown) known_.clear();
  if (matcher_.bytes() <= kMaxBytes) return;
  known_.clear();
  matcher_.forget_all_but({&state_, 1});
}

const GrammarFilter::Allowed& GrammarFilter::allowed() const {
  bound_memory();
  const auto [it, is_new] = known_.try_emplace(state_);
  if (!is_new) return it->second;
  matcher_.renew_effort();
  Allowed found(trie_->n_tokens());
  const std::span<const TokenTrie::Node> nodes = trie_->nodes();
  std::vector<uint32_t> states(trie_->max_depth() + 1, state_);  // before the byte of each depth
  for (size_t i = 0; i < nodes.size();) {
    const TokenTrie::Node& node = nodes[i];
    const uint32_t to = matcher_.step(states[node.depth], node.byte);
    if (to == GrammarMatcher::kNowhere) {
      i = node.end;
      continue;
    }
    states[node.depth + 1] = to;
    for (int32_t t = node.token; t >= 0; t = trie_->twin(t)) found[static_cast<size_t>(t)] = true;
    ++i;
    if (matcher_.bytes() > kMaxBytes) {
      known_.clear();
      // Those of the bytes on the way here, and the state itself, which is the first of them.
      matcher_.forget_all_but(std::span(states).first(node.depth + 2));
      state_ = states[0];
    }
  }
  return known_[state_] = std::move(found);
}

void GrammarFilter::mask(std::span<float> logits) const {
  const Allowed& may_come = allowed();
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  std::vector<float> ends;
  for (int32_t id : tokenizer_.end_tokens())
    ends.push_back(static_cast<size_t>(id) < logits.size() ? logits[static_cast<size_t>(id)] : 0);
  for (size_t i = 0; i < logits.size(); ++i)
    if (i >= may_come.size() || !may_come[i]) logits[i] = kNever;
  for (size_t i = 0; i < ends.size(); ++i)
    if (const auto id = static_cast<size_t>(tokenizer_.end_tokens()[i]); id < logits.size())
      logits[id] = is_whole() ? ends[i] : kNever;
}

void GrammarFilter::accept(int32_t token) {
  if (tokenizer_.ends_generation(token) && is_whole()) return;
  bound_memory();
  uint32_t state = state_;
  matcher_.renew_effort();
  for (const char byte : tokenizer_.piece(token)) state = matcher_.step(state, uint8_t(byte));
  CHECK_USER(state != GrammarMatcher::kNowhere && !tokenizer_.piece(token).empty(),
             "grammar: a token that may not come; got '", printable(tokenizer_.token(token), 60),
             "'");
  state_ = state;
}

}  // namespace lamella
