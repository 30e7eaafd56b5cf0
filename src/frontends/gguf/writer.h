// Writes GGUF files: metadata and the table of tensors first, then their data as it comes, so that
// no more than a piece of one tensor is in memory.
#pragma once

#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lamella/frontends/gguf/value.h"

namespace lamella::gguf {

class Writer {
 public:
  // The file appears under its name when it is finished; until then it is `path`.part, which is
  // removed if the writer ends before that. UserError: it cannot be written.
  explicit Writer(std::string path, uint64_t alignment = 32);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Arrays as a reader gives them, of a little-endian file with lengths of 8 bytes.
  void add(std::string_view key, const Value& value);
  void add(std::string_view key, std::span<const std::string> texts);
  // dims: outermost first.
  void add_tensor(std::string_view name, std::span<const int64_t> dims, uint32_t type_id,
                  uint64_t bytes);

  // After the last add: the data of all tensors in their order, in pieces of any size.
  void write(std::span<const uint8_t> bytes);
  // After the last piece.
  void finish();

 private:
  void begin_data();
  void flush(std::span<const uint8_t> bytes);

  std::string path_, part_;
  uint64_t alignment_;
  std::ofstream out_;
  std::vector<uint8_t> entries_, table_;
  std::vector<uint64_t> sizes_;  // bytes of each tensor
  uint64_t n_entries_ = 0, offset_ = 0;
  size_t tensor_ = 0;     // the one that is being written
  uint64_t written_ = 0;  // of it
  bool is_begun_ = false, is_finished_ = false;
};

}  // namespace lamella::gguf
