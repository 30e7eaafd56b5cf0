// The table of element types: plain rows and one row a block format.
#include "lamella/ir/dtype.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "lamella/base/error.h"

namespace lamella {

std::span<const DTypeInfo> block_dtypes() {
  static const std::vector<DTypeInfo> blocks = [] {
    std::vector<DTypeInfo> rows;
    for (const quant::Format& f : quant::formats())
      rows.push_back({f.name, DTypeKind::block, 0, 0x1p-23, &f});
    return rows;
  }();
  return blocks;
}

DType find_dtype(std::string_view name) {
  for (const DTypeInfo& row : kPlainTypes)
    if (row.name == name) return DType(row);
  for (const DTypeInfo& row : block_dtypes())
    if (row.name == name) return DType(row);
  return {};
}

DType dtype_of(const quant::Format& format) {
  const auto rows = block_dtypes();
  const auto it = std::find_if(rows.begin(), rows.end(),
                               [&](const DTypeInfo& row) { return row.format == &format; });
  CHECK_INTERNAL(it != rows.end(), "dtype: format ", format.name, " is not in the table");
  return DType(*it);
}

}  // namespace lamella
