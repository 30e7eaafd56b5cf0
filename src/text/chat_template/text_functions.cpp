// Implements chat_template/text_functions.h.
#include "lamella/text/chat_template/text_functions.h"

#include <algorithm>

#include "lamella/text/chat_template/characters.h"

namespace lamella::jinja {

std::string replaced(Meter& meter, const std::string& text, const std::string& old,
                     const std::string& with, int64_t count) {
  std::string out;
  meter.scan(text.size());
  const auto put = [&](std::string_view piece) {
    meter.make(piece.size());
    out += piece;
  };
  int64_t left = count < 0 ? INT64_MAX : count;
  if (old.empty()) {  // before every character and at the end
    std::string_view rest = text;
    for (; left > 0; --left) {
      put(with);
      if (rest.empty()) return out;
      put(first_character(rest));
      rest.remove_prefix(first_character(rest).size());
    }
    put(rest);
    return out;
  }
  size_t at = 0;
  for (size_t found; left > 0 && (found = text.find(old, at)) != text.npos; --left) {
    put(std::string_view(text).substr(at, found - at));
    put(with);
    at = found + old.size();
  }
  put(std::string_view(text).substr(at));
  return out;
}

std::vector<std::string> split_lines(Meter& meter, std::string_view text) {
  meter.make(text.size());
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\r\n"), text.size());
    meter.make(sizeof(std::string));
    lines.emplace_back(text.substr(0, end));
    const size_t skip = text.substr(end).starts_with("\r\n") ? 2 : 1;
    text.remove_prefix(std::min(end + skip, text.size()));
  }
  return lines;
}

std::string repeated(Meter& meter, std::string_view unit, int64_t n) {
  if (n <= 0 || unit.empty()) return {};
  if (n > (int64_t{1} << 40)) meter.fail("a string would be too long; got ", n, " repeats");
  meter.make(static_cast<size_t>(n) * unit.size());
  std::string out;
  for (int64_t i = 0; i < n; ++i) out += unit;
  return out;
}

std::string centered(Meter& meter, const std::string& text, int64_t width) {
  const int64_t space = std::max<int64_t>(width - n_characters(text), 0);
  // Python's rule for the odd space: left where both the width and the space are odd.
  const int64_t left = space / 2 + (space & width & 1);
  const std::string before = repeated(meter, " ", left);
  return before + text + repeated(meter, " ", space - left);
}

std::string escaped(Meter& meter, const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  meter.make(out.size());
  return out;
}

}  // namespace lamella::jinja
