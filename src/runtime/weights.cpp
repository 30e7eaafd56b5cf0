#include "lamella/runtime/weights.h"

namespace lamella {

void Weights::set(std::string name, Tensor tensor) {
  std::lock_guard lock(mutex_);
  Entry& e = entries_[std::move(name)];
  e.tensor = std::move(tensor);
  ++e.version;
}

const Tensor* Weights::find(std::string_view name) const {
  std::lock_guard lock(mutex_);
  auto it = entries_.find(name);
  return it == entries_.end() ? nullptr : &it->second.tensor;
}

uint64_t Weights::version(std::string_view name) const {
  std::lock_guard lock(mutex_);
  auto it = entries_.find(name);
  return it == entries_.end() ? 0 : it->second.version;
}

std::vector<std::string> Weights::names() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [name, entry] : entries_) out.push_back(name);
  return out;
}

int64_t Weights::bytes() const {
  std::lock_guard lock(mutex_);
  int64_t sum = 0;
  for (const auto& [name, entry] : entries_) sum += static_cast<int64_t>(entry.tensor.bytes());
  return sum;
}

int64_t Weights::hoisted_bytes() const {
  std::lock_guard lock(mutex_);
  int64_t sum = 0;
  for (const auto& [key, entry] : hoisted_)
    for (const Tensor& t : entry.tensors) sum += static_cast<int64_t>(t.bytes());
  return sum;
}

std::vector<Tensor> Weights::hoisted(uint64_t key, const std::vector<std::string>& names,
                                     const std::function<std::vector<Tensor>()>& make) const {
  std::vector<uint64_t> versions;
  for (const std::string& name : names) versions.push_back(version(name));
  {
    std::lock_guard lock(mutex_);
    auto it = hoisted_.find(key);
    if (it != hoisted_.end() && it->second.versions == versions) return it->second.tensors;
  }
  // Made without the lock: `make` reads weights. Two threads may both make it; the values are the
  // same.
  std::vector<Tensor> tensors = make();
  std::lock_guard lock(mutex_);
  hoisted_[key] = {std::move(versions), tensors};
  return tensors;
}

}  // namespace lamella
