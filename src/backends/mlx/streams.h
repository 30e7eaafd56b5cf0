// MLX's streams, one for each run at a time. A stream owns a thread for good, so they are lent and
// given back.
#pragma once

#include <mlx/stream.h>

#include <mutex>
#include <vector>

namespace lamella::on_mlx {

class Streams {
 public:
  explicit Streams(bool on_gpu) : on_gpu_(on_gpu) {}
  // A stream that any one thread at a time may use.
  ::mlx::core::Stream take();
  void give_back(::mlx::core::Stream stream);

 private:
  const bool on_gpu_;
  std::mutex mutex_;
  std::vector<::mlx::core::Stream> free_;
};

}  // namespace lamella::on_mlx
