// Encoding by search: the block of least squared error, each element's weighted by how much it
// counts. Slower than Format::encode, which repeats a reference's plain method, and closer; and
// there for every format of GGUF files.
#pragma once

#include <cstdint>
#include <span>

#include "lamella/quant/format.h"

namespace lamella::quant {

// Whether `encode_row_best` can write the format.
bool can_encode_best(const Format& format);

// Encodes k values to one row, by search where the format has one, else by Format::encode. A
// partial last block is filled up with zeros. `importance`: k weights, none negative, or empty for
// equal ones.
void encode_row_best(const Format& format, const float* values, std::span<const float> importance,
                     int64_t k, const MutableBlockPtr& row);

}  // namespace lamella::quant
