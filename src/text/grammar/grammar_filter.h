// Leaves a sampler only the tokens with which a text of the grammar can go on.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "lamella/text/grammar/grammar_matcher.h"
#include "lamella/text/grammar/token_trie.h"
#include "lamella/text/sampler.h"
#include "lamella/text/tokenizer.h"

namespace lamella {

// Of one sequence; the grammar, the trie and the tokenizer (which must outlive it) are shared.
class GrammarFilter : public TokenFilter {
 public:
  GrammarFilter(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTrie> trie,
                const Tokenizer& tokenizer);

  // Tokens that end generation may come where the text is whole, and control tokens never.
  void mask(std::span<float> logits) const override;
  // UserError for a token that may not come.
  void accept(int32_t token) override;
  // Back to the start of a text.
  void reset() { state_ = matcher_.start(); }
  bool is_whole() const { return matcher_.accepts(state_); }

 private:
  using Allowed = std::vector<bool>;  // by token
  const Allowed& allowed() const;
  void bound_memory() const;

  std::shared_ptr<const TokenTrie> trie_;
  const Tokenizer& tokenizer_;
  // What is found is remembered.
  mutable GrammarMatcher matcher_;
  mutable uint32_t state_;
  mutable std::map<uint32_t, Allowed> known_;
};

}  // namespace lamella
