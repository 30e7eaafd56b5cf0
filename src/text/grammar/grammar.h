// A grammar as a pushdown automaton over bytes. Immutable and shared by threads.
//
// Each rule is a net of nodes from its start to its end; `call` goes through another rule's net and
// comes back. Characters beyond ASCII are several bytes, so that a token may end inside one.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "lamella/text/grammar/grammar_text.h"

namespace lamella {

class Grammar {
 public:
  enum class Kind : uint8_t { bytes, split, call, end };

  // A byte from low to high leads to `next`.
  struct Step {
    uint8_t low = 0, high = 0;
    uint32_t next = 0;
  };
  struct Node {
    Kind kind = Kind::end;
    uint32_t first = 0, n = 0;    // its steps, or the targets of a split
    uint32_t rule = 0, next = 0;  // of a call
  };
  struct Rule {
    uint32_t start = 0;
    bool may_be_empty = false;
    uint32_t order = 0;  // less than that of every rule which it can call before it reads a byte
  };

  // GBNF; a text is what the rule `root` stands for. UserError with line and column, or with the
  // name of a rule that calls itself before it reads anything.
  explicit Grammar(std::string_view text);

  uint32_t root() const { return root_; }
  const Rule& rule(uint32_t i) const { return rules_[i]; }
  const Node& node(uint32_t i) const { return nodes_[i]; }
  std::span<const Step> steps(const Node& n) const { return {steps_.data() + n.first, n.n}; }
  std::span<const uint32_t> targets(const Node& n) const {
    return {targets_.data() + n.first, n.n};
  }
  // Bytes of one class are in the same steps everywhere.
  uint8_t byte_class(uint8_t byte) const { return classes_[byte]; }
  uint32_t n_classes() const { return n_classes_; }

 private:
  uint32_t add(const Node& node);
  uint32_t add_step(uint8_t low, uint8_t high, uint32_t next);
  uint32_t add_split(std::vector<uint32_t> targets);
  uint32_t emit(const GrammarItem& item, uint32_t next);
  uint32_t emit_class(const GrammarItem& item, uint32_t next);
  uint32_t emit_repeat(const GrammarItem& item, uint32_t next);
  void find_empty();
  void order_rules(const std::vector<GrammarRule>& names);
  std::vector<uint32_t> first_calls(uint32_t rule) const;
  void find_classes();

  std::vector<Node> nodes_;
  std::vector<Step> steps_;
  std::vector<uint32_t> targets_;
  std::vector<Rule> rules_;
  std::array<uint8_t, 256> classes_{};
  uint32_t n_classes_ = 1, root_ = 0;
  size_t n_emitted_ = 0;
};

}  // namespace lamella
