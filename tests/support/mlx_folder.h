// Matrices as MLX's quantised checkpoints have them: words, scales and biases of their own.
#pragma once

#include <string>
#include <vector>

#include "lamella/quant/format.h"
#include "tests/support/safetensors_writer.h"

namespace lamella::test {

// Adds module.weight, .scales and .biases; returns their names. `left_out` names a part that is not
// written; `words`, unless empty, are other sizes for the first part.
inline std::vector<std::string> add_mlx_matrix(SafetensorsWriter& file, const std::string& module,
                                               const std::string& format_name,
                                               const std::vector<int64_t>& shape,
                                               const std::vector<double>& values,
                                               const std::string& left_out = "",
                                               const std::vector<int64_t>& words = {}) {
  const quant::Format& f = *quant::find_format(format_name);
  const int64_t n = shape[0], k = shape[1];
  const std::vector<float> floats(values.begin(), values.end());
  std::vector<std::vector<uint8_t>> planes;
  for (int p = 0; p < f.n_planes; ++p)
    planes.emplace_back(static_cast<size_t>(n * f.blocks(k) * f.planes[p].block_bytes));
  for (int64_t row = 0; row < n; ++row) {
    quant::MutableBlockPtr at{};
    for (size_t p = 0; p < planes.size(); ++p)
      at[p] = planes[p].data() + row * f.blocks(k) * f.planes[p].block_bytes;
    quant::encode_row(f, floats.data() + row * k, k, at);
  }
  const std::string_view type = f.name.substr(f.name.rfind('_') + 1);
  const std::string scale_type = type == "f16"    ? "F16"
                                 : type == "bf16" ? "BF16"
                                 : type == "f32"  ? "F32"
                                                  : "U8";
  const char* const endings[] = {"weight", "scales", "biases"};
  std::vector<std::string> names;
  for (size_t p = 0; p < planes.size(); ++p) {
    if (left_out == endings[p]) continue;
    std::vector<int64_t> sizes{n, k / f.block};
    if (p == 0)
      sizes = words.empty() ? std::vector<int64_t>{n, int64_t(planes[0].size()) / n / 4} : words;
    names.push_back(module + "." + endings[p]);
    file.add(names.back(), p == 0 ? "U32" : scale_type, sizes, planes[p]);
  }
  return names;
}

}  // namespace lamella::test
