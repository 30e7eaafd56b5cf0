// Implements text/vocabulary.h.
#include "lamella/text/vocabulary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "lamella/base/error.h"
#include "lamella/base/text.h"

namespace lamella {
namespace {

// Token texts that end a turn in the models that have them; files seldom say so otherwise.
constexpr std::array<std::string_view, 20> kEndTexts = {
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<｜end▁of▁sentence｜>",
};

// Fill-in-the-middle tokens that also stop generation.
constexpr std::array<std::string_view, 11> kFillTexts = {
    "<|fim_pad|>", "<fim-pad>", "<fim_pad>",  "<PAD>",         "[PAD]",        "<|fim_repo|>",
    "<fim-repo>",  "<REPO>",    "<reponame>", "<|repo_name|>", "<|file_sep|>",
};

// Tokens of the gpt-oss family that are part of the visible text.
constexpr std::array<std::string_view, 4> kChannelTexts = {"<|channel|>", "<|message|>",
                                                           "<|start|>", "<|constrain|>"};

bool contains(auto list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

void check_id(const char* name, int32_t id, size_t n_tokens) {
  CHECK_USER(id >= -1 && id < static_cast<int64_t>(n_tokens), "tokenizer: ", name,
             " token id is out of range; got ", id, "; want less than ", n_tokens);
}

void check_unique(const std::vector<std::string>& tokens) {
  std::unordered_map<std::string_view, size_t> first;
  first.reserve(tokens.size());
  for (size_t id = 0; id < tokens.size(); ++id) {
    const auto [it, is_new] = first.emplace(tokens[id], id);
    CHECK_USER(is_new, "tokenizer: two tokens have the same text; got ids ", it->second, " and ",
               id, ", both '", printable(tokens[id], 60), "'; want each text once");
  }
}

}  // namespace

void normalise(Vocabulary& vocabulary) {
  Vocabulary& v = vocabulary;
  const size_t n = v.tokens.size();
  CHECK_USER(n > 0, "tokenizer: the vocabulary is empty; got 0 tokens; want at least 1");
  CHECK_USER(n <= INT32_MAX, "tokenizer: too many tokens; got ", n, "; want ids of 31 bits");
  CHECK_USER(v.scores.empty() || v.scores.size() >= n, "tokenizer: too few scores; got ",
             v.scores.size(), "; want one for each of ", n, " tokens");
  CHECK_USER(v.token_types.empty() || v.token_types.size() >= n,
             "tokenizer: too few token types; got ", v.token_types.size(),
             "; want one for each of ", n, " tokens");
  v.scores.resize(n, 0.0f);
  v.token_types.resize(n, static_cast<int32_t>(TokenType::normal));
  for (size_t id = 0; id < n; ++id)
    if (v.tokens[id].empty()) v.tokens[id] = str("[EMPTY_", id, "]");
  check_unique(v.tokens);
  check_id("bos", v.bos, n);
  check_id("eos", v.eos, n);
  check_id("eot", v.eot, n);
  check_id("eom", v.eom, n);
  check_id("unknown", v.unk, n);
  check_id("separator", v.sep, n);
  check_id("padding", v.pad, n);
  check_id("mask", v.mask, n);
  for (const int32_t id : v.ends) check_id("end", id, n);
  for (size_t id = 0; id < n; ++id) {
    if (contains(kEndTexts, v.tokens[id])) v.token_types[id] = int32_t(TokenType::control);
    if (contains(kChannelTexts, v.tokens[id])) v.token_types[id] = int32_t(TokenType::user_defined);
  }
}

void check_scores(const Vocabulary& vocabulary) {
  for (size_t id = 0; id < vocabulary.scores.size(); ++id)
    CHECK_USER(std::isfinite(vocabulary.scores[id]), "tokenizer: the score of token ", id,
               " is no number; got ", vocabulary.scores[id], "; want a finite one");
}

std::vector<int32_t> end_of_generation_tokens(const Vocabulary& vocabulary) {
  std::vector<int32_t> ids;
  for (const int32_t id : {vocabulary.eos, vocabulary.eot, vocabulary.eom})
    if (id >= 0) ids.push_back(id);
  ids.insert(ids.end(), vocabulary.ends.begin(), vocabulary.ends.end());
  bool returns = false, calls = false;
  int32_t end = -1;
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const std::string& text = vocabulary.tokens[i];
    if (text.size() < 3 || text.size() > 32) continue;
    const auto id = static_cast<int32_t>(i);
    if (contains(kEndTexts, text) || contains(kFillTexts, text)) ids.push_back(id);
    if (text == "<|return|>" || text == "<|flush|>") returns = true;
    if (text == "<|call|>" || text == "<|calls|>") calls = true;
    if (text == "<|end|>") end = id;
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  // Where "<|return|>" and "<|call|>" end a turn, "<|end|>" only ends a message within it.
  if (returns && calls) std::erase(ids, end);
  return ids;
}

}  // namespace lamella
