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

// States with slots are recurrent; the others have pages.
bool is_paged(const Graph& graph, const StateSlot& s) {
  const auto slots = graph.dims()->find_symbol("slots");
  return !slots || !(graph.type(s.in).shape[0] == *slots);
}

// What the state has for each of its entries.
std::vector<int64_t> entry_shape(const Type& type, int64_t n) {
  std::vector<int64_t> shape{n};
  for (size_t d = 1; d < type.rank(); ++d) shape.push_back(type.shape.dims[d].value());
  return shape;
}

// Entries are taken as they are written, so what does not fit would end the process much later.
void check_room(const Graph& graph, const EntryBytes& bytes, int64_t n_pages, int64_t n_slots,
                int64_t other_bytes) {
  const int64_t positions = page_positions(graph);
  const int64_t available = available_memory_bytes();
  const auto wanted = [](int64_t n, int64_t each) {
    return human_bytes(static_cast<uint64_t>(n) * static_cast<uint64_t>(each));
  };
  if (bytes.slot > 0 && n_slots > available / bytes.slot)
    throw DeviceError(str("kv: ", n_slots, " recurrent states need ", wanted(n_slots, bytes.slot),
                          "; got ", human_bytes(static_cast<uint64_t>(available)),
                          " of free memory; hint: fewer sequences or snapshots"));
  const int64_t free = std::max<int64_t>(available - n_slots * bytes.slot - other_bytes, 0);
  if (bytes.page == 0 || n_pages <= free / bytes.page) return;
  throw DeviceError(str("kv: ", n_pages * positions, " positions need ",
                        wanted(n_pages, bytes.page), " of KV cache and ", wanted(1, other_bytes),
                        " for intermediate values; got ", wanted(1, available),
                        " of free memory; want at most ", free / bytes.page * positions,
                        " positions; hint: a smaller --ctx"));
}

}  // namespace

Entries::Entries(std::string_view what, int64_t n)
    : what_(what), n_holders_(static_cast<size_t>(n)) {
  // Taken from the back: entries are used from 0 upwards.
  for (int64_t i = n; i-- > 0;) free_.push_back(static_cast<int32_t>(i));
}

int32_t Entries::take() {
  if (free_.empty())
    throw DeviceError(str("kv: all ", size(), " ", what_,
                          " are in use; hint: a larger --ctx, or fewer sequences"));
  const int32_t entry = free_.back();
  free_.pop_back();
  n_holders_[static_cast<size_t>(entry)] = 1;
  return entry;
}

EntryBytes entry_bytes(const Graph& graph) {
  EntryBytes bytes;
  for (const StateSlot& s : graph.states()) {
    const Type& type = graph.type(s.in);
    (is_paged(graph, s) ? bytes.page : bytes.slot) +=
        static_cast<int64_t>(tensor_bytes(type.dtype, entry_shape(type, 1)));
  }
  return bytes;
}

int64_t page_positions(const Graph& graph) {
  for (const StateSlot& s : graph.states())
    if (is_paged(graph, s)) return graph.type(s.in).shape[1].value();
  return 1;
}

KvPool::KvPool(const Graph& graph, int64_t n_pages, int64_t n_slots, int64_t other_bytes)
    : entry_(lamella::entry_bytes(graph)), pages_("pages", n_pages), slots_("slots", n_slots) {
  check_room(graph, entry_, n_pages, n_slots, other_bytes);
  for (const StateSlot& s : graph.states()) {
    const Type& type = graph.type(s.in);
    is_paged_.push_back(is_paged(graph, s));
    states_.push_back(reserve(type.dtype, entry_shape(type, is_paged_.back() ? n_pages : n_slots)));
  }
  if (n_slots > 0) slots_.take();  // kZeroSlot is nobody's
}

void KvPool::copy_page(int32_t from, int32_t to) {
  for (size_t i = 0; i < states_.size(); ++i) {
    if (!is_paged_[i]) continue;
    Tensor& state = states_[i];
    const size_t bytes = state.bytes() / static_cast<size_t>(pages_.size());
    std::memcpy(state.data() + static_cast<size_t>(to) * bytes,
                state.data() + static_cast<size_t>(from) * bytes, bytes);
  }
}

}  // namespace lamella
