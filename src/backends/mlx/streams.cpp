#include "lamella/backends/mlx/streams.h"

namespace lamella::on_mlx {

::mlx::core::Stream Streams::take() {
  {
    std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      const ::mlx::core::Stream stream = free_.back();
      free_.pop_back();
      return stream;
    }
  }
  return ::mlx::core::new_thread_unsafe_stream(::mlx::core::Device::cpu);
}

void Streams::give_back(::mlx::core::Stream stream) {
  std::lock_guard lock(mutex_);
  free_.push_back(stream);
}

}  // namespace lamella::on_mlx
