// Implements text/tokenizer_json/bpe_model.h.
#include "lamella/text/tokenizer_json/bpe_model.h"

#include <algorithm>

#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/text/byte_alphabet.h"
#include "lamella/text/byte_tokens.h"
#include "lamella/text/unicode.h"

namespace lamella::tokenizer_json {

BpeModel::BpeModel(const std::vector<std::pair<std::string, int32_t>>& tokens, const Merges& merges,
                   BpeOptions options)
    : options_(std::move(options)) {
  ids_.reserve(tokens.size());
  for (const auto& [text, id] : tokens) ids_.emplace(text, id);
  for (int byte = 0; byte < 256; ++byte) {
    const auto value = static_cast<uint8_t>(byte);
    byte_ids_[byte] =
        find(options_.bytes ? std::string(byte_character(value)) : byte_token_text(value));
  }
  has_byte_tokens_ =
      options_.byte_fallback && !options_.bytes &&
      std::all_of(byte_ids_.begin(), byte_ids_.end(), [](int id) { return id >= 0; });
  if (options_.unknown) {
    unknown_ = find(*options_.unknown);
    CHECK_USER(unknown_ >= 0, "tokenizer.json: model: the unknown token is no token; got '",
               printable(*options_.unknown, 60), "'; want one of the vocabulary");
  }
  read_merges(merges);
}

int32_t BpeModel::find(const std::string& text) const {
  const auto at = ids_.find(text);
  return at == ids_.end() ? -1 : at->second;
}

void BpeModel::read_merges(const Merges& merges) {
  std::vector<BpeMerges::Merge> rules;
  rules.reserve(merges.size());
  for (size_t i = 0; i < merges.size(); ++i) {
    const auto& [left, right] = merges[i];
    const size_t skipped =
        right.starts_with(options_.inner_prefix) ? options_.inner_prefix.size() : 0;
    const std::string whole = left + right.substr(skipped);
    for (const std::string* text : {&left, &right, &whole})
      CHECK_USER(find(*text) >= 0, "tokenizer.json: model: merge ", i,
                 " is of a text that is no "
                 "token; got '",
                 printable(*text, 60), "'; want one of the vocabulary");
    rules.push_back({static_cast<uint32_t>(find(left)), static_cast<uint32_t>(find(right)),
                     static_cast<uint32_t>(find(whole))});
  }
  merges_ = BpeMerges(std::move(rules));
}

void BpeModel::encode(std::string_view word, std::vector<int32_t>& ids) const {
  if (options_.ignore_merges) {
    const int32_t whole = find(options_.bytes ? to_byte_alphabet(word) : std::string(word));
    if (whole >= 0) {
      ids.push_back(whole);
      return;
    }
  }
  std::vector<uint32_t> symbols;
  symbols.reserve(word.size());
  if (options_.bytes) {
    for (const char c : word) {
      const int32_t id = byte_ids_[static_cast<uint8_t>(c)];
      if (id >= 0 || unknown_ >= 0)
        symbols.push_back(static_cast<uint32_t>(id >= 0 ? id : unknown_));
    }
  } else {
    append_characters(word, symbols);
  }
  merges_.apply(symbols);
  ids.insert(ids.end(), symbols.begin(), symbols.end());
}

void BpeModel::append_characters(std::string_view word, std::vector<uint32_t>& symbols) const {
  bool after_unknown = false;
  size_t at = 0;
  std::string text;
  each_character(word, [&](uint32_t, std::string_view bytes) {
    text.clear();
    if (at > 0) text += options_.inner_prefix;
    text += bytes;
    at += bytes.size();
    if (at == word.size()) text += options_.end_suffix;
    const int32_t id = find(text);
    if (id >= 0) {
      symbols.push_back(static_cast<uint32_t>(id));
    } else {
      append_unknown(bytes, after_unknown, symbols);
    }
    after_unknown = id < 0;
  });
}

void BpeModel::append_unknown(std::string_view character, bool after_unknown,
                              std::vector<uint32_t>& symbols) const {
  if (has_byte_tokens_) {
    for (const char c : character)
      symbols.push_back(static_cast<uint32_t>(byte_ids_[static_cast<uint8_t>(c)]));
  } else if (unknown_ >= 0 && !(options_.fuse_unknown && after_unknown)) {
    symbols.push_back(static_cast<uint32_t>(unknown_));
  }
}

}  // namespace lamella::tokenizer_json
