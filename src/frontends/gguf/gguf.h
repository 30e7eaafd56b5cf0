// Reads GGUF files: metadata and tensors, mapped into memory, checked, not interpreted.
//
// Everything is bounded by the bytes present. A malformed file is a UserError when it is opened; a
// tensor of a type that we cannot read is listed, and is an error only when somebody requires it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lamella/base/error.h"
#include "lamella/base/mapped_file.h"
#include "lamella/base/text.h"
#include "lamella/frontends/gguf/value.h"
#include "lamella/quant/format.h"

namespace lamella::gguf {

// An element type without blocks.
struct PlainType {
  std::string_view name;  // as the dtype is called elsewhere: "f32"
  uint32_t id;
  int bytes;
};
std::span<const PlainType> plain_types();

struct Entry {
  std::string_view key;
  Value value;
};

struct Tensor {
  std::string_view name;
  std::vector<int64_t> dims;  // outermost first: [n, k] for n rows of k elements; [] for a scalar
  uint32_t type_id = 0;
  // Exactly one of the two is set, unless the type is unknown to us.
  const PlainType* plain = nullptr;
  const quant::Format* format = nullptr;
  // Its bytes in the file. For an unknown type: all up to the next tensor or the end.
  std::span<const uint8_t> bytes;
  int part = 0;              // which file of a split model
  uint64_t file_offset = 0;  // of bytes[0], in that file
  std::string problem;       // why it cannot be used; empty when it can

  // "f32", "q4_k", or "type 99".
  std::string type_name() const;
  int64_t elements() const;
};

class Gguf {
 public:
  // Opens the file and, when it is one of a split model, all the others next to it.
  static Gguf open(const std::string& path);
  // The same on bytes that the caller keeps; `name` stands for the path in messages.
  static Gguf view(std::span<const uint8_t> bytes, const std::string& name);

  const std::string& name() const { return names_.front(); }
  uint32_t version() const { return version_; }
  bool big_endian() const { return big_endian_; }
  int parts() const { return static_cast<int>(names_.size()); }
  // What keeps a part's bytes alive; null after view().
  const std::shared_ptr<const MappedFile>& file(int part) const { return files_[part]; }

  // In file order; of a split model, those of the first part.
  std::span<const Entry> metadata() const { return metadata_; }
  const Value* find(std::string_view key) const;

  // The value of `key` as a T (see value.h). Missing, or of another type: UserError.
  template <class T>
  T get(std::string_view key) const {
    const Value* value = find(key);
    CHECK_USER(value != nullptr, name(), ": metadata '", printable(key), "' is missing; want ",
               wanted_name<T>());
    return as<T>(key, *value);
  }
  // The same, but nothing where the key is missing.
  template <class T>
  std::optional<T> get_if(std::string_view key) const {
    const Value* value = find(key);
    if (value == nullptr) return std::nullopt;
    return as<T>(key, *value);
  }
  template <class T>
  T get_or(std::string_view key, T fallback) const {
    return get_if<T>(key).value_or(std::move(fallback));
  }
  // n values: an array of n, or one scalar n times. For what may differ from layer to layer.
  template <class T>
  std::vector<T> get_each(std::string_view key, size_t n) const {
    CHECK_USER(n <= 1 << 20, name(), ": metadata '", printable(key), "' is wanted ", n,
               " times; want at most ", 1 << 20);
    const Value* value = find(key);
    if (value == nullptr || !std::holds_alternative<Array>(*value)) {
      return std::vector<T>(n, get<T>(key));
    }
    const Array& array = std::get<Array>(*value);
    CHECK_USER(array.count == n, name(), ": metadata '", printable(key),
               "' has a wrong number of elements; got ", array.count, "; want ", n);
    return as<std::vector<T>>(key, *value);
  }

  // In file order, part after part.
  std::span<const Tensor> tensors() const { return tensors_; }
  const Tensor* find_tensor(std::string_view name) const;
  // The tensor of that name, fit for use; UserError when it is missing or has a problem.
  const Tensor& tensor(std::string_view name) const;
  // Throws UserError when `tensor` has a problem.
  void require_usable(const Tensor& tensor) const;

 private:
  void add_part(std::span<const uint8_t> bytes, std::shared_ptr<const MappedFile> file,
                const std::string& name);
  void open_other_parts(const std::string& path);
  void index_tensors();

  template <class T>
  T as(std::string_view key, const Value& value) const {
    auto result = convert<T>(value);
    CHECK_USER(result.has_value(), name(), ": metadata '", printable(key),
               "' has a wrong type or is out of range; got ", describe(value), "; want ",
               wanted_name<T>());
    return std::move(*result);
  }

  uint32_t version_ = 0;
  bool big_endian_ = false;
  std::vector<std::string> names_;
  std::vector<std::shared_ptr<const MappedFile>> files_;
  std::vector<Entry> metadata_;
  std::vector<Tensor> tensors_;
  std::vector<uint32_t> keys_, tensor_names_;  // indices, sorted by key and by name
};

}  // namespace lamella::gguf
