#include "lamella/frontends/safetensors/safetensors.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/frontends/safetensors/header.h"

namespace lamella::safetensors {
namespace {

constexpr uint64_t kLengthBytes = 8, kMaxHeader = 100'000'000;

std::span<const uint8_t> header_of(std::span<const uint8_t> bytes, const std::string& name) {
  CHECK_USER(bytes.size() >= kLengthBytes, name, ": not a safetensors file; got ", bytes.size(),
             " bytes; want ", kLengthBytes, " or more");
  uint64_t length = 0;
  for (size_t i = kLengthBytes; i-- > 0;) length = length << 8 | bytes[i];
  const uint64_t left = bytes.size() - kLengthBytes;
  CHECK_USER(length <= std::min(left, kMaxHeader), name,
             ": the header is longer than the file or the format allows; got ", length,
             " bytes; want at most ", std::min(left, kMaxHeader));
  CHECK_USER(length > 0 && bytes[kLengthBytes] == '{', name,
             ": not a safetensors file; want a header that starts with '{'");
  return bytes.subspan(kLengthBytes, length);
}

// Bytes of the tensor, by its sizes.
uint64_t wanted_bytes(const HeaderEntry& e, const std::string& name) {
  uint64_t n = 1;
  bool fits = true;
  for (int64_t size : e.shape)
    fits = fits && !__builtin_mul_overflow(n, static_cast<uint64_t>(size), &n);
  // A size of 0 anywhere makes no elements, whatever the others are.
  if (std::find(e.shape.begin(), e.shape.end(), 0) != e.shape.end()) n = 0, fits = true;
  fits = fits && !__builtin_mul_overflow(n, static_cast<uint64_t>(e.type->bits), &n);
  CHECK_USER(fits, name, ": '", printable(e.name), "': too large; got [", join(e.shape, ", "), "]");
  CHECK_USER(n % 8 == 0, name, ": '", printable(e.name), "': does not end with a byte; got [",
             join(e.shape, ", "), "] of ", e.type->name);
  return n / 8;
}

// Each tensor's data has the size of the tensor, begins where the one before ends, and the last
// ends with the file. `entries` are sorted by their data.
void check_layout(const std::vector<HeaderEntry>& entries, uint64_t data_bytes,
                  const std::string& name) {
  uint64_t at = 0;
  for (const HeaderEntry& e : entries) {
    const std::string where = str(name, ": '", printable(e.name), "': ");
    CHECK_USER(e.begin <= e.end && e.end <= data_bytes, where, "data outside the file; got [",
               e.begin, ", ", e.end, "); want an end of at most ", data_bytes);
    CHECK_USER(e.begin >= at, where, "overlaps the tensor before it; got data from ", e.begin,
               "; want ", at);
    CHECK_USER(e.begin == at, where, "leaves a gap before it; got data from ", e.begin, "; want ",
               at);
    const uint64_t want = wanted_bytes(e, name);
    CHECK_USER(e.end - e.begin == want, where, "sizes and data disagree; got ", e.end - e.begin,
               " bytes; want ", want, " for [", join(e.shape, ", "), "] of ", e.type->name);
    at = e.end;
  }
  CHECK_USER(at == data_bytes, name, ": data that no tensor has at the end; got ", data_bytes,
             " bytes; want ", at);
}

}  // namespace

void Safetensors::read(std::span<const uint8_t> bytes) {
  const auto json = header_of(bytes, name_);
  const uint64_t data_start = kLengthBytes + json.size();
  std::vector<HeaderEntry> found = parse_header(json, name_);
  std::stable_sort(found.begin(), found.end(), [](const HeaderEntry& a, const HeaderEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_layout(found, bytes.size() - data_start, name_);
  for (HeaderEntry& e : found)
    entries_.push_back({std::move(e.name), e.type, std::move(e.shape),
                        bytes.subspan(data_start + e.begin, e.end - e.begin),
                        data_start + e.begin});
  by_name_.resize(entries_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0u);
  std::sort(by_name_.begin(), by_name_.end(),
            [&](uint32_t a, uint32_t b) { return entries_[a].name < entries_[b].name; });
  for (size_t i = 1; i < by_name_.size(); ++i)
    CHECK_USER(entries_[by_name_[i]].name != entries_[by_name_[i - 1]].name, name_, ": '",
               printable(entries_[by_name_[i]].name), "' is there twice");
}

Safetensors Safetensors::open(const std::string& path) {
  Safetensors s;
  s.name_ = path;
  s.file_ = std::make_shared<const MappedFile>(MappedFile::open(path));
  s.read(s.file_->bytes());
  return s;
}

Safetensors Safetensors::view(std::span<const uint8_t> bytes, const std::string& name) {
  Safetensors s;
  s.name_ = name;
  s.read(bytes);
  return s;
}

const Entry* Safetensors::find(std::string_view name) const {
  const auto it = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [&](uint32_t i, std::string_view wanted) { return entries_[i].name < wanted; });
  return it != by_name_.end() && entries_[*it].name == name ? &entries_[*it] : nullptr;
}

Tensor Safetensors::tensor(const Entry& e) const {
  const DType dtype = e.type->dtype;
  CHECK_USER(!dtype.is_none(), name_, ": '", printable(e.name), "': elements of type ",
             e.type->name, " cannot be read");
  const auto address = reinterpret_cast<uintptr_t>(e.bytes.data());
  // The parts of a complex number are aligned, not the whole.
  const uintptr_t alignment = static_cast<uintptr_t>(std::min<int64_t>(dtype.bytes(), 8));
  if (address % alignment != 0) return Tensor::copy_of(dtype, e.shape, e.bytes.data());
  auto storage = std::make_shared<Storage>();
  storage->data = reinterpret_cast<std::byte*>(const_cast<uint8_t*>(e.bytes.data()));
  storage->bytes = e.bytes.size();
  storage->file = name_;
  storage->offset = e.file_offset;
  storage->release = [owner = file_] {};
  return Tensor(dtype, e.shape, std::move(storage));
}

}  // namespace lamella::safetensors
