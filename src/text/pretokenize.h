// Pre-tokenizers: the regular expressions that cut a text into words before byte-level BPE merges
// within each word.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "lamella/text/regex.h"

namespace lamella {

// One row of the table. The name is the one that GGUF files carry in tokenizer.ggml.pre.
struct PreTokenizerRow {
  std::string_view name;
  // As text/regex.h reads them. Each pattern cuts the pieces of the one before
  // it: into its matches, and what lies between them.
  std::span<const std::string_view> patterns;
  bool ignore_merges = false;  // a word that is a token as a whole stays whole
  bool add_bos = false;        // the default where the file does not say
  bool has_reference = false;  // our tests compare it, under this name, with another program
  bool clean_spaces = true;    // decoding drops the space before punctuation, as BERT's did
};

// Two patterns that match nothing but places: before each group of three digits, counted from the
// end of a number, or of a number that ends where a word ends. As regular expressions they would
// look through the whole number at each of its digits.
inline constexpr std::string_view kThreesOfNumber = R"((?=(\d{3})+(?!\d)))";
inline constexpr std::string_view kThreesOfWord = R"((?=(\d{3})+\b))";

std::span<const PreTokenizerRow> pre_tokenizers();

// The row of that name; UserError with the nearest name when there is none.
const PreTokenizerRow& pre_tokenizer(std::string_view name);

// A compiled row. Immutable and shared by threads.
class PreTokenizer {
 public:
  explicit PreTokenizer(const PreTokenizerRow& row);

  // The words of `text`, which is UTF-8 (surrogates allowed). They cover all of it, in order.
  std::vector<std::string_view> split(std::string_view text) const;

 private:
  struct Step {
    Regex regex;
    bool cuts_threes = false;  // `regex` finds the numbers, which are cut by threes
  };
  std::vector<Step> steps_;
};

}  // namespace lamella
