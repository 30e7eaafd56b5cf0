// Cuts a template's source into text and the tokens of its tags, with Jinja's rules for white space
// as chat templates are rendered: trim_blocks and lstrip_blocks on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lamella::jinja {

struct Token {
  enum class Kind {
    text,          // outside of tags
    output_begin,  // {{
    output_end,    // }}
    block_begin,   // {%
    block_end,     // %}
    name,
    string,  // its value, escapes resolved
    integer,
    real,
    symbol,  // an operator or bracket
    end,
  };
  Kind kind = Kind::end;
  std::string text;
  int line = 1;
  int64_t integer = 0;
  double real = 0;
};

// The last token is of kind `end`. UserError with the line for what Jinja has no token for.
std::vector<Token> tokenize_template(std::string_view source);

}  // namespace lamella::jinja
