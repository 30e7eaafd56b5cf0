// Implements chat_template/characters.h.
#include "lamella/text/chat_template/characters.h"

#include <algorithm>

#include "lamella/base/text.h"
#include "lamella/text/utf8.h"

namespace lamella::jinja {
namespace {

struct Range {
  uint32_t low, high;
};

constexpr Range kSpaces[] = {{0x09, 0x0D},     {0x1C, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},
                             {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
                             {0x205F, 0x205F}, {0x3000, 0x3000}};

// Controls, formats, surrogates, private use, and white space other than U+0020.
constexpr Range kUnprintable[] = {
    {0x00, 0x1F},     {0x7F, 0xA0},       {0xAD, 0xAD},       {0x600, 0x605},   {0x61C, 0x61C},
    {0x6DD, 0x6DD},   {0x1680, 0x1680},   {0x180E, 0x180E},   {0x2000, 0x200F}, {0x2028, 0x202F},
    {0x205F, 0x206F}, {0x3000, 0x3000},   {0xD800, 0xF8FF},   {0xFEFF, 0xFEFF}, {0xFFF0, 0xFFFB},
    {0xFFFE, 0xFFFF}, {0xE0000, 0xE00FF}, {0xE01F0, 0x10FFFF}};

// Where the letters with case end and those without begin, roughly: alphabets, syllabaries, Han.
constexpr Range kLetters[] = {
    {'A', 'Z'},        {'a', 'z'},       {0xAA, 0xAA},     {0xB5, 0xB5},     {0xBA, 0xBA},
    {0xC0, 0xD6},      {0xD8, 0xF6},     {0xF8, 0x2C1},    {0x370, 0x373},   {0x376, 0x377},
    {0x37B, 0x37D},    {0x37F, 0x37F},   {0x386, 0x386},   {0x388, 0x3FF},   {0x400, 0x481},
    {0x48A, 0x52F},    {0x531, 0x556},   {0x561, 0x587},   {0x5D0, 0x5EA},   {0x620, 0x64A},
    {0x671, 0x6D3},    {0x904, 0x939},   {0xE01, 0xE30},   {0x10A0, 0x10FF}, {0x1100, 0x11FF},
    {0x1E00, 0x1FBC},  {0x3041, 0x3096}, {0x30A1, 0x30FA}, {0x3105, 0x312F}, {0x3400, 0x4DBF},
    {0x4E00, 0x9FFF},  {0xAC00, 0xD7A3}, {0xF900, 0xFAFF}, {0xFF21, 0xFF3A}, {0xFF41, 0xFF5A},
    {0x20000, 0x2FA1F}};

constexpr Range kDigits[] = {{'0', '9'},       {0xB2, 0xB3},     {0xB9, 0xB9},    {0x660, 0x669},
                             {0x6F0, 0x6F9},   {0x966, 0x96F},   {0xE50, 0xE59},  {0x2070, 0x2070},
                             {0x2074, 0x2079}, {0x2080, 0x2089}, {0xFF10, 0xFF19}};

// Letters whose lower case lies `shift` above; with `pairs`, upper and lower alternate.
struct CaseRange {
  uint32_t low, high;  // upper-case letters, or the whole of the pairs
  uint32_t shift;
  bool pairs;
};
constexpr CaseRange kCases[] = {
    {'A', 'Z', 32, false},     {0xC0, 0xD6, 32, false},   {0xD8, 0xDE, 32, false},
    {0x100, 0x12F, 1, true},   {0x132, 0x137, 1, true},   {0x139, 0x148, 1, true},
    {0x14A, 0x177, 1, true},   {0x179, 0x17E, 1, true},   {0x1CD, 0x1DC, 1, true},
    {0x1DE, 0x1EF, 1, true},   {0x1F8, 0x21F, 1, true},   {0x222, 0x233, 1, true},
    {0x386, 0x386, 38, false}, {0x388, 0x38A, 37, false}, {0x38C, 0x38C, 64, false},
    {0x38E, 0x38F, 63, false}, {0x391, 0x3A1, 32, false}, {0x3A3, 0x3AB, 32, false},
    {0x400, 0x40F, 80, false}, {0x410, 0x42F, 32, false}, {0x460, 0x481, 1, true},
    {0x48A, 0x4BF, 1, true},   {0x4D0, 0x52F, 1, true},   {0x531, 0x556, 48, false},
    {0x1E00, 0x1E95, 1, true}, {0x1EA0, 0x1EFF, 1, true}, {0xFF21, 0xFF3A, 32, false}};

template <size_t n>
bool is_in(const Range (&ranges)[n], uint32_t code) {
  return std::any_of(ranges, ranges + n,
                     [&](const Range& r) { return code >= r.low && code <= r.high; });
}

// In a range of pairs the upper-case letter has the parity of the range's first.
bool is_upper_of_pair(const CaseRange& range, uint32_t code) { return (code - range.low) % 2 == 0; }

std::string mapped(std::string_view text, uint32_t (*map)(uint32_t)) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::string_view c = first_character(text);
    const uint32_t code = code_point(c);
    const uint32_t other = map(code);
    if (other == code) {
      out += c;
    } else {
      append_utf8(out, other);
    }
    text.remove_prefix(c.size());
  }
  return out;
}

// Where the last character of `text` begins.
size_t last_character(std::string_view text) {
  for (size_t length = 2; length <= std::min<size_t>(4, text.size()); ++length) {
    const size_t at = text.size() - length;
    if (utf8_length(text.substr(at)) == length) return at;
  }
  return text.size() - 1;
}

}  // namespace

