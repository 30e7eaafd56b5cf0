// Running kernel sources on the GPU.
#pragma once

#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "lamella/backends/mlx/core_row.h"
#include "lamella/backends/mlx/gpu_source.h"

namespace lamella::on_mlx {

struct KernelCall {
  const GpuKernel& kernel;
  const GpuFormat* format = nullptr;  // whose `decode` it uses
  std::vector<GpuConstant> constants;
  std::vector<std::string_view> inputs;  // their names in the source, literals
  size_t parts = 0;                      // the lines of gpu_parts stand in front
};
struct KernelOutput {
  std::string_view name;
  mx::Shape shape;
  mx::Dtype dtype = mx::float32;
};

// What was made of kernels' sources, by all that the text depends on and the grid: to write a
// source takes longer than to run it. One run at a time uses it.
class KernelCache {
 public:
  using Key = std::vector<int64_t>;
  std::shared_ptr<mx::Primitive>& at(Key key);

 private:
  static constexpr size_t kMost = 4096;
  std::map<Key, std::shared_ptr<mx::Primitive>> made_;
};

Arrays run_kernel(Lowering& run, const KernelCall& call, Arrays inputs,
                  const std::vector<KernelOutput>& outputs, int groups_x, int groups_y = 1);
inline Arrays run_kernel(LowerCx& cx, const KernelCall& call, Arrays inputs,
                         const std::vector<KernelOutput>& outputs, int groups_x, int groups_y = 1) {
  return run_kernel(cx.run, call, std::move(inputs), outputs, groups_x, groups_y);
}

// An array of these numbers, kMostNumbers at most, that come with a kernel's launch.
mx::array numbers_array(Lowering& run, const std::vector<int32_t>& numbers);

// A constant of a kernel that is a float.
int bits_of(double value);

}  // namespace lamella::on_mlx
