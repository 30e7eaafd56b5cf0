// The part of a tokenizer that turns one word into tokens, whatever a word is: the piece between
// two cuts of a pre-tokenizer, or a whole text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace lamella {

class Tokenizer;

// How SentencePiece writes a space: U+2581.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

// Tokens longer than this are refused where matching takes time by their length.
inline constexpr size_t kLongestToken = 4096;

class WordModel {
 public:
  virtual ~WordModel() = default;
  // Appends the tokens of `word`, which is UTF-8 where the model knows characters.
  virtual void encode(std::string_view word, std::vector<int32_t>& ids) const = 0;
};

// Cuts a text, its spaces written as marks, before the marks where no token reaches across: its
// pieces can be tokenised one by one, with the same result.
class MarkCutter {
 public:
  MarkCutter() = default;
  explicit MarkCutter(const Tokenizer& tokenizer);

  // Calls take(piece) for each piece of `text`, in order.
  template <class Take>
  void cut(std::string_view text, Take&& take) const {
    size_t begin = 0;
    for (size_t at = text.find(kSpaceMark, 1); at != text.npos; at = text.find(kSpaceMark, at + 1))
      if (may_cut(text.substr(begin, at - begin))) {
        take(text.substr(begin, at - begin));
        begin = at;
      }
    if (begin < text.size()) take(text.substr(begin));
  }

 private:
  bool may_cut(std::string_view before) const;
  std::unordered_set<std::string> joined_;  // characters that some token has before a mark
};

// The last character of `text`, which is UTF-8 and not empty.
std::string_view last_character(std::string_view text);

// `text` with its spaces written as marks.
std::string mark_spaces(std::string_view text);
// And back.
std::string unmark_spaces(std::string_view text);

}  // namespace lamella
