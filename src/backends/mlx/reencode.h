// Weights in MLX's own packed forms: those of MLX's checkpoints as they lie, and block formats
// where a form holds them exactly. Affine: w = scale * q + bias over groups of 32, 64 or 128, codes
// of 1 to 8 bits in one stream of bits. mxfp4, mxfp8, nvfp4: small floats and a byte of scale. For
// devices on which the CPU's kernels cannot run; made once a weight and shared by the programs that
// use it.
#pragma once

#include <mlx/array.h>
#include <mlx/stream.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "lamella/ir/tensor.h"

namespace lamella::on_mlx {

// How MLX names a form. Of a format that is brought into it, q = (code - min_code) / step.
struct MlxForm {
  std::string_view mode = "affine";
  int bits = 0, group = 0, step = 1;
};

// None where MLX cannot hold the format exactly.
std::optional<MlxForm> mlx_form(DType dtype);

struct MlxPacked {
  ::mlx::core::array words, scales;
  std::optional<::mlx::core::array> biases;  // affine
  MlxForm form;

  // Its first axes; the last one is `bits` and `group` elements a word and a scale.
  ::mlx::core::Shape leading() const { return {scales.shape().begin(), scales.shape().end() - 1}; }
};

// `w` is [..., n, k], k a multiple of the group; `bytes` is an array of its bytes. UserError where
// a scale has no place in the form.
MlxPacked packed(const Tensor& w, const ::mlx::core::array& bytes, ::mlx::core::Stream stream);

// The packed weights of a back end, each as long as its own bytes live.
class Reencoded {
 public:
  MlxPacked of(const Tensor& w, const ::mlx::core::array& bytes, ::mlx::core::Stream stream);

 private:
  struct Entry {
    std::weak_ptr<Storage> bytes;
    MlxPacked packed;
  };
  std::mutex mutex_;
  std::map<const std::byte*, Entry> entries_;
};

}  // namespace lamella::on_mlx
