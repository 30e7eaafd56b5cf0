// How GPU kernels read block formats: a row a format, with the lines that decode eight elements.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "lamella/ir/dtype.h"

namespace lamella::on_mlx {

// `unit`: lines of the dialect of gpu_source.h. Given are b, the bytes of a block, and u: elements
// 8 u to 8 u + 7 are wanted. They set c[8], the codes, and s, their scale; m, a minimum, if the
// format has one; or v[8], the values themselves.
struct GpuFormat {
  std::string_view name;
  int block = 0, bytes = 0;  // elements and bytes of a block
  std::string_view unit;
  std::string_view table = {};  // the code book that `grid` and `value_at` are
  bool is_plain = false;        // sets v
};

// Null where a GPU's kernels don't know the type.
const GpuFormat* gpu_format(DType dtype);
std::span<const GpuFormat> gpu_formats();

// The code books as source: the array `grid`, the function `value_at`.
std::string gpu_table(std::string_view name);

}  // namespace lamella::on_mlx
