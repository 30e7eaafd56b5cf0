// Members of a ZIP archive, stored or deflated. Internal to the reader of .npz files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lamella::zip {

struct Member {
  std::string name;
  bool is_deflated = false;
  std::span<const uint8_t> bytes;  // as they lie in the archive
  uint64_t size = 0;               // unpacked
  uint32_t crc = 0;                // of the unpacked bytes
};

// In the order of the directory at the end. UserError for what is no archive, or one that is
// encrypted, cut off, or packed in another way.
std::vector<Member> members(std::span<const uint8_t> archive, const std::string& name);

// UserError where the bytes do not unpack to what the directory says.
std::vector<uint8_t> unpack(const Member& member, const std::string& name);

// Inflates `in` (RFC 1951) to exactly `size` bytes; false where it is malformed or another size.
bool inflate(std::span<const uint8_t> in, uint64_t size, std::vector<uint8_t>& out);

}  // namespace lamella::zip
