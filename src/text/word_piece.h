// WordPiece (BERT and its kin): a word is cut from the left into the longest pieces there are; one
// that cannot be cut so is unknown as a whole.
#pragma once

#include <memory>

#include "lamella/text/tokenizer.h"
#include "lamella/text/trie.h"
#include "lamella/text/word_model.h"

namespace lamella {

class WordPieceModel final : public WordModel {
 public:
  static constexpr size_t kNoLimit = SIZE_MAX;

  // `longest`: words of more characters are unknown.
  WordPieceModel(int32_t unknown, size_t longest) : unknown_(unknown), longest_(longest) {}

  // A piece that begins words, or one that goes on within them. UserError when it is too long.
  void add_first(std::string_view text, int32_t id) { add(first_, text, id); }
  void add_inner(std::string_view text, int32_t id) { add(inner_, text, id); }

  void encode(std::string_view word, std::vector<int32_t>& ids) const override;

 private:
  static void add(Trie& trie, std::string_view text, int32_t id);

  int32_t unknown_ = -1;
  size_t longest_ = kNoLimit;
  Trie first_, inner_;
};

// What BERT does to a text before it is cut into words.
struct BertNormalisation {
  bool clean = true;  // without control characters; white space is spaces
  bool space_chinese = true;
  bool strip_accents = true;
  bool lower = true;
};
std::string normalise_for_bert(std::string_view text, const BertNormalisation& options);

bool is_bert_punctuation(uint32_t code_point);

// The row "bert" of make_tokenizer's table; `vocabulary` is normalised. Pieces that begin words
// have a space mark before them.
std::unique_ptr<Tokenizer> make_word_piece_tokenizer(Vocabulary vocabulary);

}  // namespace lamella
