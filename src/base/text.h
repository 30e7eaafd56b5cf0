// Text for people and for files: joining, near names for "did you mean", sizes, numbers that
// survive a round trip.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

namespace lamella {

// The elements of `range`, each through operator<<, with `separator` between them.
template <class Range>
std::string join(const Range& range, std::string_view separator) {
  std::ostringstream out;
  bool first = true;
  for (const auto& element : range) {
    if (!first) out << separator;
    first = false;
    out << element;
  }
  return std::move(out).str();
}

// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
int edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to `name`, if it is near enough to be what was meant; the first one among
// equals.
std::optional<std::string_view> nearest(std::string_view name,
                                        std::span<const std::string_view> candidates);

// "; did you mean 'x'?" for the end of an error message, or nothing.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

// "17 B", "1.50 KiB", "2.31 GiB".
std::string human_bytes(uint64_t bytes);

// "950", "1.10 K", "134.5 M", "7.24 B".
std::string human_count(uint64_t count);

// The shortest text that reads back as the same value: "0.1", "1e-05", "inf", "nan".
std::string number_text(float value);
std::string number_text(double value);

// The number that is the whole of `text`, locale-independent; nothing when it is no number or out
// of range.
std::optional<float> parse_float(std::string_view text);
std::optional<double> parse_double(std::string_view text);
std::optional<int64_t> parse_int(std::string_view text);

// `text` with control characters, quotes and bytes that are not UTF-8 written as escapes, cut after
// `max_bytes` (then with "…"): safe to put in a message or on a terminal.
std::string printable(std::string_view text, size_t max_bytes = 200);

// `text` in double quotes, any bytes: quotes, backslashes, control characters and bytes that are
// not UTF-8 as escapes.
std::string quoted(std::string_view text);

// Reads what `quoted` writes from the start of `text` and sets `length` to the bytes read; nothing
// where `text` does not start with a well-formed one.
std::optional<std::string> read_quoted(std::string_view text, size_t& length);

// The longest start of `text` that is a name: a letter or '_', then also digits and '.'.
std::string_view leading_name(std::string_view text);
inline bool is_name(std::string_view text) {
  return !text.empty() && leading_name(text).size() == text.size();
}

// Length in bytes of the valid UTF-8 character at the start of `text`, 0 if there is none.
size_t utf8_length(std::string_view text);

}  // namespace lamella
