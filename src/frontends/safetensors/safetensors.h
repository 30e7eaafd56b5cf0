// Reads safetensors files: a table of tensors, mapped into memory, checked, not interpreted.
//
// The data must be covered by the tensors without gaps or overlaps. Everything is bounded by the
// bytes present and by limits far above any model; a malformed file is a UserError when it is
// opened.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lamella/base/mapped_file.h"
#include "lamella/ir/tensor.h"

namespace lamella::safetensors {

// An element type of the format, and ours for it: none where we have no such type.
struct ElementType {
  std::string_view name;
  int bits;
  DType dtype;
};
std::span<const ElementType> element_types();

struct Entry {
  std::string name;
  const ElementType* type = nullptr;
  std::vector<int64_t> shape;      // outermost first
  std::span<const uint8_t> bytes;  // in the file
  uint64_t file_offset = 0;        // of bytes[0]
};

class Safetensors {
 public:
  static Safetensors open(const std::string& path);
  // The same on bytes that the caller keeps; `name` stands for the path in messages.
  static Safetensors view(std::span<const uint8_t> bytes, const std::string& name);

  const std::string& name() const { return name_; }
  // In order of their data.
  std::span<const Entry> entries() const { return entries_; }
  const Entry* find(std::string_view name) const;
  // The tensor, mapped; a copy where its bytes are not aligned as its type needs. UserError where
  // we do not have its type.
  Tensor tensor(const Entry& entry) const;

 private:
  void read(std::span<const uint8_t> bytes);

  std::string name_;
  std::shared_ptr<const MappedFile> file_;  // null after view()
  std::vector<Entry> entries_;
  std::vector<uint32_t> by_name_;
};

// Where the tensors of a model of several files lie: tensor names and names of files beside
// `path`, in order of the tensors' names. UserError for anything but a
// model.safetensors.index.json.
struct Located {
  std::string tensor, file;
};
std::vector<Located> read_index(const std::string& path);
std::vector<Located> parse_index(std::span<const uint8_t> bytes, const std::string& name);

}  // namespace lamella::safetensors
