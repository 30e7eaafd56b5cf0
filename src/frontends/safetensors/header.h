// The JSON at the start of a safetensors file, and of the index of a model of several files.
// Internal to the reader.
#pragma once

#include "lamella/frontends/safetensors/safetensors.h"

namespace lamella::safetensors {

// An entry as the header has it: offsets count from the start of the data.
struct HeaderEntry {
  std::string name;
  const ElementType* type = nullptr;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;
};

// In the order of the text. UserError for anything malformed; names may still be given twice.
std::vector<HeaderEntry> parse_header(std::span<const uint8_t> json, const std::string& name);

}  // namespace lamella::safetensors
