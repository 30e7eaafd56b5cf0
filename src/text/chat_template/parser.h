// From a template's source to its tree.
#pragma once

#include <string_view>

#include "lamella/text/chat_template/ast.h"

namespace lamella::jinja {

// UserError with the line and what was expected. Nesting is bounded, so that no tree can overflow
// the stack when it is evaluated or freed.
Block parse_template(std::string_view source);

}  // namespace lamella::jinja
