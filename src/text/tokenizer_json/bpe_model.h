// Byte-pair encoding as a tokenizer.json has it: over characters, or over bytes.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lamella/text/bpe_merges.h"
#include "lamella/text/word_model.h"

namespace lamella::tokenizer_json {

struct BpeOptions {
  std::optional<std::string> unknown;
  std::string inner_prefix;  // before a character that does not begin its word
  std::string end_suffix;    // after one that ends it
  bool fuse_unknown = false;
  bool byte_fallback = false;
  bool ignore_merges = false;  // a word that is a token as a whole stays whole
  bool bytes = false;          // words are raw bytes, written in GPT-2's alphabet
};

class BpeModel final : public WordModel {
 public:
  using Merges = std::vector<std::pair<std::string, std::string>>;  // best first

  // UserError for merges of texts that are no tokens.
  BpeModel(const std::vector<std::pair<std::string, int32_t>>& tokens, const Merges& merges,
           BpeOptions options);

  void encode(std::string_view word, std::vector<int32_t>& ids) const override;

 private:
  int32_t find(const std::string& text) const;
  void read_merges(const Merges& merges);
  void append_characters(std::string_view word, std::vector<uint32_t>& symbols) const;
  void append_unknown(std::string_view character, bool after_unknown,
                      std::vector<uint32_t>& symbols) const;

  std::unordered_map<std::string, int32_t> ids_;
  BpeMerges merges_;
  BpeOptions options_;
  std::array<int32_t, 256> byte_ids_{};  // of bytes in the alphabet, or of <0x00>; -1: none
  bool has_byte_tokens_ = false;
  int32_t unknown_ = -1;
};

}  // namespace lamella::tokenizer_json
