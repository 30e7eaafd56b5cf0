// Work on strings that both filters and methods do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lamella/text/chat_template/meter.h"

namespace lamella::jinja {

// Python's str.replace; a negative count means all.
std::string replaced(Meter& meter, const std::string& text, const std::string& old,
                     const std::string& with, int64_t count);
// Lines without their ends.
std::vector<std::string> split_lines(Meter& meter, std::string_view text);
// Spaces at the sides up to `width` characters.
std::string centered(Meter& meter, const std::string& text, int64_t width);
// `n` copies of `unit`; nothing if n is negative.
std::string repeated(Meter& meter, std::string_view unit, int64_t n);
// For HTML.
std::string escaped(Meter& meter, const std::string& text);

}  // namespace lamella::jinja
