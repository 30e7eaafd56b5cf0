// Reads the GBNF notation: rules `name ::= ...` of literals, classes, groups, references, `|`,
// `* + ? {m,n}` and comments, as llama.cpp writes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lamella {

// Code points from low to high.
struct CodeRange {
  uint32_t low = 0, high = 0;
};

struct GrammarItem {
  enum class Kind { literal, one_of, rule, sequence, choice, repeat };
  static constexpr uint32_t kNoLimit = UINT32_MAX;

  Kind kind = Kind::sequence;
  std::string bytes;               // literal: UTF-8
  std::vector<CodeRange> ranges;   // one_of: sorted, apart, without surrogates
  uint32_t rule = 0;               // rule: its number
  std::vector<GrammarItem> parts;  // sequence, choice; of a repeat the one that is repeated
  uint32_t min = 0, max = kNoLimit;
};

struct GrammarRule {
  std::string name;
  GrammarItem body;
};

// UserError with line and column: no grammar, a rule that is missing or stands twice, or more than
// the limits allow.
std::vector<GrammarRule> read_grammar(std::string_view text);

}  // namespace lamella
