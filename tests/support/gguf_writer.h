// Builds GGUF files in memory for tests: valid ones by default, and wrong ones where a test asks
// for it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace lamella::test {

// What differs from file to file as a whole.
struct GgufOptions {
  uint32_t version = 3;
  bool big_endian = false;
  uint64_t alignment = 32;                    // of the data; add() writes the metadata that says so
  std::optional<uint64_t> tensor_count = {};  // instead of the true one
  std::optional<uint64_t> entry_count = {};
};

class GgufWriter {
 public:
  using Bytes = std::vector<uint8_t>;

  explicit GgufWriter(GgufOptions options = {}) : options_(options) {}

  // One scalar or string, with the type that T has; bool, all integers, float, double, text.
  template <class T>
  GgufWriter& add(std::string_view key, const T& value) {
    begin_entry(key, type_id<T>());
    put(entries_, value);
    return *this;
  }
  template <class T>
  GgufWriter& add_array(std::string_view key, const std::vector<T>& values) {
    begin_entry(key, 9);
    number(entries_, type_id<T>());
    length(entries_, values.size());
    for (const auto& value : values) put(entries_, static_cast<T>(value));
    return *this;
  }
  // An entry with any type id and any bytes behind it.
  GgufWriter& add_raw(std::string_view key, uint32_t type, const Bytes& bytes) {
    begin_entry(key, type);
    entries_.insert(entries_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  // dims: outermost first. `offset` instead of the next free place.
  GgufWriter& add_tensor(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type,
                         const Bytes& bytes, std::optional<uint64_t> offset = {}) {
    put(table_, name);
    number(table_, static_cast<uint32_t>(dims.size()));
    for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) length(table_, *dim);
    number(table_, type);
    number(table_, offset.value_or(data_.size()));
    data_.insert(data_.end(), bytes.begin(), bytes.end());
    data_.resize((data_.size() + options_.alignment - 1) / options_.alignment * options_.alignment);
    ++n_tensors_;
    return *this;
  }

  Bytes bytes() const {
    Bytes out{'G', 'G', 'U', 'F'};
    number(out, options_.version);
    length(out, options_.tensor_count.value_or(n_tensors_));
    length(out, options_.entry_count.value_or(n_entries_));
    out.insert(out.end(), entries_.begin(), entries_.end());
    out.insert(out.end(), table_.begin(), table_.end());
    out.resize((out.size() + options_.alignment - 1) / options_.alignment * options_.alignment);
    out.insert(out.end(), data_.begin(), data_.end());
    return out;
  }
  void write(const std::string& path) const {
    const Bytes all = bytes();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(all.data()), static_cast<std::streamsize>(all.size()));
  }

  // The bytes of numbers as this writer stores them.
  template <class T>
  Bytes pack(const std::vector<T>& values) const {
    Bytes out;
    for (const T& value : values) number(out, value);
    return out;
  }

 private:
  template <class T>
  static constexpr uint32_t type_id() {
    if constexpr (std::is_same_v<T, bool>) {
      return 7;
    } else if constexpr (std::is_floating_point_v<T>) {
      return sizeof(T) == 4 ? 6 : 12;
    } else if constexpr (std::is_integral_v<T>) {
      constexpr uint32_t kUnsigned[] = {0, 2, 4, 10};
      return kUnsigned[std::countr_zero(sizeof(T))] + std::is_signed_v<T>;
    } else {
      return 8;
    }
  }

  template <class T>
  void number(Bytes& out, T value) const {
    uint8_t raw[sizeof(T)];
    std::copy_n(reinterpret_cast<const uint8_t*>(&value), sizeof(T), raw);
    if (options_.big_endian) std::reverse(raw, raw + sizeof(T));
    for (const uint8_t byte : raw) out.push_back(byte);
  }
  void length(Bytes& out, uint64_t value) const {
    if (options_.version == 1) {
      number(out, static_cast<uint32_t>(value));
    } else {
      number(out, value);
    }
  }
  template <class T>
  void put(Bytes& out, const T& value) const {
    if constexpr (std::is_arithmetic_v<T>) {
      number(out, value);
    } else {
      const std::string_view text(value);
      length(out, text.size());
      out.insert(out.end(), text.begin(), text.end());
    }
  }
  void begin_entry(std::string_view key, uint32_t type) {
    put(entries_, key);
    number(entries_, type);
    ++n_entries_;
  }

  GgufOptions options_;
  Bytes entries_, table_, data_;
  uint64_t n_tensors_ = 0, n_entries_ = 0;
};

}  // namespace lamella::test
