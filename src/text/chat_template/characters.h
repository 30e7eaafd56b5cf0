// Strings as sequences of characters, as Python sees them. A byte that is no part of a valid
// character counts as one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lamella::jinja {

// The first character of `text`, which is not empty.
std::string_view first_character(std::string_view text);

// Its code point; a byte that is no character gives its own value plus 0xDC00, like Python's
// surrogate escapes.
uint32_t code_point(std::string_view character);

int64_t n_characters(std::string_view text);
std::vector<std::string_view> characters(std::string_view text);

// Python's str.isspace for one code point.
bool is_space(uint32_t code_point);
// Python's str.isprintable for one code point, to a good approximation.
bool is_printable(uint32_t code_point);
bool is_letter(uint32_t code_point);
bool is_digit(uint32_t code_point);
// Simple case mapping of Latin, Greek, Cyrillic and Armenian; others have no case here.
uint32_t to_upper(uint32_t code_point);
uint32_t to_lower(uint32_t code_point);

std::string upper(std::string_view text);
std::string lower(std::string_view text);
// The first character in upper case, the others in lower case.
std::string capitalised(std::string_view text);

// Without the characters of `set` at its ends; without white space if `set` is null.
std::string_view strip(std::string_view text, bool left, bool right, const std::string* set);

}  // namespace lamella::jinja
