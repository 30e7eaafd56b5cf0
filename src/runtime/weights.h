// A set of named weights with versions, and what was computed from them once (hoisted work), shared
// by all programs that use the set.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "lamella/ir/tensor.h"

namespace lamella {

class Weights {
 public:
  // Sets or replaces a weight; its version goes up, and what was hoisted from it is made anew when
  // next asked for.
  void set(std::string name, Tensor tensor);
  // Null when there is none of that name.
  const Tensor* find(std::string_view name) const;
  uint64_t version(std::string_view name) const;
  std::vector<std::string> names() const;
  // Bytes of all weights, and of hoisted results.
  int64_t bytes() const;
  int64_t hoisted_bytes() const;

  // The results that `make` computes from the weights `names`, kept under `key` until one of them
  // changes.
  std::vector<Tensor> hoisted(uint64_t key, const std::vector<std::string>& names,
                              const std::function<std::vector<Tensor>()>& make) const;

 private:
  struct Entry {
    Tensor tensor;
    uint64_t version = 0;
  };
  struct HoistedEntry {
    std::vector<uint64_t> versions;
    std::vector<Tensor> tensors;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_;
  mutable std::map<uint64_t, HoistedEntry> hoisted_;
};

}  // namespace lamella
