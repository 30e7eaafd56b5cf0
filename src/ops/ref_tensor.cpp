// Conversion between tensors in memory and tensors of the reference meaning.
#include "lamella/ops/ref_tensor.h"

#include <algorithm>
#include <cstring>

#include "lamella/base/error.h"
#include "lamella/base/numeric.h"

namespace lamella {
namespace {

int64_t count(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

// Encodes rows of k values into planes at `out`.
void encode_rows(const quant::Format& format, int64_t n_rows, int64_t k,
                 const std::vector<double>& values, std::byte* out) {
  CHECK_USER(format.encode, "pack: format ", format.name, " has no plain encoder");
  std::vector<float> block(static_cast<size_t>(format.block));
  const int64_t n_blocks = format.blocks(k);
  for (int64_t r = 0; r < n_rows; ++r)
    for (int64_t b = 0; b < n_blocks; ++b) {
      for (int64_t j = 0; j < format.block; ++j) {
        const int64_t at = b * format.block + j;
        block[static_cast<size_t>(j)] =
            at < k ? static_cast<float>(values[static_cast<size_t>(r * k + at)]) : 0.0f;
      }
      quant::MutableBlockPtr planes{};
      for (int p = 0; p < format.n_planes; ++p)
        planes[p] = reinterpret_cast<uint8_t*>(out) + quant::plane_offset(format, p, n_rows, k) +
                    (r * n_blocks + b) * format.planes[p].block_bytes;
      format.encode(block.data(), planes);
    }
}

}  // namespace

RefTensor::RefTensor(DType d, std::vector<int64_t> sizes) : dtype(d), shape(std::move(sizes)) {
  const size_t n = static_cast<size_t>(count(shape));
  if (holds_floats())
    f.assign(n, 0.0);
  else if (dtype.is_string())
    s.assign(n, {});
  else
    i.assign(n, 0);
}

RefTensor RefTensor::from(const Tensor& tensor) {
  RefTensor r;
  r.dtype = tensor.dtype();
  r.shape = tensor.shape();
  if (r.holds_floats())
    r.f = tensor.to_doubles();
  else
    r.i = tensor.to_ints();
  return r;
}

int64_t RefTensor::numel() const { return count(shape); }

Tensor RefTensor::to_tensor() const {
  if (const quant::Format* format = dtype.info().format) {
    Tensor t(dtype, shape);
    const int64_t k = shape.back();
    encode_rows(*format, k == 0 ? 0 : numel() / k, k, f, t.data());
    return t;
  }
  return holds_floats() ? Tensor::from(dtype, shape, std::span<const double>(f))
                        : Tensor::from(dtype, shape, std::span<const int64_t>(i));
}

int64_t wrap_int(DType dtype, int64_t value) {
  if (dtype.is_bool()) return value != 0;
  const int bits = dtype.info().bits;
  if (bits >= 64) return value;
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  const uint64_t low = static_cast<uint64_t>(value) & mask;
  if (dtype.is(DTypeKind::uint) || !(low >> (bits - 1))) return static_cast<int64_t>(low);
  return static_cast<int64_t>(low | ~mask);
}

double round_float(DType dtype, double value) {
  if (dtype == kF64) return value;
  std::byte bytes[8];
  store_double(dtype, bytes, value);
  return load_double(dtype, bytes);
}

std::vector<double> encode_decode(const quant::Format& format, int64_t k,
                                  const std::vector<double>& values) {
  if (values.empty()) return values;
  const int64_t n_rows = static_cast<int64_t>(values.size()) / k;
  Tensor t(dtype_of(format), {n_rows, k});
  encode_rows(format, n_rows, k, values, t.data());
  return t.to_doubles();
}

std::vector<int64_t> strides_of(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

int64_t Index::broadcast_offset(const std::vector<int64_t>& other) const {
  int64_t offset = 0, step = 1;
  for (size_t d = other.size(); d-- > 0;) {
    const size_t mine = at_.size() - other.size() + d;
    if (other[d] != 1) offset += at_[mine] * step;
    step *= other[d];
  }
  return offset;
}

}  // namespace lamella
