// How much each column of a matrix counts: mean squares of the product's inputs over a text. Kept
// as the GGUF files of type "imatrix" that are in public use: per matrix NAME two f32 tensors,
// NAME.in_sum2 (sums of squares, [experts, k]) and NAME.counts (how many were summed, [experts,
// 1]).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lamella::gguf {

struct ColumnSums {
  int64_t experts = 1, k = 0;
  std::vector<float> sums;    // [experts, k]
  std::vector<float> counts;  // [experts]
};

class Importance {
 public:
  std::map<std::string, ColumnSums, std::less<>> of_matrix;
  // Where they come from.
  std::string text_name;
  int64_t n_windows = 0, window = 0;

  // UserError: not a file of this type, or sums without counts.
  static Importance read(const std::string& path);
  void write(const std::string& path) const;

  // Mean squares of the matrix's columns, [experts, k]; empty where nothing is known of it. An
  // expert that saw no input takes equal weights. UserError: another k or number of experts.
  std::vector<float> weights(std::string_view matrix, int64_t experts, int64_t k) const;
};

}  // namespace lamella::gguf
