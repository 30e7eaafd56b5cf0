// Implements text/utf8.h.
#include "lamella/text/utf8.h"

#include "lamella/base/text.h"

namespace lamella {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Bytes that a character with this first byte has; 0 for a byte that starts none.
size_t expected_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xC0) return 0;
  if (first < 0xE0) return 2;
  if (first < 0xF0) return 3;
  if (first < 0xF8) return 4;
  return 0;
}

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// The character at the start of `text`, overlong forms and surrogates too; `length` 0 if none.
uint32_t decode_loosely(std::string_view text, size_t& length) {
  const auto first = static_cast<unsigned char>(text[0]);
  length = expected_length(first);
  if (length <= 1) return first;
  if (text.size() < length) {
    length = 0;
    return 0;
  }
  uint32_t code = first & (0xFF >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) {
      length = 0;
      return 0;
    }
    code = (code << 6) | (static_cast<unsigned char>(text[i]) & 0x3F);
  }
  if (code > 0x10FFFF) length = 0;
  return code;
}

// True when the bytes of `text`, too few for the first of them, could still become a character.
bool could_become_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (text.size() >= expected_length(first) || first == 0xC0 || first == 0xC1 || first > 0xF4)
    return false;
  if (text.size() == 1) return true;
  const auto second = static_cast<unsigned char>(text[1]);
  const unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (second < low || second > high) return false;
  for (size_t i = 2; i < text.size(); ++i)
    if (!is_continuation(text[i])) return false;
  return true;
}

}  // namespace

bool is_utf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      ++i;
      continue;
    }
    const size_t length = utf8_length(text.substr(i));
    if (length == 0) return false;
    i += length;
  }
  return true;
}

void append_utf8(std::string& text, uint32_t code_point) {
  const auto put = [&](uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | (code_point >> 6));
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | (code_point >> 12));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | (code_point >> 18));
    put(0x80 | ((code_point >> 12) & 0x3F));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

std::string repair_utf8(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size() + 16);
  size_t i = 0;
  while (i < text.size()) {
    size_t length = 0;
    const uint32_t code = decode_loosely(text.substr(i), length);
    if (length == 0) {
      repaired += kReplacement;
      ++i;
    } else {
      append_utf8(repaired, code);
      i += length;
    }
  }
  return repaired;
}

std::string strict_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    out += length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string Utf8Stream::push(std::string_view bytes) {
  pending_ += bytes;
  std::string out;
  size_t i = 0;
  while (i < pending_.size()) {
    const std::string_view rest = std::string_view(pending_).substr(i);
    const size_t length = utf8_length(rest);
    if (length == 0 && could_become_character(rest)) break;
    if (length == 0 && replace_) {
      out += kReplacement;
    } else {
      out += rest.substr(0, length == 0 ? 1 : length);
    }
    i += length == 0 ? 1 : length;
  }
  pending_.erase(0, i);
  return out;
}

std::string Utf8Stream::finish() {
  std::string out;
  if (replace_) {
    if (!pending_.empty()) out = kReplacement;
  } else {
    out = pending_;
  }
  pending_.clear();
  return out;
}

}  // namespace lamella
