// Reads NumPy's .npy files of f32.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lamella::check {

struct NpyArray {
  std::vector<int64_t> shape;
  std::vector<float> values;  // row-major
};

// Little-endian f32 in C order. UserError for anything else, and where shape and bytes disagree.
NpyArray read_npy(const std::string& path);

}  // namespace lamella::check
