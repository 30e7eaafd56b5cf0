// Bytes written as base64.
#pragma once

#include <string>

namespace lamella {

// The bytes that `text` means; UserError that begins with `where` for a character that base64
// lacks.
std::string from_base64(const std::string& text, const std::string& where);

}  // namespace lamella
