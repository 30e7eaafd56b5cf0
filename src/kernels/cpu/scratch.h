// Memory that lives as long as one kernel call. Does not throw: check ok().
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace lamella::cpu {

class Scratch {
 public:
  static constexpr int64_t kAlign = 64;
  static constexpr int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

  explicit Scratch(int64_t bytes)
      : memory_(static_cast<std::byte*>(::operator new (static_cast<size_t>(bytes + 1),
                                                        std::align_val_t{kAlign}, std::nothrow))) {}
  ~Scratch() { ::operator delete (memory_, std::align_val_t{kAlign}); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  bool ok() const { return memory_ != nullptr; }
  template <class T>
  T* at(int64_t offset_bytes = 0) const {
    return reinterpret_cast<T*>(memory_ + offset_bytes);
  }

 private:
  std::byte* memory_;
};

}  // namespace lamella::cpu
