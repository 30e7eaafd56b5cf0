// A file mapped read-only into memory. The bytes stay valid as long as the object (moves keep the
// address).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace lamella {

class MappedFile {
 public:
  // What the program will do with the bytes next; a hint to the kernel, never an error.
  enum class Advice { normal, sequential, random, will_need, dont_need };

  // Throws UserError, with the path and the system's reason, when `path` is no readable regular
  // file.
  static MappedFile open(const std::string& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const uint8_t> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

  // Advises on all bytes, or on the pages that hold [offset, offset + size).
  void advise(Advice advice) const { advise(advice, 0, size_); }
  void advise(Advice advice, size_t offset, size_t size) const;

 private:
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
  std::string path_;
};

}  // namespace lamella
