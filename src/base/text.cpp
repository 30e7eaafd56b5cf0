// Implements base/text.h.
#include "lamella/base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <system_error>
#include <vector>

namespace lamella {
namespace {

// A number with a unit: three significant digits or more, in steps of `base`.
std::string with_unit(uint64_t value, double base, std::span<const char* const> units) {
  double scaled = static_cast<double>(value);
  size_t unit = 0;
  while (scaled >= base && unit + 1 < units.size()) {
    scaled /= base;
    ++unit;
  }
  char text[64];
  const int decimals = unit == 0 ? 0 : scaled < 100 ? 2 : 1;
  std::snprintf(text, sizeof text, "%.*f%s", decimals, scaled, units[unit]);
  return text;
}

template <class T>
std::string shortest(T value) {
  std::array<char, 64> text;
  const auto result = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), result.ptr};
}

template <class T>
std::optional<T> parse(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the matrix of distances between prefixes (optimal string alignment).
  std::vector<int> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replace = above[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::optional<std::string_view> nearest(std::string_view name,
                                        std::span<const std::string_view> candidates) {
  if (name.size() > 256) return std::nullopt;  // hostile input: the distance is quadratic
  const int limit = std::max(1, static_cast<int>(name.size()) / 3);
  std::optional<std::string_view> best;
  int best_distance = limit + 1;
  for (const std::string_view candidate : candidates) {
    const int distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
  const auto near = nearest(name, candidates);
  return near ? "; did you mean '" + std::string(*near) + "'?" : std::string();
}

std::string human_bytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {" B", " KiB", " MiB", " GiB", " TiB"};
  return with_unit(bytes, 1024, kUnits);
}

std::string human_count(uint64_t count) {
  static constexpr const char* kUnits[] = {"", " K", " M", " B", " T"};
  return with_unit(count, 1000, kUnits);
}

std::string number_text(float value) { return shortest(value); }
std::string number_text(double value) { return shortest(value); }

std::optional<float> parse_float(std::string_view text) { return parse<float>(text); }
std::optional<double> parse_double(std::string_view text) { return parse<double>(text); }
std::optional<int64_t> parse_int(std::string_view text) { return parse<int64_t>(text); }

size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and code points beyond U+10FFFF.
  const unsigned second = byte(1);
  const bool bad = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                   (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return bad ? 0 : length;
}

std::string printable(std::string_view text, size_t max_bytes) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (out.size() >= max_bytes) return out + "…";
    const size_t length = utf8_length(text.substr(at));
    const auto byte = static_cast<unsigned char>(text[at]);
    if (length == 0 || byte < 0x20 || byte == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", byte);
      out += escape;
      ++at;
    } else {
      if (byte == '\'' || byte == '\\') out += '\\';
      out += text.substr(at, length);
      at += length;
    }
  }
  return out;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text.substr(at));
    const auto byte = static_cast<unsigned char>(text[at]);
    if (length == 0 || byte < 0x20 || byte == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", byte);
      out += byte == '\n' ? "\\n" : escape;
      ++at;
    } else {
      if (byte == '"' || byte == '\\') out += '\\';
      out += text.substr(at, length);
      at += length;
    }
  }
  return out + '"';
}

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

std::optional<std::string> read_quoted(std::string_view text, size_t& length) {
  if (text.empty() || text[0] != '"') return std::nullopt;
  std::string out;
  for (size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '"') {
      length = at + 1;
      return out;
    }
    if (text[at] != '\\') {
      out += text[at];
      continue;
    }
    if (++at == text.size()) break;
    if (text[at] == 'x') {
      if (at + 2 >= text.size()) break;
      const int high = hex_digit(text[at + 1]), low = hex_digit(text[at + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      at += 2;
    } else if (text[at] == 'n' || text[at] == 't') {
      out += text[at] == 'n' ? '\n' : '\t';
    } else if (text[at] == '"' || text[at] == '\\') {
      out += text[at];
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

std::string_view leading_name(std::string_view text) {
  if (text.empty() || !is_name_start(text[0])) return {};
  size_t n = 1;
  while (n < text.size() &&
         (is_name_start(text[n]) || (text[n] >= '0' && text[n] <= '9') || text[n] == '.'))
    ++n;
  return text.substr(0, n);
}

}  // namespace lamella
