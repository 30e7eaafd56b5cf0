// Tensors in host memory: allocation, views, element conversion, identity.
#include "lamella/ir/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

#include "lamella/base/error.h"
#include "lamella/base/hash.h"
#include "lamella/base/memory.h"
#include "lamella/base/numeric.h"
#include "lamella/base/text.h"

namespace lamella {
namespace {

constexpr size_t kContentIdentityBytes = 4096;

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

// Calls visit(byte offset) for every element in row-major order.
template <class Visit>
void for_each_offset(const Tensor& t, Visit visit) {
  const int64_t n = t.numel(), size = t.dtype().bytes();
  if (n == 0) return;
  std::vector<int64_t> index(t.rank(), 0);
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < t.rank(); ++d) at += index[d] * t.strides()[d];
    visit(at * size);
    for (size_t d = t.rank(); d-- > 0;) {
      if (++index[d] < t.shape()[d]) break;
      index[d] = 0;
    }
  }
}

template <class Word>
int64_t read(const std::byte* at) {
  Word w;
  std::memcpy(&w, at, sizeof w);
  return static_cast<int64_t>(w);
}
template <class Word>
void write(std::byte* at, int64_t value) {
  const Word w = static_cast<Word>(value);
  std::memcpy(at, &w, sizeof w);
}
template <class Float>
double read_float(const std::byte* at) {
  Float f;
  std::memcpy(&f, at, sizeof f);
  return static_cast<double>(f);
}
template <class Narrow>
void write_narrow(std::byte* at, double value) {
  const Narrow f = Narrow::from(value);
  std::memcpy(at, &f, sizeof f);
}
template <class Float>
void write_float(std::byte* at, double value) {
  const Float f = static_cast<Float>(value);
  std::memcpy(at, &f, sizeof f);
}

// How one plain type of whole bytes is read and written.
struct Codec {
  DType dtype;
  double (*load_double)(const std::byte*);
  void (*store_double)(std::byte*, double);
  int64_t (*load_int)(const std::byte*);
  void (*store_int)(std::byte*, int64_t);
};

const Codec kCodecs[] = {
    {kBool, nullptr, nullptr, [](const std::byte* p) { return int64_t{*p != std::byte{0}}; },
     [](std::byte* p, int64_t v) { *p = std::byte{v != 0}; }},
    {kI8, nullptr, nullptr, read<int8_t>, write<int8_t>},
    {kI16, nullptr, nullptr, read<int16_t>, write<int16_t>},
    {kI32, nullptr, nullptr, read<int32_t>, write<int32_t>},
    {kI64, nullptr, nullptr, read<int64_t>, write<int64_t>},
    {kU8, nullptr, nullptr, read<uint8_t>, write<uint8_t>},
    {kU16, nullptr, nullptr, read<uint16_t>, write<uint16_t>},
    {kU32, nullptr, nullptr, read<uint32_t>, write<uint32_t>},
    {kU64, nullptr, nullptr, read<uint64_t>, write<uint64_t>},
    {kF16, read_float<f16>, write_narrow<f16>, nullptr, nullptr},
    {kBF16, read_float<bf16>, write_narrow<bf16>, nullptr, nullptr},
    {kF32, read_float<float>, write_float<float>, nullptr, nullptr},
    {kF64, read_float<double>, write_float<double>, nullptr, nullptr},
    {kF8E4M3, read_float<f8e4m3>, write_narrow<f8e4m3>, nullptr, nullptr},
    {kF8E5M2, read_float<f8e5m2>, write_narrow<f8e5m2>, nullptr, nullptr},
};

const Codec& codec(DType dtype) {
  for (const Codec& c : kCodecs)
    if (c.dtype == dtype) return c;
  throw UserError(str("tensor: no conversion of elements of type ", dtype.name()));
}

}  // namespace

size_t tensor_bytes(DType dtype, std::span<const int64_t> shape) {
  const quant::Format* format = dtype.info().format;
  CHECK_USER(!dtype.is_string(), "tensor: strings have no fixed size");
  CHECK_USER(!format || !shape.empty(), "tensor: ", dtype.name(), " needs at least one axis");
  int64_t n = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    CHECK_USER(shape[i] >= 0, "tensor: negative size; got ", shape[i], " at axis ", i);
    int64_t d = shape[i];
    if (format && i + 1 == shape.size()) d = d / format->block + (d % format->block != 0);
    // The other sizes must fit beside a 0 too: strides are their products.
    CHECK_USER(!__builtin_mul_overflow(n, std::max<int64_t>(d, 1), &n),
               "tensor: too many elements for 64 bits");
  }
  for (int64_t d : shape)
    if (d == 0) n = 0;
  int64_t bytes = 0;
  if (format) {
    if (format->n_planes == 1) {
      CHECK_USER(!__builtin_mul_overflow(n, int64_t{format->planes[0].block_bytes}, &bytes),
                 "tensor: too many bytes for 64 bits");
      return static_cast<size_t>(bytes);
    }
    for (int i = 0; i < format->n_planes; ++i)
      bytes += (n * format->planes[i].block_bytes + 63) / 64 * 64;
    return static_cast<size_t>(bytes);
  }
  CHECK_USER(!__builtin_mul_overflow(n, int64_t{dtype.info().bits}, &bytes),
             "tensor: too many bytes for 64 bits");
  return static_cast<size_t>((bytes + 7) / 8);
}

