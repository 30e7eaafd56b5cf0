// What tokenizers ask of Unicode: categories, lower case, normal forms.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lamella {

bool is_accent(uint32_t code_point);       // category Mn
bool is_mark(uint32_t code_point);         // M
bool is_punctuation(uint32_t code_point);  // P
bool is_numeric(uint32_t code_point);      // N
bool is_other(uint32_t code_point);        // Cc, Cf, Co
bool is_white_space(uint32_t code_point);  // the property White_Space

// Appends the lower case of `code_point`, which may be two characters.
void append_lower(std::string& text, uint32_t code_point);
std::string lower_case(std::string_view text);

enum class NormalForm { c, d, kc, kd };

// `text`, which is UTF-8, in a normal form of Unicode.
std::string normal_form(std::string_view text, NormalForm form);

// The first character of `text`, which is UTF-8 (surrogates allowed) and not empty.
inline std::string_view leading_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  return text.substr(0, first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4);
}

// Calls visit(code point, its bytes) for each character of such a text.
template <class Visit>
void each_character(std::string_view text, Visit&& visit) {
  while (!text.empty()) {
    const std::string_view bytes = leading_character(text);
    auto code = static_cast<uint32_t>(static_cast<unsigned char>(bytes[0]));
    if (bytes.size() > 1) code &= 0xFF >> (bytes.size() + 1);
    for (size_t k = 1; k < bytes.size(); ++k)
      code = code << 6 | (static_cast<unsigned char>(bytes[k]) & 0x3F);
    visit(code, bytes);
    text.remove_prefix(bytes.size());
  }
}

}  // namespace lamella
