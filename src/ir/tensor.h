// A tensor in memory: shared storage, element type, sizes, strides. Used for constants, weights,
// inputs, outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lamella/ir/dtype.h"

namespace lamella {

enum class MemorySpace : uint8_t { host, mlx, cuda };

// Bytes with an owner. `file` and `offset` name where mapped bytes came from: that is a constant's
// identity.
struct Storage {
  std::byte* data = nullptr;
  size_t bytes = 0;
  MemorySpace space = MemorySpace::host;
  std::function<void()> release;  // called once at the end; may hold the owner alive
  std::string file;
  uint64_t offset = 0;

  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage() {
    if (release) release();
  }
};

class Tensor {
 public:
  Tensor() = default;
  // Zero-filled, contiguous, aligned to 64 bytes. Sizes are not negative. DeviceError when memory
  // runs out.
  Tensor(DType dtype, std::vector<int64_t> shape);
  // A view of `storage`, contiguous from `byte_offset`. UserError when it does not fit.
  Tensor(DType dtype, std::vector<int64_t> shape, std::shared_ptr<Storage> storage,
         size_t byte_offset = 0);

  // From values, converted to `dtype` (plain types only).
  static Tensor from(DType dtype, std::vector<int64_t> shape, std::span<const double> values);
  static Tensor from(DType dtype, std::vector<int64_t> shape, std::span<const int64_t> values);
  static Tensor scalar(DType dtype, double value);
  // Copies `bytes` bytes that already have the element type's form.
  static Tensor copy_of(DType dtype, std::vector<int64_t> shape, const void* bytes);
  // Borrows memory that outlives the tensor.
  static Tensor view_of(DType dtype, std::vector<int64_t> shape, void* bytes);

  bool empty_handle() const { return storage_ == nullptr; }
  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  // In elements; empty for encoded tensors, which are always contiguous.
  const std::vector<int64_t>& strides() const { return strides_; }
  size_t rank() const { return shape_.size(); }
  int64_t numel() const;
  bool is_contiguous() const;
  // Bytes that the elements take when contiguous.
  size_t bytes() const;
  const std::shared_ptr<Storage>& storage() const { return storage_; }
  size_t byte_offset() const { return byte_offset_; }
  std::byte* data() const { return storage_->data + byte_offset_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data());
  }

  // The same storage seen with other strides (in elements) and offset (in bytes).
  Tensor strided(std::vector<int64_t> shape, std::vector<int64_t> strides,
                 size_t byte_offset) const;
  // Row-major copy when strided, else this.
  Tensor contiguous() const;
  Tensor clone() const;

  // The elements as f64 or i64, in row-major order; block formats decode.
  std::vector<double> to_doubles() const;
  std::vector<int64_t> to_ints() const;

  // Identity of the bytes: file and offset, or content up to 4 KiB, or the allocation.
  uint64_t identity() const;
  bool same_as(const Tensor& other) const;
  bool operator==(const Tensor& other) const { return same_as(other); }

 private:
  DType dtype_;
  std::vector<int64_t> shape_, strides_;
  std::shared_ptr<Storage> storage_;
  size_t byte_offset_ = 0;
};

// Bytes of a contiguous tensor; UserError on overflow or a negative size.
size_t tensor_bytes(DType dtype, std::span<const int64_t> shape);

// Conversion of single elements, by element type: how every reader and writer of plain bytes
// converts.
double load_double(DType dtype, const std::byte* at);
int64_t load_int(DType dtype, const std::byte* at);
void store_double(DType dtype, std::byte* at, double value);  // floats round to nearest even
void store_int(DType dtype, std::byte* at, int64_t value);    // integers wrap

}  // namespace lamella
