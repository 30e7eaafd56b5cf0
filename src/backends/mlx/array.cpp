#include "lamella/backends/mlx/array.h"

#if defined(__linux__)
#include <sys/uio.h>
#include <unistd.h>
#endif

#include <cstring>
#include <limits>

#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/kernels/cpu/copy.h"

namespace lamella::on_mlx {
namespace {

constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();
constexpr size_t kAlignment = 64, kPage = 4096;

struct DtypeRow {
  DType dtype;
  mx::Dtype mlx;
};
const DtypeRow kDtypes[] = {
    {kBool, mx::bool_},    {kI8, mx::int8},
    {kI16, mx::int16},     {kI32, mx::int32},
    {kI64, mx::int64},     {kU8, mx::uint8},
    {kU16, mx::uint16},    {kU32, mx::uint32},
    {kU64, mx::uint64},    {kF16, mx::float16},
    {kBF16, mx::bfloat16}, {kF32, mx::float32},
    {kF64, mx::float64},   {kComplex64, mx::complex64},
};

// MLX's CPU allocator keeps a buffer's size in the word before it, and asks only its own buffers
// for it: any memory can then stand as a buffer. Other allocators are given the memory by MLX's own
// constructor, which shares it where the device can.
bool has_size_header() {
  static const bool found = [] {
    mx::allocator::Data data = mx::allocator::malloc(kAlignment);
    mx::allocator::Buffer buffer = data.buffer();
    const auto *raw = static_cast<char*>(buffer.raw_ptr()), *at = static_cast<char*>(buffer.ptr());
    return raw - at == sizeof(size_t);
  }();
  return found;
}

// Only the first bytes of a page may have nothing in front that can be read: large blocks of the
// heap lie so as well, behind the allocator's words. A page may be mapped and still not be readable
// (what an arena of the heap keeps for later), so the system is asked to copy the word.
bool is_readable(const std::byte* word) {
  if (reinterpret_cast<size_t>(word + sizeof(size_t)) % kPage >= sizeof(size_t)) return true;
#if defined(__linux__)
  size_t copy = 0;
  const iovec to{&copy, sizeof(copy)}, from{const_cast<std::byte*>(word), sizeof(copy)};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof(copy);
#else
  return false;
#endif
}

}  // namespace

std::optional<mx::Dtype> mlx_dtype(DType dtype) {
  for (const DtypeRow& row : kDtypes)
    if (row.dtype == dtype) return row.mlx;
  return std::nullopt;
}

DType dtype_of(mx::Dtype dtype) {
  for (const DtypeRow& row : kDtypes)
    if (row.mlx == dtype) return row.dtype;
  throw InternalError("mlx: an array of a type that no tensor has");
}

mx::Dtype carried_dtype(DType dtype) { return mlx_dtype(dtype).value_or(mx::uint8); }

mx::Shape mlx_shape(std::span<const int64_t> shape) {
  mx::Shape out;
  for (int64_t size : shape) {
    CHECK_USER(size <= kMaxSize, "mlx: a size is too large for MLX; got ", size, "; want at most ",
               kMaxSize);
    out.push_back(static_cast<int32_t>(size));
  }
  return out;
}

mx::Shape carried_shape(DType dtype, std::span<const int64_t> shape) {
  if (mlx_dtype(dtype)) return mlx_shape(shape);
  // More than 2 GiB of bytes lie in rows; the last may be counted too long, and MLX never reads it.
  const int64_t bytes = static_cast<int64_t>(tensor_bytes(dtype, shape));
  if (bytes <= kMaxSize) return {static_cast<int32_t>(bytes)};
  const int64_t row = int64_t{1} << 20, n_rows = (bytes + row - 1) / row;
  return mlx_shape(std::vector<int64_t>{n_rows, row});
}

mx::array wrap(DType dtype, std::span<const int64_t> shape, std::byte* data,
               std::shared_ptr<Storage> owner) {
  // The word before must at least be there to read; bytes without a type of MLX's stay with us.
  const bool may_fault = mlx_dtype(dtype) && !is_readable(data - sizeof(size_t));
  if (may_fault || !has_size_header())
    return mx::array(data, carried_shape(dtype, shape), carried_dtype(dtype), [owner](void*) {});
  mx::array out(carried_shape(dtype, shape), carried_dtype(dtype), nullptr, {});
  const mx::allocator::Buffer at(data - sizeof(size_t));
  out.set_data(mx::allocator::Data(at, [owner](mx::allocator::Buffer) {}));
  out.set_status(mx::array::Status::available);
  return out;
}

std::byte* bytes_of(const mx::array& array) {
  return reinterpret_cast<std::byte*>(const_cast<mx::array&>(array).data<char>());
}

void allocate(mx::array& array) {
  const size_t bytes = array.nbytes() + kAlignment;
  // Where memory has run out MLX gives address 0, and its own ops write there.
  mx::allocator::Data data = mx::allocator::malloc(bytes);
  if (!data.buffer().ptr())
    throw DeviceError(str("mlx: out of memory; want ", human_bytes(bytes), " for a value"));
  const size_t address = reinterpret_cast<size_t>(data.buffer().raw_ptr());
  const size_t offset = (kAlignment - address % kAlignment) % kAlignment;
  array.set_data(std::move(data), array.size(), array.strides(), {true, true, array.ndim() < 2},
                 static_cast<int64_t>(offset));
}

Tensor tensor_of(DType dtype, std::vector<int64_t> shape, const mx::array& array,
                 ThreadPool& pool) {
  if (!array.flags().row_contiguous) {
    Tensor dense(dtype, std::move(shape));
    const std::vector<int64_t> strides(array.strides().begin(), array.strides().end());
    if (dense.numel() > 0)
      cpu::copy(
          {dtype.bytes(), dense.shape(), strides, dense.strides(), bytes_of(array), dense.data()},
          pool);
    return dense;
  }
  if (!array.data_shared_ptr()->is_owned())
    return Tensor::copy_of(dtype, std::move(shape), bytes_of(array));
  auto storage = std::make_shared<Storage>();
  storage->data = bytes_of(array);
  storage->bytes = tensor_bytes(dtype, shape);
  storage->release = [array] {};
  return Tensor(dtype, std::move(shape), std::move(storage));
}

}  // namespace lamella::on_mlx
