// What a tokenizer is made from: the token list and its flags, as plain data. Where it came from
// (a GGUF file, a JSON file) is the caller's business.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lamella {

// The numbers that model files store. Any other number counts as undefined.
enum class TokenType : int32_t {
  undefined = 0,
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6,
};

struct Vocabulary {
  std::string model;                 // kind of tokenizer: "gpt2", "llama", "t5", "bert"
  std::string pre;                   // name of the pre-tokenizer; empty means "default"
  std::vector<std::string> tokens;   // text by id, as stored in the file
  std::vector<float> scores;         // empty, or one a token
  std::vector<int32_t> token_types;  // empty (all normal), or one TokenType a token
  std::vector<std::string> merges;   // "left right", best first

  // Ids of the tokens that mean something; -1 where there is none.
  int32_t bos = -1;
  int32_t eos = -1;
  int32_t eot = -1;
  int32_t eom = -1;
  int32_t unk = -1;
  int32_t sep = -1;
  int32_t pad = -1;
  int32_t mask = -1;

  std::vector<int32_t> ends;  // further tokens that end generation

  // Special and user-defined tokens that swallow the white space before or after them.
  std::vector<int32_t> strip_left, strip_right;

  // Unset: what the kind of tokenizer does by default.
  std::optional<bool> add_bos;
  std::optional<bool> add_eos;
  std::optional<bool> add_sep;  // what "bert" has for add_eos
  std::optional<bool> add_space_prefix;
  std::optional<bool> remove_extra_whitespaces;
  std::vector<uint8_t> precompiled_charsmap;
};

// Brings the lists to one length, names empty tokens "[EMPTY_<id>]" as llama.cpp does, and marks
// as control the end-of-turn tokens that a file forgot to mark. Throws UserError for what no
// tokenizer could use: no tokens, lists of the wrong length, duplicate tokens, ids out of range.
void normalise(Vocabulary& vocabulary);

// UserError unless all scores are numbers, as kinds that compare them need. `vocabulary` is
// normalised.
void check_scores(const Vocabulary& vocabulary);

// Ids after which generation stops: eos, eot, eom, `ends` and the tokens known by their text to end
// a turn. Sorted. `vocabulary` is normalised.
std::vector<int32_t> end_of_generation_tokens(const Vocabulary& vocabulary);

}  // namespace lamella
