// Weights of block formats in MLX's own affine form, where that holds them exactly: w = scale * q +
// bias over groups of 32, 64 or 128, codes of 1 to 8 bits in one stream of bits. For devices on
// which the CPU's kernels cannot run; made once a weight and shared by the programs that use it.
#pragma once

#include <mlx/array.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "lamella/ir/tensor.h"

namespace lamella::on_mlx {

// How a format's codes become MLX's: q = (code - min_code) / step.
struct AffineForm {
  std::string_view format;
  int bits = 0, group = 0, step = 1;
};

// None where MLX cannot hold the format exactly.
const AffineForm* affine_form(DType dtype);

struct Affine {
  ::mlx::core::array words, scales, biases;
  int bits = 0, group = 0;
};

// `w` is [n, k], k a multiple of the group.
Affine reencode(const Tensor& w);

// The re-encoded weights of a back end, each as long as its own bytes live.
class Reencoded {
 public:
  Affine of(const Tensor& w);

 private:
  struct Entry {
    std::weak_ptr<Storage> bytes;
    Affine affine;
  };
  std::mutex mutex_;
  std::map<const std::byte*, Entry> entries_;
};

}  // namespace lamella::on_mlx
