#include "lamella/backends/mlx/reencode.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "lamella/backends/mlx/array.h"
#include "lamella/base/numeric.h"

namespace lamella::on_mlx {
namespace {

constexpr AffineForm kForms[] = {
    {"q1_0", 1, 128, 2}, {"q2_0", 2, 64, 1}, {"q4_0", 4, 32, 1}, {"q4_1", 4, 32, 1},
    {"q5_0", 5, 32, 1},  {"q5_1", 5, 32, 1}, {"q8_0", 8, 32, 1}, {"tq2_0", 2, 128, 1},
};

// One row of w in the making.
class Row {
 public:
  Row(const quant::Format& format, const AffineForm& form, int64_t k)
      : format_(format), form_(form), k_(k) {}

  // Codes go to `bits`, a stream that starts at a byte; scales and biases one a group.
  void encode(const uint8_t* from, uint8_t* bits, float* scales, float* biases) const {
    int8_t codes[quant::kMaxBlock];
    float scale[quant::kMaxBlock], min[quant::kMaxBlock];
    int64_t at_bit = 0;
    for (int64_t i = 0; i < k_; i += format_.block, from += format_.block_bytes()) {
      format_.unpack({from}, codes, scale, min);
      const int n = static_cast<int>(std::min<int64_t>(format_.block, k_ - i));
      for (int j = 0; j < n; ++j) {
        put(bits, at_bit, (codes[j] - format_.min_code) / form_.step);
        if (j % form_.group != 0) continue;
        const float s = scale[j / format_.group];
        *scales++ = s * static_cast<float>(form_.step);
        *biases++ = s * static_cast<float>(format_.min_code) -
                    (format_.has_min ? min[j / format_.group] : 0.0f);
      }
    }
  }

 private:
  void put(uint8_t* bits, int64_t& at, int code) const {
    for (int b = 0; b < form_.bits; ++b, ++at)
      if (code >> b & 1) bits[at / 8] = static_cast<uint8_t>(bits[at / 8] | 1 << at % 8);
  }

  const quant::Format& format_;
  const AffineForm& form_;
  int64_t k_;
};

bool fits_f16(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](float v) { return static_cast<float>(f16::from(v)) == v; });
}

::mlx::core::array array_of(const std::vector<float>& values, std::span<const int64_t> shape,
                            DType dtype) {
  const Tensor t(dtype, {shape.begin(), shape.end()});
  for (size_t i = 0; i < values.size(); ++i)
    store_double(dtype, t.data() + i * static_cast<size_t>(dtype.bytes()), values[i]);
  return wrap(dtype, shape, t.data(), t.storage());
}

}  // namespace

const AffineForm* affine_form(DType dtype) {
  for (const AffineForm& form : kForms)
    if (form.format == dtype.name()) return &form;
  return nullptr;
}

Affine reencode(const Tensor& w) {
  const AffineForm& form = *affine_form(w.dtype());
  const quant::Format& format = *w.dtype().info().format;
  const int64_t n = w.shape()[0], k = w.shape()[1], n_groups = k / form.group;
  const Tensor words(kU32, {n, k * form.bits / 32});
  std::vector<float> scales(static_cast<size_t>(n * n_groups)), biases(scales.size());
  const Row row(format, form, k);
  const int64_t row_bytes = format.blocks(k) * format.block_bytes();
  for (int64_t r = 0; r < n; ++r)
    row.encode(w.as<const uint8_t>() + r * row_bytes, words.as<uint8_t>() + r * k * form.bits / 8,
               scales.data() + r * n_groups, biases.data() + r * n_groups);
  // A bias may lie beyond f16, or between its numbers.
  const DType dtype = fits_f16(scales) && fits_f16(biases) ? kF16 : kF32;
  const int64_t shape[] = {n, n_groups};
  return {wrap(kU32, words.shape(), words.data(), words.storage()), array_of(scales, shape, dtype),
          array_of(biases, shape, dtype), form.bits, form.group};
}

Affine Reencoded::of(const Tensor& w) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(w.data());
  if (found != entries_.end() && found->second.bytes.lock() == w.storage())
    return found->second.affine;
  std::erase_if(entries_, [](const auto& e) { return e.second.bytes.expired(); });
  const Affine made = reencode(w);
  entries_.insert_or_assign(w.data(), Entry{w.storage(), made});
  return made;
}

}  // namespace lamella::on_mlx
