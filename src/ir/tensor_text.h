// The elements of a constant in the text form: numbers where they read back to the same bytes, else
// hexadecimal bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lamella/ir/tensor.h"

namespace lamella {

// "(1, 2.5, nan)" or "x\"0000803f\"", without type and sizes.
std::string elements_text(const Tensor& tensor);

// Reads one number into `to`; false where it is none or does not fit the type.
bool read_element(DType dtype, std::string_view number, std::byte* to);

// Can elements of this type be written as numbers?
bool has_numbers(DType dtype);

// 0 to 15, or -1.
int hex_value(char c);

// The shortest text of a double that reads back to the same bits; "bits(0x7ff8000000000001)" for a
// NaN with a payload.
std::string exact_text(double value);

}  // namespace lamella
