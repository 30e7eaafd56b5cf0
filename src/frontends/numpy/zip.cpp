#include "lamella/frontends/numpy/zip.h"

#include <algorithm>
#include <array>

#include "lamella/base/error.h"
#include "lamella/base/text.h"

namespace lamella::zip {
namespace {

constexpr uint32_t kEnd = 0x06054b50, kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50,
                   kEntry = 0x02014b50, kLocal = 0x04034b50;
constexpr uint64_t kEndBytes = 22, kEntryBytes = 46, kLocalBytes = 30, kMaxComment = 65535,
                   kEnd64Bytes = 56, kLocatorBytes = 20;
constexpr uint64_t kMaxMembers = 1 << 16;
constexpr uint16_t kZip64Field = 1;
// More than DEFLATE can save.
constexpr uint64_t kMaxRatio = 1100;

class Archive {
 public:
  Archive(std::span<const uint8_t> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  std::vector<Member> members() {
    read_end();
    std::vector<Member> out;
    uint64_t at = start_;
    uint64_t packed = 0;
    for (uint64_t i = 0; i < n_members_; ++i) {
      out.push_back(entry(at));
      packed += out.back().bytes.size();
    }
    CHECK_USER(packed <= bytes_.size(), name_, ": members overlap");
    return out;
  }

 private:
  uint64_t number(uint64_t at, int n_bytes) const {
    CHECK_USER(at <= bytes_.size() && bytes_.size() - at >= static_cast<uint64_t>(n_bytes), name_,
               ": the archive is cut off");
    uint64_t value = 0;
    for (int i = n_bytes; i-- > 0;) value = value << 8 | bytes_[at + static_cast<uint64_t>(i)];
    return value;
  }

  // The record at the end says where the directory is.
  void read_end() {
    CHECK_USER(bytes_.size() >= kEndBytes, name_, ": not a ZIP archive; got ", bytes_.size(),
               " bytes");
    const uint64_t last = bytes_.size() - kEndBytes;
    const uint64_t first = last > kMaxComment ? last - kMaxComment : 0;
    uint64_t at = last;
    while (number(at, 4) != kEnd) CHECK_USER(at-- > first, name_, ": not a ZIP archive");
    n_members_ = number(at + 10, 2);
    start_ = number(at + 16, 4);
    if (at >= kLocatorBytes && number(at - kLocatorBytes, 4) == kEnd64Locator) {
      const uint64_t end = number(at - kLocatorBytes + 8, 8);
      CHECK_USER(
          end <= bytes_.size() && bytes_.size() - end >= kEnd64Bytes && number(end, 4) == kEnd64,
          name_, ": the archive's directory is damaged");
      n_members_ = number(end + 32, 8);
      start_ = number(end + 48, 8);
    }
    CHECK_USER(n_members_ <= std::min(kMaxMembers, bytes_.size() / kEntryBytes), name_,
               ": too many members; got ", n_members_);
  }

  // Moves `at` behind the entry.
  Member entry(uint64_t& at) {
    CHECK_USER(number(at, 4) == kEntry, name_, ": the archive's directory is damaged");
    const uint64_t name_bytes = number(at + 28, 2), extra_bytes = number(at + 30, 2),
                   comment_bytes = number(at + 32, 2);
    Member m;
    uint64_t packed = number(at + 20, 4), offset = number(at + 42, 4);
    m.size = number(at + 24, 4);
    m.crc = static_cast<uint32_t>(number(at + 16, 4));
    const uint64_t name_at = at + kEntryBytes;
    number(name_at + name_bytes + extra_bytes + comment_bytes, 0);
    m.name.assign(bytes_.begin() + static_cast<int64_t>(name_at),
                  bytes_.begin() + static_cast<int64_t>(name_at + name_bytes));
    read_zip64(name_at + name_bytes, extra_bytes, m.size, packed, offset);
    const uint64_t method = number(at + 10, 2);
    CHECK_USER((number(at + 8, 2) & 1) == 0, name_, ": '", printable(m.name), "' is encrypted");
    CHECK_USER(method == 0 || method == 8, name_, ": '", printable(m.name),
               "' is packed by method ", method, "; want 0 (stored) or 8 (deflated)");
    m.is_deflated = method == 8;
    m.bytes = data(m, offset, packed);
    at = name_at + name_bytes + extra_bytes + comment_bytes;
    return m;
  }

  // Sizes that 32 bits do not hold stand in an extra field, in this order.
  void read_zip64(uint64_t at, uint64_t n, uint64_t& size, uint64_t& packed, uint64_t& offset) {
    const uint64_t end = at + n;
    while (end - at >= 4) {
      const uint64_t kind = number(at, 2), bytes = number(at + 2, 2);
      at += 4;
      if (bytes > end - at) return;
      if (kind == kZip64Field) {
        uint64_t field = at;
        for (uint64_t* value : {&size, &packed, &offset})
          if (*value == 0xffffffff && field + 8 <= at + bytes) {
            *value = number(field, 8);
            field += 8;
          }
      }
      at += bytes;
    }
  }

  std::span<const uint8_t> data(const Member& m, uint64_t offset, uint64_t packed) {
    const std::string where = str(name_, ": '", printable(m.name), "': ");
    CHECK_USER(offset < bytes_.size() && number(offset, 4) == kLocal, where,
               "is not where the directory says");
    const uint64_t start = offset + kLocalBytes + number(offset + 26, 2) + number(offset + 28, 2);
    CHECK_USER(start <= bytes_.size() && packed <= bytes_.size() - start, where, "is cut off");
    CHECK_USER(m.is_deflated ? m.size / kMaxRatio <= packed : m.size == packed, where,
               "has an impossible size; got ", m.size, " bytes in ", packed);
    return bytes_.subspan(start, packed);
  }

  std::span<const uint8_t> bytes_;
  const std::string& name_;
  uint64_t n_members_ = 0, start_ = 0;
};

uint32_t crc_of(std::span<const uint8_t> bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> t{};
    for (uint32_t i = 0; i < 256; ++i) {
      t[i] = i;
      for (int bit = 0; bit < 8; ++bit) t[i] = t[i] >> 1 ^ (t[i] & 1 ? 0xedb88320u : 0u);
    }
    return t;
  }();
  uint32_t crc = ~0u;
  for (uint8_t byte : bytes) crc = table[(crc ^ byte) & 255] ^ crc >> 8;
  return ~crc;
}

}  // namespace

std::vector<Member> members(std::span<const uint8_t> archive, const std::string& name) {
  return Archive(archive, name).members();
}

std::vector<uint8_t> unpack(const Member& m, const std::string& name) {
  std::vector<uint8_t> out;
  const std::string where = str(name, ": '", printable(m.name), "': ");
  if (m.is_deflated)
    CHECK_USER(inflate(m.bytes, m.size, out), where, "does not unpack to ", m.size, " bytes");
  else
    out.assign(m.bytes.begin(), m.bytes.end());
  CHECK_USER(crc_of(out) == m.crc, where, "is damaged: its checksum differs");
  return out;
}

}  // namespace lamella::zip
