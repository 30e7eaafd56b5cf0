#include "lamella/lm/kv_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "lamella/base/error.h"
#include "lamella/base/memory.h"
#include "lamella/base/text.h"

namespace lamella {
namespace {

// Zero pages that the system hands out as they are touched. The tensor does not begin the first
// one: MLX reads the word before what it is given.
Tensor reserve(DType dtype, std::vector<int64_t> shape) {
  constexpr size_t kBefore = 64;
  const size_t bytes = tensor_bytes(dtype, shape) + kBefore;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw DeviceError(str("kv: cannot reserve ", bytes, " bytes; hint: a smaller --ctx"));
  auto storage = std::make_shared<Storage>();
  storage->data = static_cast<std::byte*>(memory) + kBefore;
  storage->bytes = bytes - kBefore;
  storage->release = [memory, bytes] { munmap(memory, bytes); };
  return Tensor(dtype, std::move(shape), std::move(storage));
}

// Pages are taken as they are written, so what does not fit would end the process much later.
void check_room(const Graph& graph, int64_t n_pages) {
  const int64_t page_bytes = KvPool::page_bytes(graph);
  int64_t positions = 1;
  for (const StateSlot& s : graph.states()) {
    const Type& type = graph.type(s.in);
    positions = type.rank() > 1 ? type.shape.dims[1].value() : 1;
  }
  const int64_t free = available_memory_bytes();
  if (page_bytes == 0 || n_pages <= free / page_bytes) return;
  throw DeviceError(
      str("kv: ", n_pages * positions, " positions need ",
          human_bytes(static_cast<uint64_t>(n_pages) * static_cast<uint64_t>(page_bytes)),
          " of KV cache; got ", human_bytes(static_cast<uint64_t>(free)),
          " of free memory; want at most ", free / page_bytes * positions,
          " positions; hint: a smaller --ctx"));
}

}  // namespace

int64_t KvPool::page_bytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const StateSlot& s : graph.states()) {
    const Type& type = graph.type(s.in);
    std::vector<int64_t> shape{1};
    for (size_t d = 1; d < type.rank(); ++d) shape.push_back(type.shape.dims[d].value());
    bytes += static_cast<int64_t>(tensor_bytes(type.dtype, shape));
  }
  return bytes;
}

KvPool::KvPool(const Graph& graph, int64_t n_pages) : n_pages_(n_pages) {
  check_room(graph, n_pages);
  for (const StateSlot& s : graph.states()) {
    const Type& type = graph.type(s.in);
    std::vector<int64_t> shape{n_pages};
    for (size_t d = 1; d < type.rank(); ++d) shape.push_back(type.shape.dims[d].value());
    bytes_ += static_cast<int64_t>(tensor_bytes(type.dtype, shape));
    states_.push_back(reserve(type.dtype, std::move(shape)));
  }
  n_holders_.resize(static_cast<size_t>(n_pages));
  // Taken from the back: pages are used from 0 upwards.
  for (int64_t p = n_pages; p-- > 0;) free_.push_back(static_cast<int32_t>(p));
}

int32_t KvPool::take() {
  if (free_.empty())
    throw DeviceError(str("kv: all ", n_pages_, " pages are in use; hint: a larger --ctx"));
  const int32_t page = free_.back();
  free_.pop_back();
  n_holders_[static_cast<size_t>(page)] = 1;
  return page;
}

void KvPool::copy(int32_t from, int32_t to) {
  for (Tensor& state : states_) {
    const size_t bytes = state.bytes() / static_cast<size_t>(n_pages_);
    std::memcpy(state.data() + static_cast<size_t>(to) * bytes,
                state.data() + static_cast<size_t>(from) * bytes, bytes);
  }
}

}  // namespace lamella