Tensor::Tensor(DType dtype, std::vector<int64_t> shape)
    : dtype_(dtype), shape_(std::move(shape)), storage_(std::make_shared<Storage>()) {
  const size_t size = tensor_bytes(dtype_, shape_);
  void* memory = allocate_aligned(size);
  if (!memory)
    throw DeviceError(str(
        "tensor: ", dtype_.name(), "[", join(shape_, ", "), "] needs ", human_bytes(size), "; got ",
        human_bytes(static_cast<uint64_t>(available_memory_bytes())), " of free memory"));
  std::memset(memory, 0, (std::max<size_t>(size, 1) + 63) / 64 * 64);
  storage_->data = static_cast<std::byte*>(memory);
  storage_->bytes = size;
  storage_->release = [memory] { std::free(memory); };
  if (!dtype_.is_block()) strides_ = row_major_strides(shape_);
}

Tensor::Tensor(DType dtype, std::vector<int64_t> shape, std::shared_ptr<Storage> storage,
               size_t byte_offset)
    : dtype_(dtype),
      shape_(std::move(shape)),
      storage_(std::move(storage)),
      byte_offset_(byte_offset) {
  const size_t size = tensor_bytes(dtype_, shape_);
  CHECK_USER(byte_offset_ <= storage_->bytes && size <= storage_->bytes - byte_offset_,
             "tensor: ", size, " bytes at offset ", byte_offset_, " do not fit in ",
             storage_->bytes);
  if (!dtype_.is_block()) strides_ = row_major_strides(shape_);
}

Tensor Tensor::from(DType dtype, std::vector<int64_t> shape, std::span<const double> values) {
  Tensor t(dtype, std::move(shape));
  CHECK_USER(t.numel() == static_cast<int64_t>(values.size()), "tensor: ", values.size(),
             " values for ", t.numel(), " elements");
  for (size_t i = 0; i < values.size(); ++i)
    lamella::store_double(dtype, t.data() + static_cast<int64_t>(i) * dtype.bytes(), values[i]);
  return t;
}

Tensor Tensor::from(DType dtype, std::vector<int64_t> shape, std::span<const int64_t> values) {
  Tensor t(dtype, std::move(shape));
  CHECK_USER(t.numel() == static_cast<int64_t>(values.size()), "tensor: ", values.size(),
             " values for ", t.numel(), " elements");
  for (size_t i = 0; i < values.size(); ++i)
    lamella::store_int(dtype, t.data() + static_cast<int64_t>(i) * dtype.bytes(), values[i]);
  return t;
}

Tensor Tensor::scalar(DType dtype, double value) {
  return from(dtype, {}, std::span<const double>(&value, 1));
}

Tensor Tensor::copy_of(DType dtype, std::vector<int64_t> shape, const void* bytes) {
  Tensor t(dtype, std::move(shape));
  if (t.bytes() > 0) std::memcpy(t.data(), bytes, t.bytes());
  return t;
}

Tensor Tensor::view_of(DType dtype, std::vector<int64_t> shape, void* bytes) {
  auto storage = std::make_shared<Storage>();
  storage->data = static_cast<std::byte*>(bytes);
  storage->bytes = tensor_bytes(dtype, shape);
  return Tensor(dtype, std::move(shape), std::move(storage));
}

int64_t Tensor::numel() const {
  int64_t n = 1;
  for (int64_t d : shape_) n *= d;
  return n;
}

bool Tensor::is_contiguous() const {
  if (dtype_.is_block()) return true;
  int64_t step = 1;
  for (size_t i = rank(); i-- > 0;) {
    if (shape_[i] == 0) return true;
    if (shape_[i] != 1 && strides_[i] != step) return false;
    step *= shape_[i];
  }
  return true;
}

size_t Tensor::bytes() const { return tensor_bytes(dtype_, shape_); }

