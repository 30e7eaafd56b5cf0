// UTF-8 for tokenizers: repairing a prompt, and putting streamed bytes together to whole
// characters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lamella {

// True when `text` is UTF-8 without surrogates, overlong forms or values above U+10FFFF.
bool is_utf8(std::string_view text);

// Appends the UTF-8 form of `code_point` (also of a surrogate, as three bytes).
void append_utf8(std::string& text, uint32_t code_point);

// `text` as llama.cpp's tokenizers read it: an overlong form becomes the character it means, a
// surrogate stays, and every other byte that starts no character becomes U+FFFD. Valid text comes
// back unchanged.
std::string repair_utf8(std::string_view text);

// `text` with every byte that starts no character as U+FFFD, surrogates too.
std::string strict_utf8(std::string_view text);

// Collects bytes and gives back the longest prefix that ends between characters. Bytes that can no
// longer become a character are passed on as they are, or as U+FFFD each when `replace` is set.
class Utf8Stream {
 public:
  explicit Utf8Stream(bool replace = false) : replace_(replace) {}

  // Adds bytes; returns what may be shown now.
  std::string push(std::string_view bytes);
  // The incomplete rest, at the end of the stream.
  std::string finish();

 private:
  std::string pending_;
  bool replace_ = false;
};

}  // namespace lamella
