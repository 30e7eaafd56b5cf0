#include "lamella/backends/mlx/reencode.h"

#include <mlx/ops.h>
#include <mlx/transforms.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "lamella/backends/mlx/array.h"
#include "lamella/base/error.h"
#include "lamella/base/numeric.h"

namespace lamella::on_mlx {

namespace mx = ::mlx::core;

namespace {

struct FormRow {
  std::string_view format;
  MlxForm form;
};
constexpr FormRow kForms[] = {
    {"mxfp4", {"mxfp4", 4, 32}},   {"nvfp4", {"nvfp4", 4, 16}}, {"q1_0", {"affine", 1, 128, 2}},
    {"q2_0", {"affine", 2, 64}},   {"q4_0", {"affine", 4, 32}}, {"q4_1", {"affine", 4, 32}},
    {"q5_0", {"affine", 5, 32}},   {"q5_1", {"affine", 5, 32}}, {"q8_0", {"affine", 8, 32}},
    {"tq2_0", {"affine", 2, 128}},
};

constexpr std::string_view kOwn = "mlx_", kAffine = "mlx_affine";

bool lies_as_mlx(const quant::Format& f) { return f.name.substr(0, kOwn.size()) == kOwn; }

// One row of w in the making.
class Row {
 public:
  Row(const quant::Format& format, const MlxForm& form, int64_t k)
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
  const MlxForm& form_;
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

// E2M1 codes become one stream; a byte of scale stays what it is, unless it means something else.
void encode_small_floats(const quant::Format& format, const MlxForm& form, const uint8_t* from,
                         int64_t n_blocks, uint8_t* words, uint8_t* scales) {
  const int n_groups = format.block / format.group, half = format.group / 2;
  const bool has_mx_scales = form.mode == "mxfp4";
  for (int64_t b = 0; b < n_blocks; ++b, from += format.block_bytes())
    for (int g = 0; g < n_groups; ++g) {
      const int scale = from[g];
      CHECK_USER(scale != 255, "mlx: a weight of ", format.name,
                 " has the scale 255, which MLX reads as no number; hint: use the CPU device");
      *scales++ = static_cast<uint8_t>(has_mx_scales ? scale : scale == 0x7f ? 0 : scale & 0x7f);
      const uint8_t* pairs = from + n_groups + g * half;
      for (int j = 0; j < format.group; j += 2) {
        const auto code = [&](int i) { return i < half ? pairs[i] & 15 : pairs[i - half] >> 4; };
        *words++ = static_cast<uint8_t>(code(j) | code(j + 1) << 4);
      }
    }
}

Tensor words_of(const Tensor& w, const MlxForm& form) {
  return Tensor(kU32, {w.shape()[0], w.shape()[1] * form.bits / 32});
}

MlxPacked small_floats(const Tensor& w, const MlxForm& form) {
  const quant::Format& format = *w.dtype().info().format;
  const int64_t n = w.shape()[0], k = w.shape()[1];
  const Tensor words = words_of(w, form), scales(kU8, {n, k / form.group});
  encode_small_floats(format, form, w.as<const uint8_t>(), n * format.blocks(k),
                      words.as<uint8_t>(), scales.as<uint8_t>());
  return {wrap(kU32, words.shape(), words.data(), words.storage()),
          wrap(kU8, scales.shape(), scales.data(), scales.storage()), std::nullopt, form};
}

MlxPacked affine(const Tensor& w, const MlxForm& form) {
  const quant::Format& format = *w.dtype().info().format;
  const int64_t n = w.shape()[0], k = w.shape()[1], n_groups = k / form.group;
  const Tensor words = words_of(w, form);
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
          array_of(biases, shape, dtype), form};
}

// MLX's own planes as they lie in one buffer.
MlxPacked planes(const Tensor& w, const MlxForm& form, const mx::array& bytes, mx::Stream stream) {
  const quant::Format& f = *w.dtype().info().format;
  const int64_t k = w.shape().back(), n_rows = w.numel() / k;
  const std::string_view type = f.name.substr(f.name.rfind('_') + 1);
  const mx::Dtype scale = f.n_planes < 3  ? mx::uint8
                          : type == "f16" ? mx::float16
                          : type == "f32" ? mx::float32
                                          : mx::bfloat16;
  const auto plane = [&](int p, mx::Dtype dtype, int64_t columns) {
    const int64_t from = quant::plane_offset(f, p, n_rows, k),
                  n = n_rows * f.blocks(k) * f.planes[static_cast<size_t>(p)].block_bytes;
    CHECK_USER(bytes.ndim() == 1, "mlx: a matrix of MLX's own form is too large; got ",
               bytes.nbytes(), " bytes; want less than 2 GiB");
    std::vector<int64_t> shape(w.shape().begin(), w.shape().end());
    shape.back() = columns;
    const mx::array part = mx::slice(bytes, mlx_shape(std::vector<int64_t>{from}),
                                     mlx_shape(std::vector<int64_t>{from + n}), stream);
    return mx::reshape(mx::view(part, dtype, stream), mlx_shape(shape), stream);
  };
  MlxPacked made{plane(0, mx::uint32, k * form.bits / 32), plane(1, scale, k / form.group),
                 std::nullopt, form};
  if (f.n_planes == 3) made.biases = plane(2, scale, k / form.group);
  return made;
}

}  // namespace

std::optional<MlxForm> mlx_form(DType dtype) {
  const quant::Format* f = dtype.info().format;
  if (!f) return std::nullopt;
  for (const FormRow& row : kForms)
    if (row.format == f->name) return row.form;
  if (!lies_as_mlx(*f)) return std::nullopt;
  const bool is_affine = f->name.substr(0, kAffine.size()) == kAffine;
  return MlxForm{is_affine ? "affine" : f->name.substr(kOwn.size()),
                 8 * f->planes[0].block_bytes / f->block, f->block};
}

MlxPacked packed(const Tensor& w, const mx::array& bytes, mx::Stream stream) {
  const MlxForm form = *mlx_form(w.dtype());
  if (lies_as_mlx(*w.dtype().info().format)) return planes(w, form, bytes, stream);
  return form.mode == "affine" ? affine(w, form) : small_floats(w, form);
}

MlxPacked Reencoded::of(const Tensor& w, const mx::array& bytes, mx::Stream stream) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(w.data());
  if (found != entries_.end() && found->second.bytes.lock() == w.storage())
    return found->second.packed;
  std::erase_if(entries_, [](const auto& e) { return e.second.bytes.expired(); });
  const MlxPacked made = packed(w, bytes, stream);
  // Whichever thread asks next, its stream has nothing to compute.
  std::vector<mx::array> parts{made.words, made.scales};
  if (made.biases) parts.push_back(*made.biases);
  mx::eval(parts);
  entries_.insert_or_assign(w.data(), Entry{w.storage(), made});
  return made;
}

}  // namespace lamella::on_mlx