Tensor Tensor::strided(std::vector<int64_t> shape, std::vector<int64_t> strides,
                       size_t byte_offset) const {
  CHECK_USER(!dtype_.is_block() && shape.size() == strides.size(),
             "tensor: encoded tensors have no strides, and each axis needs one");
  int64_t low = 0, high = 0;
  bool empty = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    empty |= shape[i] == 0;
    if (shape[i] > 0) (strides[i] < 0 ? low : high) += (shape[i] - 1) * strides[i];
  }
  const int64_t size = dtype_.bytes(), at = static_cast<int64_t>(byte_offset);
  CHECK_USER(empty || (at + low * size >= 0 &&
                       at + (high + 1) * size <= static_cast<int64_t>(storage_->bytes)),
             "tensor: a strided view leaves its storage of ", storage_->bytes, " bytes");
  Tensor t = *this;
  t.shape_ = std::move(shape);
  t.strides_ = std::move(strides);
  t.byte_offset_ = byte_offset;
  return t;
}

Tensor Tensor::clone() const {
  Tensor t(dtype_, shape_);
  if (is_contiguous()) {
    if (bytes() > 0) std::memcpy(t.data(), data(), bytes());
    return t;
  }
  std::byte* to = t.data();
  const size_t size = static_cast<size_t>(dtype_.bytes());
  for_each_offset(*this, [&](int64_t at) {
    std::memcpy(to, data() + at, size);
    to += size;
  });
  return t;
}

Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

double load_double(DType dtype, const std::byte* at) {
  const Codec& c = codec(dtype);
  if (c.load_double) return c.load_double(at);
  const int64_t v = c.load_int(at);
  return dtype == kU64 ? static_cast<double>(static_cast<uint64_t>(v)) : static_cast<double>(v);
}
int64_t load_int(DType dtype, const std::byte* at) {
  const Codec& c = codec(dtype);
  CHECK_USER(c.load_int, "tensor: ", dtype.name(), " elements are not integers");
  return c.load_int(at);
}
void store_double(DType dtype, std::byte* at, double value) {
  const Codec& c = codec(dtype);
  if (c.store_double) return c.store_double(at, value);
  c.store_int(at, static_cast<int64_t>(value));
}
void store_int(DType dtype, std::byte* at, int64_t value) {
  const Codec& c = codec(dtype);
  if (c.store_int) return c.store_int(at, value);
  c.store_double(at, static_cast<double>(value));
}

std::vector<double> Tensor::to_doubles() const {
  std::vector<double> out;
  out.reserve(static_cast<size_t>(numel()));
  if (const quant::Format* f = dtype_.info().format) {
    const int64_t k = shape_.back(), rows = k == 0 ? 0 : numel() / k;
    std::vector<float> row(static_cast<size_t>(k));
    for (int64_t r = 0; r < rows; ++r) {
      quant::BlockPtr planes{};
      for (int p = 0; p < f->n_planes; ++p)
        planes[p] = reinterpret_cast<const uint8_t*>(data()) + quant::plane_offset(*f, p, rows, k) +
                    r * f->blocks(k) * f->planes[p].block_bytes;
      quant::decode_row(*f, planes, k, row.data());
      out.insert(out.end(), row.begin(), row.end());
    }
    return out;
  }
  for_each_offset(*this, [&](int64_t at) { out.push_back(load_double(dtype_, data() + at)); });
  return out;
}

std::vector<int64_t> Tensor::to_ints() const {
  std::vector<int64_t> out;
  out.reserve(static_cast<size_t>(numel()));
  for_each_offset(*this, [&](int64_t at) { out.push_back(load_int(dtype_, data() + at)); });
  return out;
}

uint64_t Tensor::identity() const {
  uint64_t h = hash_of(dtype_.name());
  for (int64_t d : shape_) h = hash_mix(h, static_cast<uint64_t>(d));
  for (int64_t s : strides_) h = hash_mix(h, static_cast<uint64_t>(s));
  if (!storage_) return h;
  if (!storage_->file.empty())
    return hash_mix(hash_mix(h, hash_of(storage_->file)), storage_->offset + byte_offset_);
  if (is_contiguous() && bytes() <= kContentIdentityBytes)
    return hash_mix(h, hash_of({reinterpret_cast<const char*>(data()), bytes()}));
  return hash_mix(h, reinterpret_cast<uintptr_t>(data()));
}

bool Tensor::same_as(const Tensor& other) const {
  if (dtype_ != other.dtype_ || shape_ != other.shape_ || strides_ != other.strides_) return false;
  if (!storage_ || !other.storage_) return storage_ == other.storage_;
  if (storage_->data + byte_offset_ == other.storage_->data + other.byte_offset_) return true;
  if (!storage_->file.empty() || !other.storage_->file.empty())
    return storage_->file == other.storage_->file &&
           storage_->offset + byte_offset_ == other.storage_->offset + other.byte_offset_;
  return is_contiguous() && other.is_contiguous() && bytes() <= kContentIdentityBytes &&
         std::memcmp(data(), other.data(), bytes()) == 0;
}

}  // namespace lamella
