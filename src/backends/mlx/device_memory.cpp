#include "lamella/backends/mlx/device_memory.h"

#include <mlx/device.h>

#include <cstring>
#include <limits>

#include "lamella/backends/mlx/array.h"
#include "lamella/base/memory.h"

namespace lamella::on_mlx {

namespace {

void fill(mx::array& array, const Tensor& from) {
  array.set_data(mx::allocator::malloc(array.nbytes()));
  array.set_status(mx::array::Status::available);
  if (from.bytes() > 0) std::memcpy(bytes_of(array), from.data(), from.bytes());
}

}  // namespace

mx::array DeviceMemory::upload(const Tensor& t) {
  uploaded_bytes_ += static_cast<int64_t>(t.bytes());
  const mx::Shape shape = carried_shape(t.dtype(), t.shape());
  const mx::Dtype dtype = carried_dtype(t.dtype());
  mx::array own(shape, dtype, nullptr, {});
  // MLX shares the memory where its device can, and copies it elsewhere. (Rows of bytes may be
  // counted too long.)
  if (own.nbytes() == t.bytes())
    return mx::array(t.data(), shape, dtype, [owner = t.storage()](void*) {});
  fill(own, t);
  return own;
}

int64_t DeviceMemory::available_bytes() const {
  if (!has_own_) return available_memory_bytes();
  const auto& info = mx::device_info(mx::Device::gpu);
  const auto found = info.find("free_memory");
  const auto* bytes = found == info.end() ? nullptr : std::get_if<size_t>(&found->second);
  return bytes ? static_cast<int64_t>(*bytes) : std::numeric_limits<int64_t>::max();
}

mx::array DeviceMemory::give(const Tensor& t) {
  return on_gpu_ ? upload(t) : wrap(t.dtype(), t.shape(), t.data(), t.storage());
}

mx::array DeviceMemory::weight(const Tensor& t) {
  if (!on_gpu_) return give(t);
  std::lock_guard lock(mutex_);
  const auto found = weights_.find(t.data());
  if (found != weights_.end() && found->second.bytes.lock() == t.storage())
    return found->second.array;
  std::erase_if(weights_, [](const auto& w) { return w.second.bytes.expired(); });
  const mx::array made = upload(t);
  weights_.insert_or_assign(t.data(), Weight{t.storage(), made});
  return made;
}

Tensor DeviceMemory::state_of(DType dtype, std::vector<int64_t> shape, const mx::array& array) {
  auto cell = std::make_shared<StateCell>(StateCell{array});
  auto storage = std::make_shared<Storage>();
  storage->data = bytes_of(array);
  storage->bytes = tensor_bytes(dtype, shape);
  storage->release = [cell] {};
  std::lock_guard lock(mutex_);
  std::erase_if(cells_, [](const auto& c) { return c.second.expired(); });
  cells_[storage.get()] = cell;
  return Tensor(dtype, std::move(shape), std::move(storage));
}

std::shared_ptr<StateCell> DeviceMemory::state(Tensor& tensor) {
  {
    std::lock_guard lock(mutex_);
    const auto found = cells_.find(tensor.storage().get());
    if (found != cells_.end())
      if (auto cell = found->second.lock()) return cell;
  }
  // Memory of MLX's own, so that it can be written in place.
  mx::array own(carried_shape(tensor.dtype(), tensor.shape()), carried_dtype(tensor.dtype()),
                nullptr, {});
  fill(own, tensor);
  uploaded_bytes_ += static_cast<int64_t>(tensor.bytes());
  tensor = state_of(tensor.dtype(), tensor.shape(), own);
  std::lock_guard lock(mutex_);
  return cells_.at(tensor.storage().get()).lock();
}

}  // namespace lamella::on_mlx
