// Reads NumPy's files: .npy, one array; .npz, several by name.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "lamella/ir/tensor.h"

namespace lamella {

// The array, in C order whatever order the file has. UserError for what is no such file, for
// elements that we have no type for (objects, texts, big-endian numbers), and where shape and bytes
// disagree.
Tensor read_npy(const std::string& path);
// The same on bytes; `name` stands for the path in messages.
Tensor parse_npy(std::span<const uint8_t> bytes, const std::string& name);

// All arrays of a .npz, plain or compressed, without the ".npy" of their names. UserError for a
// member that is no array, too.
std::map<std::string, Tensor> read_npz(const std::string& path);
std::map<std::string, Tensor> parse_npz(std::span<const uint8_t> bytes, const std::string& name);

}  // namespace lamella
