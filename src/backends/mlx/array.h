// Between Lamella's tensors and MLX's arrays: types, sizes, and bytes that are shared, not copied.
#pragma once

#include <mlx/array.h>

#include <optional>
#include <span>
#include <string_view>

#include "lamella/base/thread_pool.h"
#include "lamella/ir/tensor.h"

namespace lamella::on_mlx {

namespace mx = ::mlx::core;

// MLX's name of a type; none for those that it lacks: they are carried as flat bytes.
std::optional<mx::Dtype> mlx_dtype(DType dtype);
DType dtype_of(mx::Dtype dtype);

// What an array of that type has as its element type and sizes. UserError where MLX's 32-bit sizes
// do not hold them.
mx::Dtype carried_dtype(DType dtype);
mx::Shape carried_shape(DType dtype, std::span<const int64_t> shape);
mx::Shape mlx_shape(std::span<const int64_t> shape);

// An array over bytes that outlive it (`owner` may keep them). MLX never reuses or frees them.
mx::array wrap(DType dtype, std::span<const int64_t> shape, std::byte* data,
               std::shared_ptr<Storage> owner = nullptr);

// An evaluated array as a tensor that keeps it alive; a copy where it is not dense, or where MLX
// does not own the bytes (they are the caller's).
Tensor tensor_of(DType dtype, std::vector<int64_t> shape, const mx::array& array, ThreadPool& pool);

std::byte* bytes_of(const mx::array& array);
// Gives `array` memory of its own, aligned to 64 bytes, dense.
void allocate(mx::array& array);

}  // namespace lamella::on_mlx
