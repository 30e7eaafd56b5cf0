// Where a GPU's arrays come from: weights are given to MLX once, whoever runs them; a state is
// MLX's own memory from its first run on, which a row that appends to it writes in place.
#pragma once

#include <mlx/array.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "lamella/ir/tensor.h"

namespace lamella::on_mlx {

// The array that a state's tensor is a handle of. Empty while a run has taken it.
struct StateCell {
  std::optional<::mlx::core::array> array;
};

class DeviceMemory {
 public:
  // `emulated`: the GPU's memory is the CPU's.
  DeviceMemory(bool on_gpu, bool emulated) : on_gpu_(on_gpu), has_own_(on_gpu && !emulated) {}
  bool on_gpu() const { return on_gpu_; }

  // An array of the tensor's bytes: the same ones on the CPU, a copy on a GPU.
  ::mlx::core::array give(const Tensor& tensor);
  // The same, but made once as long as the tensor's bytes live.
  ::mlx::core::array weight(const Tensor& tensor);

  // The cell behind a state's tensor. One that has none yet is given MLX's memory, and becomes a
  // handle of that.
  std::shared_ptr<StateCell> state(Tensor& tensor);
  // A state in the array's memory.
  Tensor state_of(DType dtype, std::vector<int64_t> shape, const ::mlx::core::array& array);

  // What MLX could still take; the largest number if that is not known.
  int64_t available_bytes() const;
  int64_t uploaded_bytes() const { return uploaded_bytes_; }
  // Of what was unpacked for single products.
  void note_unpacked(int64_t bytes) { unpacked_bytes_ += bytes; }
  int64_t unpacked_bytes() const { return unpacked_bytes_; }

 private:
  ::mlx::core::array upload(const Tensor& tensor);

  struct Weight {
    std::weak_ptr<Storage> bytes;
    ::mlx::core::array array;
  };
  const bool on_gpu_, has_own_;
  std::mutex mutex_;
  std::map<const std::byte*, Weight> weights_;
  std::map<const Storage*, std::weak_ptr<StateCell>> cells_;
  std::atomic<int64_t> uploaded_bytes_{0}, unpacked_bytes_{0};
};

}  // namespace lamella::on_mlx
