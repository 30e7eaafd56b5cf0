// Implements text/word_model.h.
#include "lamella/text/word_model.h"

#include "lamella/text/tokenizer.h"

namespace lamella {

MarkCutter::MarkCutter(const Tokenizer& tokenizer) {
  for (int32_t id = 0; id < tokenizer.size(); ++id) {
    const std::string_view text = tokenizer.token(id);
    for (size_t at = text.find(kSpaceMark, 1); at != text.npos; at = text.find(kSpaceMark, at + 1))
      joined_.emplace(last_character(text.substr(0, at)));
  }
  joined_.emplace(kSpaceMark);
}

bool MarkCutter::may_cut(std::string_view before) const {
  if (before.empty()) return false;
  const std::string_view last = last_character(before);
  return last != kSpaceMark && (joined_.size() == 1 || !joined_.contains(std::string(last)));
}

std::string_view last_character(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && text.size() - at < 4 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80)
    --at;
  return text.substr(at);
}

std::string mark_spaces(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 2);
  for (const char c : text) {
    if (c == ' ') {
      out += kSpaceMark;
    } else {
      out += c;
    }
  }
  return out;
}

std::string unmark_spaces(std::string_view text) {
  std::string out;
  size_t begin = 0;
  for (size_t at = text.find(kSpaceMark); at != text.npos; at = text.find(kSpaceMark, begin)) {
    out += text.substr(begin, at - begin);
    out += ' ';
    begin = at + kSpaceMark.size();
  }
  return out += text.substr(begin);
}

}  // namespace lamella
