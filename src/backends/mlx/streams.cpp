#include "lamella/backends/mlx/streams.h"

#include <mlx/device.h>
#include <mlx/version.h>
#include <stdlib.h>

#include "lamella/base/error.h"

namespace lamella::on_mlx {
namespace {

// MLX multiplies f32 in 19 bits unless it is told not to, before it does so first.
void open_gpu() {
  CHECK_USER(::mlx::core::is_available(::mlx::core::Device::gpu),
             "mlx: MLX finds no GPU here; got MLX ", ::mlx::core::version(),
             "; want a build of it for CUDA or Metal; hint: the device `cpu`");
  setenv("MLX_ENABLE_TF32", "0", 0);
}

}  // namespace

::mlx::core::Stream Streams::take() {
  {
    std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      const ::mlx::core::Stream stream = free_.back();
      free_.pop_back();
      return stream;
    }
  }
  if (on_gpu_) open_gpu();
  return ::mlx::core::new_thread_unsafe_stream(on_gpu_ ? ::mlx::core::Device::gpu
                                                       : ::mlx::core::Device::cpu);
}

void Streams::give_back(::mlx::core::Stream stream) {
  std::lock_guard lock(mutex_);
  free_.push_back(stream);
}

}  // namespace lamella::on_mlx
