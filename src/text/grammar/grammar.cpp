// Implements text/grammar/grammar.h: nets of nodes from rules, each made from its end to its start.
#include "lamella/text/grammar/grammar.h"

#include <algorithm>
#include <set>
#include <string>

#include "lamella/base/error.h"
#include "lamella/text/grammar/utf8_ranges.h"

namespace lamella {
namespace {

constexpr size_t kMaxNodes = 1 << 20;

}  // namespace

Grammar::Grammar(std::string_view text) {
  const std::vector<GrammarRule> source = read_grammar(text);
  const auto root = std::find_if(source.begin(), source.end(),
                                 [](const GrammarRule& r) { return r.name == "root"; });
  CHECK_USER(root != source.end(), "grammar: no start; got ", source.size(),
             " rules; want one of them as root ::= ...");
  root_ = static_cast<uint32_t>(root - source.begin());
  rules_.resize(source.size());
  for (size_t i = 0; i < source.size(); ++i) rules_[i].start = emit(source[i].body, add({}));
  find_empty();
  order_rules(source);
  find_classes();
}

uint32_t Grammar::add(const Node& node) {
  CHECK_USER(nodes_.size() < kMaxNodes, "grammar: too large; got more than ", kMaxNodes,
             " nodes; want fewer repetitions");
  nodes_.push_back(node);
  return static_cast<uint32_t>(nodes_.size() - 1);
}

uint32_t Grammar::add_step(uint8_t low, uint8_t high, uint32_t next) {
  steps_.push_back({low, high, next});
  return add({.kind = Kind::bytes, .first = static_cast<uint32_t>(steps_.size() - 1), .n = 1});
}

uint32_t Grammar::add_split(std::vector<uint32_t> targets) {
  const auto first = static_cast<uint32_t>(targets_.size());
  targets_.insert(targets_.end(), targets.begin(), targets.end());
  return add({.kind = Kind::split, .first = first, .n = static_cast<uint32_t>(targets.size())});
}

// The start of a net for the item that goes on at `next`.
uint32_t Grammar::emit(const GrammarItem& item, uint32_t next) {
  CHECK_USER(++n_emitted_ <= kMaxNodes, "grammar: too large; got more than ", kMaxNodes,
             " items; want fewer repetitions");
  switch (item.kind) {
    case GrammarItem::Kind::literal:
      for (size_t i = item.bytes.size(); i-- > 0;) {
        const auto byte = static_cast<uint8_t>(item.bytes[i]);
        next = add_step(byte, byte, next);
      }
      return next;
    case GrammarItem::Kind::one_of:
      return emit_class(item, next);
    case GrammarItem::Kind::rule:
      return add({.kind = Kind::call, .rule = item.rule, .next = next});
    case GrammarItem::Kind::sequence:
      for (size_t i = item.parts.size(); i-- > 0;) next = emit(item.parts[i], next);
      return next;
    case GrammarItem::Kind::choice: {
      std::vector<uint32_t> targets;
      for (const GrammarItem& part : item.parts) targets.push_back(emit(part, next));
      return add_split(std::move(targets));
    }
    case GrammarItem::Kind::repeat:
      return emit_repeat(item, next);
  }
  return next;
}

uint32_t Grammar::emit_repeat(const GrammarItem& item, uint32_t next) {
  const GrammarItem& body = item.parts[0];
  if (item.max == GrammarItem::kNoLimit) {
    const uint32_t loop = add_split({next, next});
    const uint32_t start = emit(body, loop);
    targets_[nodes_[loop].first] = start;
    next = loop;
  } else {
    const uint32_t end = next;
    for (uint32_t i = item.min; i < item.max; ++i) next = add_split({emit(body, next), end});
  }
  for (uint32_t i = 0; i < item.min; ++i) next = emit(body, next);
  return next;
}

uint32_t Grammar::emit_class(const GrammarItem& item, uint32_t next) {
  // after[n]: any n bytes that go on with a character; made when first needed.
  std::array<uint32_t, 4> after{next, 0, 0, 0};
  std::vector<Step> steps;
  for (const ByteRanges& r : utf8_ranges(item.ranges)) {
    uint32_t to = next;
    size_t n_any = 0;
    for (size_t i = r.n; i-- > 1;) {
      if (n_any + i + 1 == r.n && r.low[i] == 0x80 && r.high[i] == 0xBF) {
        ++n_any;
        if (!after[n_any]) after[n_any] = add_step(0x80, 0xBF, to);
        to = after[n_any];
      } else {
        to = add_step(r.low[i], r.high[i], to);
      }
    }
    steps.push_back({r.low[0], r.high[0], to});
  }
  const auto first = static_cast<uint32_t>(steps_.size());
  steps_.insert(steps_.end(), steps.begin(), steps.end());
  return add({.kind = Kind::bytes, .first = first, .n = static_cast<uint32_t>(steps.size())});
}

// Which rules can stand for nothing: backwards from the ends.
void Grammar::find_empty() {
  std::vector<std::vector<uint32_t>> before(nodes_.size()), callers(rules_.size()),
      starts(nodes_.size());
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const Node& n = nodes_[i];
    if (n.kind == Kind::split)
      for (uint32_t t : targets(n)) before[t].push_back(i);
    if (n.kind == Kind::call) before[n.next].push_back(i), callers[n.rule].push_back(i);
  }
  for (uint32_t r = 0; r < rules_.size(); ++r) starts[rules_[r].start].push_back(r);
  std::vector<bool> reaches_end(nodes_.size());
  std::vector<uint32_t> work;
  for (uint32_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].kind == Kind::end) work.push_back(i);
  while (!work.empty()) {
    const uint32_t i = work.back();
    work.pop_back();
    if (reaches_end[i]) continue;
    reaches_end[i] = true;
    for (uint32_t b : before[i])
      if (nodes_[b].kind == Kind::split || rules_[nodes_[b].rule].may_be_empty) work.push_back(b);
    for (uint32_t r : starts[i]) {
      rules_[r].may_be_empty = true;
      for (uint32_t c : callers[r])
        if (reaches_end[nodes_[c].next]) work.push_back(c);
    }
  }
}

