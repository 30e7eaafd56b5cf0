// Implements text/grammar/grammar_matcher.h.
#include "lamella/text/grammar/grammar_matcher.h"

#include <algorithm>

#include "lamella/base/error.h"
#include "lamella/base/hash.h"

namespace lamella {
namespace {

constexpr size_t kMaxPlaces = 1 << 16, kMaxEffort = 1 << 25;

void check_size(size_t n) {
  CHECK_USER(n <= kMaxPlaces, "grammar: a text may be at too many places at once; got more than ",
             kMaxPlaces, "; want a grammar with fewer ways to read it");
}

void sort_once(std::vector<Place>& places) {
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
}

}  // namespace

void MetPlaces::clear() {
  ++round_, n_ = 0;
  if (slots_.size() > 4096 || round_ == UINT32_MAX) slots_.assign(64, {}), round_ = 1;
}

bool MetPlaces::insert(const Place& place) {
  if (++n_ * 2 > slots_.size()) {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    n_ = 1;
    for (const Slot& s : old)
      if (s.round == round_) insert(s.place);
  }
  size_t at = hash_mix(place.node, place.context) & (slots_.size() - 1);
  while (slots_[at].round == round_ && slots_[at].place != place)
    at = (at + 1) & (slots_.size() - 1);
  if (slots_[at].round == round_) return --n_, false;
  slots_[at] = {place, round_};
  return true;
}

GrammarMatcher::GrammarMatcher(std::shared_ptr<const Grammar> grammar)
    : grammar_(std::move(grammar)), n_classes_(grammar_->n_classes()) {
  contexts_.number_of({});
  number_of({}, false);
  start_ = state_of({{grammar_->rule(grammar_->root()).start, kOutermost}});
}

uint32_t GrammarMatcher::number_of(std::vector<Place> places, bool accepts) {
  // A whole text is a place of its own, behind all nodes.
  if (accepts) places.push_back({UINT32_MAX, kOutermost});
  const uint32_t state = states_.number_of(places);
  if (state == accepts_.size()) {
    accepts_.push_back(accepts);
    next_.resize(next_.size() + n_classes_, places.empty() ? kNowhere : kUnknown);
  }
  return state;
}

uint32_t GrammarMatcher::find_step(uint32_t state, uint8_t byte) {
  std::vector<Place> seeds;
  for (const Place& p : states_[state]) {
    if (p.node == UINT32_MAX) continue;
    for (const Grammar::Step& s : grammar_->steps(grammar_->node(p.node)))
      if (s.low <= byte && byte <= s.high) seeds.push_back({s.next, p.context});
  }
  const uint32_t to = state_of(std::move(seeds));
  next_[size_t{state} * n_classes_ + grammar_->byte_class(byte)] = to;
  return to;
}

// The state of the places that are reached from `seeds` without a byte. First those in rules that
// were open before, which may end here; then the rules called here, callers before the called, so
// that all places where one goes on are known when it is entered.
uint32_t GrammarMatcher::state_of(std::vector<Place> seeds) {
  work_ = std::move(seeds);
  before_byte_.clear(), called_.clear();
  is_whole_ = false;
  walk(false);
  while (!called_.empty()) {
    auto [rule, places] = std::move(called_.begin()->second);
    called_.erase(called_.begin());
    sort_once(places);
    work_.push_back({grammar_->rule(rule).start, contexts_.number_of(places)});
    walk(true);
  }
  sort_once(before_byte_);
  return number_of(before_byte_, is_whole_);
}

// A rule entered here needs no end here: whoever called it has gone on where it may be empty.
void GrammarMatcher::walk(bool in_called_rule) {
  met_.clear();
  size_t n_met = 0;
  while (!work_.empty()) {
    const Place p = work_.back();
    work_.pop_back();
    if (!met_.insert(p)) continue;
    check_size(++n_met);
    CHECK_USER(++effort_ <= kMaxEffort, "grammar: too much to try for one token; got ", kMaxEffort,
               " places; want a grammar with fewer ways to read a text");
    const Grammar::Node& n = grammar_->node(p.node);
    switch (n.kind) {
      case Grammar::Kind::bytes:
        before_byte_.push_back(p);
        break;
      case Grammar::Kind::split:
        for (uint32_t t : grammar_->targets(n)) work_.push_back({t, p.context});
        break;
      case Grammar::Kind::call:
        call(n, p.context);
        if (grammar_->rule(n.rule).may_be_empty) work_.push_back({n.next, p.context});
        break;
      case Grammar::Kind::end:
        if (in_called_rule) break;
        if (p.context == kOutermost) is_whole_ = true;
        for (const Place& open : contexts_[p.context]) work_.push_back(open);
        break;
    }
  }
}

// A call at a rule's end goes on where that rule does, so that such recursion does not grow.
void GrammarMatcher::call(const Grammar::Node& node, uint32_t context) {
  auto& [rule, places] = called_[grammar_->rule(node.rule).order];
  rule = node.rule;
  if (grammar_->node(node.next).kind == Grammar::Kind::end && context != kOutermost)
    places.insert(places.end(), contexts_[context].begin(), contexts_[context].end());
  else
    places.push_back({node.next, context});
  if (places.size() > kMaxPlaces) sort_once(places), check_size(places.size());
}

void GrammarMatcher::forget_all_but(std::span<uint32_t> states) {
  effort_ += contexts_.size() + states_.size();
  std::vector<bool> needed(contexts_.size());
  for (uint32_t s : states)
    for (const Place& p : states_[s]) needed[p.context] = true;
  for (const Place& p : states_[start_]) needed[p.context] = true;
  for (uint32_t c = contexts_.size(); c-- > 0;)
    if (needed[c])
      for (const Place& p : contexts_[c]) needed[p.context] = true;

  PlaceSets contexts;
  std::vector<uint32_t> renamed(contexts_.size());
  const auto moved = [&](std::span<const Place> places) {
    std::vector<Place> out(places.begin(), places.end());
    for (Place& p : out) p.context = renamed[p.context];
    sort_once(out);
    return out;
  };
  contexts.number_of({});
  for (uint32_t c = 1; c < contexts_.size(); ++c)
    if (needed[c]) renamed[c] = contexts.number_of(moved(contexts_[c]));

  const PlaceSets old = std::move(states_);
  states_ = PlaceSets();
  next_.clear(), next_.shrink_to_fit(), accepts_.clear();
  contexts_ = std::move(contexts);
  number_of({}, false);
  const auto keep = [&](uint32_t& state) {
    std::vector<Place> places = moved(old[state]);
    const bool accepts = !places.empty() && places.back().node == UINT32_MAX;
    if (accepts) places.pop_back();
    state = number_of(std::move(places), accepts);
  };
  keep(start_);
  for (uint32_t& s : states) keep(s);
}

}  // namespace lamella
