// The pattern of a step: a text to be found as it is, or a regular expression.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lamella/text/regex.h"
#include "lamella/text/tokenizer_json/step_json.h"

namespace lamella::tokenizer_json {

class Pattern {
 public:
  // {"String": ...} or {"Regex": ...}; or a bare string.
  Pattern(const Json& pattern, std::string_view part) {
    if (pattern.is_string()) {
      text_ = pattern.get<std::string>();
    } else if (pattern.is_object() && pattern.contains("String")) {
      text_ = pattern.at("String").get<std::string>();
    } else {
      CHECK_USER(pattern.is_object() && pattern.contains("Regex"), "tokenizer.json: ", part,
                 ": no pattern; got ", printable(pattern.dump(), 80),
                 "; want an object with 'String' or 'Regex'");
      regex_.emplace(pattern.at("Regex").get<std::string>());
    }
  }

  // Calls found(begin, end) for each match in `text`, which is UTF-8, left to right.
  template <class Found>
  void each(std::string_view text, Found&& found) const {
    size_t begin = 0, end = 0;
    if (regex_) {
      Regex::Scratch scratch;
      for (size_t at = 0; at < text.size() && regex_->match(text, at, scratch, begin, end);
           at = end)
        found(begin, end);
    } else if (!text_.empty()) {
      for (size_t at = text.find(text_); at != text.npos; at = text.find(text_, at + text_.size()))
        found(at, at + text_.size());
    }
  }

 private:
  std::string text_;
  std::optional<Regex> regex_;
};

}  // namespace lamella::tokenizer_json
