// JSON in and out of template values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lamella/text/chat_template/value.h"

namespace lamella::jinja {

// The value that JSON `text` describes. UserError that begins with `where`.
Value from_json(Meter& meter, std::string_view text, std::string_view where);

struct JsonStyle {
  std::optional<int> indent;  // none: on one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
  bool ascii = false;
};

// As Python's json.dumps writes it.
std::string to_json(Meter& meter, const Value& value, const JsonStyle& style = {});

}  // namespace lamella::jinja
