#include "lamella/backends/cpu/kernels.h"

#include <vector>

namespace lamella::cpu {

std::span<const planned::Row> kernel_rows() {
  static const std::vector<planned::Row> rows = [] {
    std::vector<planned::Row> all;
    for (auto list :
         {matmul_rows, elementwise_rows, norm_rows, attention_rows, index_rows, dynamic_rows,
          reduce_rows, move_rows, random_rows, spatial_rows, recurrent_rows, state_space_rows,
          signal_rows, quant_rows, linear_systems_rows}) {
      const auto rows = list();
      all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
  }();
  return rows;
}

}  // namespace lamella::cpu