std::string_view first_character(std::string_view text) {
  const size_t length = utf8_length(text);
  return text.substr(0, length == 0 ? 1 : length);
}

uint32_t code_point(std::string_view c) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(c[i])); };
  switch (c.size()) {
    case 1:
      return byte(0) < 0x80 ? byte(0) : 0xDC00 + byte(0);
    case 2:
      return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    case 3:
      return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    default:
      return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 |
             (byte(3) & 0x3F);
  }
}

int64_t n_characters(std::string_view text) {
  int64_t n = 0;
  for (; !text.empty(); ++n) text.remove_prefix(first_character(text).size());
  return n;
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    out.push_back(first_character(text));
    text.remove_prefix(out.back().size());
  }
  return out;
}

bool is_space(uint32_t code) { return is_in(kSpaces, code); }
bool is_printable(uint32_t code) { return !is_in(kUnprintable, code); }
bool is_letter(uint32_t code) { return is_in(kLetters, code); }
bool is_digit(uint32_t code) { return is_in(kDigits, code); }

uint32_t to_upper(uint32_t code) {
  if (code == 0xFF) return 0x178;
  if (code == 0x3C2) return 0x3A3;  // final sigma
  for (const CaseRange& range : kCases) {
    if (range.pairs) {
      if (code >= range.low && code <= range.high)
        return is_upper_of_pair(range, code) ? code : code - 1;
    } else if (code >= range.low + range.shift && code <= range.high + range.shift) {
      return code - range.shift;
    }
  }
  return code;
}

uint32_t to_lower(uint32_t code) {
  if (code == 0x178) return 0xFF;
  for (const CaseRange& range : kCases) {
    if (code < range.low || code > range.high) continue;
    return !range.pairs || is_upper_of_pair(range, code) ? code + range.shift : code;
  }
  return code;
}

std::string upper(std::string_view text) {
  std::string out;
  // The one letter of the common ones that grows: U+00DF.
  for (size_t at; (at = text.find("ß")) != text.npos; text.remove_prefix(at + 2))
    out += mapped(text.substr(0, at), to_upper) + "SS";
  return out + mapped(text, to_upper);
}

std::string lower(std::string_view text) {
  // The one letter whose lower case depends on its place: sigma at the end of a word.
  std::string out = mapped(text, to_lower);
  if (text.find("Σ") == text.npos) return out;
  const std::vector<std::string_view> before = characters(text);
  out.clear();
  for (size_t i = 0; i < before.size(); ++i) {
    const bool ends_word = before[i] == "Σ" && i > 0 && is_letter(code_point(before[i - 1])) &&
                           (i + 1 == before.size() || !is_letter(code_point(before[i + 1])));
    out += ends_word ? "ς" : mapped(before[i], to_lower);
  }
  return out;
}

std::string capitalised(std::string_view text) {
  if (text.empty()) return {};
  const size_t first = first_character(text).size();
  return upper(text.substr(0, first)) + lower(text.substr(first));
}

std::string_view strip(std::string_view text, bool left, bool right, const std::string* set) {
  const auto goes = [&](std::string_view c) {
    return set ? set->find(c) != std::string::npos : is_space(code_point(c));
  };
  while (left && !text.empty() && goes(first_character(text)))
    text.remove_prefix(first_character(text).size());
  while (right && !text.empty()) {
    const size_t at = last_character(text);
    if (!goes(text.substr(at))) break;
    text = text.substr(0, at);
  }
  return text;
}

}  // namespace lamella::jinja
