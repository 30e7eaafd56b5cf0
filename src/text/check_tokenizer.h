// Judges a tokenizer by a file of reference strings: the work of `lamella check tokenizer`.
#pragma once

#include <string>
#include <vector>

#include "lamella/text/tokenizer.h"

namespace lamella {

struct TokenizerVerdict {
  bool passed = false;
  std::string line;  // one line for people: what was checked, and what differed
};

struct TokenizerReport {
  std::vector<TokenizerVerdict> entries;
  int n_passed = 0;
  int n_failed = 0;
};

// For every string in `path` (JSON; base64 text, ids with special tokens not parsed and parsed,
// where that differs, and the text the ids give back, where it is known): the ids and the text must
// be equal. Strings on which the reference itself fails only have to be survived. UserError when
// the file is not of that form.
TokenizerReport judge_tokenizer(const std::string& path, const Tokenizer& tokenizer);

}  // namespace lamella
