// What a token of a tokenizer.json stands for, by the steps of its "decoder".
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lamella/text/tokenizer_json/step_json.h"

namespace lamella::tokenizer_json {

class Decoder {
 public:
  // Changes the text of one token.
  using Step = std::function<void(std::string&)>;

  Decoder() = default;
  // `json` may be null. UserError names what is not known.
  explicit Decoder(const Json& json);

  // The bytes that a token with this text stands for.
  std::string piece(std::string text) const;
  // A space at the start of what tokens stand for is not part of the text.
  bool drops_first_space() const { return drops_first_space_; }
  // Tokens are written in GPT-2's alphabet.
  bool is_byte_level() const { return is_byte_level_; }
  // Tokens like <0x0A> stand for bytes.
  bool has_byte_tokens() const { return has_byte_tokens_; }

 private:
  void read(const Json& json, int depth);

  std::vector<Step> steps_;
  bool drops_first_space_ = false;
  bool is_byte_level_ = false;
  bool has_byte_tokens_ = false;
};

}  // namespace lamella::tokenizer_json
