// Unigram tokenizers (T5 and its kin): of all ways to cut a text into tokens, the one with the
// greatest sum of scores.
#pragma once

#include <array>
#include <memory>

#include "lamella/text/tokenizer.h"
#include "lamella/text/trie.h"
#include "lamella/text/word_model.h"

namespace lamella {

class UnigramModel final : public WordModel {
 public:
  struct Entry {
    std::string_view text;
    double score = 0;
    int32_t id = -1;
  };
  // An unknown character costs 10 more than the worst token. Neighbours that are unknown are one
  // token `unknown`, or the tokens of their bytes if every byte has one.
  UnigramModel(const std::vector<Entry>& entries, double lowest_score, int32_t unknown,
               const std::array<int32_t, 256>& byte_tokens);

  void encode(std::string_view word, std::vector<int32_t>& ids) const override;

 private:
  struct Step;
  void append_unknown(std::string_view text, std::vector<int32_t>& ids) const;

  Trie trie_;
  std::vector<double> scores_;  // by id
  double unknown_score_ = 0;
  int32_t unknown_ = -1;
  std::string unknown_text_;  // if it can be matched
  bool has_byte_tokens_ = false;
  std::array<int32_t, 256> byte_tokens_{};
};

// The row "t5" of make_tokenizer's table; `vocabulary` is normalised.
std::unique_ptr<Tokenizer> make_unigram_tokenizer(Vocabulary vocabulary);

}  // namespace lamella