// The rules that this one can call before it reads a byte.
std::vector<uint32_t> Grammar::first_calls(uint32_t rule) const {
  std::set<uint32_t> seen, calls;
  std::vector<uint32_t> work{rules_[rule].start};
  while (!work.empty()) {
    const uint32_t i = work.back();
    work.pop_back();
    if (!seen.insert(i).second) continue;
    const Node& n = nodes_[i];
    if (n.kind == Kind::split) work.insert(work.end(), targets(n).begin(), targets(n).end());
    if (n.kind != Kind::call) continue;
    calls.insert(n.rule);
    if (rules_[n.rule].may_be_empty) work.push_back(n.next);
  }
  return {calls.begin(), calls.end()};
}

// Callers before those that they call first; a cycle is left recursion.
void Grammar::order_rules(const std::vector<GrammarRule>& names) {
  struct Visit {
    uint32_t rule = 0;
    std::vector<uint32_t> calls;
    size_t next = 0;
  };
  enum class Mark : uint8_t { none, open, done };
  std::vector<Mark> marks(rules_.size(), Mark::none);
  auto order = static_cast<uint32_t>(rules_.size());
  for (uint32_t first = 0; first < rules_.size(); ++first) {
    if (marks[first] != Mark::none) continue;
    std::vector<Visit> open{{first, first_calls(first)}};
    marks[first] = Mark::open;
    while (!open.empty()) {
      Visit& v = open.back();
      if (v.next == v.calls.size()) {
        rules_[v.rule].order = --order;
        marks[v.rule] = Mark::done;
        open.pop_back();
        continue;
      }
      const uint32_t callee = v.calls[v.next++];
      CHECK_USER(marks[callee] != Mark::open, "grammar: left recursion; got a rule '",
                 names[callee].name, "' that ",
                 callee == v.rule ? "begins" : str("comes back by '", names[v.rule].name, "'"),
                 " with itself; want it behind something that reads a character");
      if (marks[callee] == Mark::done) continue;
      marks[callee] = Mark::open;
      open.push_back({callee, first_calls(callee)});
    }
  }
}

void Grammar::find_classes() {
  std::array<bool, 257> begins{};
  for (const Step& s : steps_) begins[s.low] = begins[size_t{s.high} + 1] = true;
  uint32_t current = 0;
  for (size_t byte = 0; byte < 256; ++byte) {
    if (byte > 0 && begins[byte]) ++current;
    classes_[byte] = static_cast<uint8_t>(current);
  }
  n_classes_ = current + 1;
}

}  // namespace lamella
