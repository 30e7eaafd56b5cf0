#include "lamella/frontends/gguf/writer.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "lamella/base/error.h"

namespace lamella::gguf {
namespace {

template <class T>
void put(std::vector<uint8_t>& to, T value) {
  static_assert(std::endian::native == std::endian::little);
  const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}
void put_text(std::vector<uint8_t>& to, std::string_view text) {
  put(to, uint64_t{text.size()});
  to.insert(to.end(), text.begin(), text.end());
}

uint64_t padding(uint64_t at, uint64_t alignment) {
  return (alignment - at % alignment) % alignment;
}

}  // namespace

Writer::Writer(std::string path, uint64_t alignment)
    : path_(std::move(path)), part_(path_ + ".part"), alignment_(alignment) {
  out_.open(part_, std::ios::binary | std::ios::trunc);
  CHECK_USER(out_.good(), part_, ": cannot be written; ", std::strerror(errno));
}

Writer::~Writer() {
  if (is_finished_) return;
  out_.close();
  std::error_code ec;
  std::filesystem::remove(part_, ec);
}

void Writer::add(std::string_view key, const Value& value) {
  put_text(entries_, key);
  put(entries_, static_cast<uint32_t>(type_of(value)));
  std::visit(
      [&](const auto& x) {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::same_as<T, std::string_view>) {
          put_text(entries_, x);
        } else if constexpr (std::same_as<T, Array>) {
          CHECK_USER(!x.encoding.swap && x.encoding.length_bytes == 8, path_, ": metadata '", key,
                     "': arrays of big-endian or version 1 files cannot be copied");
          put(entries_, static_cast<uint32_t>(x.element));
          put(entries_, x.count);
          entries_.insert(entries_.end(), x.bytes.begin(), x.bytes.end());
        } else {
          put(entries_, x);
        }
      },
      value);
  ++n_entries_;
}

void Writer::add(std::string_view key, std::span<const std::string> texts) {
  put_text(entries_, key);
  put(entries_, static_cast<uint32_t>(Type::array));
  put(entries_, static_cast<uint32_t>(Type::string));
  put(entries_, uint64_t{texts.size()});
  for (const std::string& text : texts) put_text(entries_, text);
  ++n_entries_;
}

void Writer::add_tensor(std::string_view name, std::span<const int64_t> dims, uint32_t type_id,
                        uint64_t bytes) {
  put_text(table_, name);
  put(table_, static_cast<uint32_t>(dims.size()));
  for (size_t i = dims.size(); i-- > 0;) put(table_, static_cast<uint64_t>(dims[i]));
  put(table_, type_id);
  put(table_, offset_);
  sizes_.push_back(bytes);
  offset_ += bytes + padding(bytes, alignment_);
}

void Writer::flush(std::span<const uint8_t> bytes) {
  out_.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  CHECK_USER(out_.good(), part_, ": cannot be written (is the disk full?)");
}

void Writer::begin_data() {
  if (is_begun_) return;
  is_begun_ = true;
  std::vector<uint8_t> head{'G', 'G', 'U', 'F'};
  put(head, uint32_t{3});
  put(head, uint64_t{sizes_.size()});
  put(head, n_entries_);
  head.insert(head.end(), entries_.begin(), entries_.end());
  head.insert(head.end(), table_.begin(), table_.end());
  if (!sizes_.empty()) head.resize(head.size() + padding(head.size(), alignment_));
  flush(head);
}

void Writer::write(std::span<const uint8_t> bytes) {
  begin_data();
  CHECK_INTERNAL(tensor_ < sizes_.size() && bytes.size() <= sizes_[tensor_] - written_,
                 "gguf writer: more data than the table says");
  flush(bytes);
  written_ += bytes.size();
  if (written_ < sizes_[tensor_]) return;
  flush(std::vector<uint8_t>(padding(written_, alignment_)));
  ++tensor_;
  written_ = 0;
}

void Writer::finish() {
  begin_data();
  CHECK_INTERNAL(tensor_ == sizes_.size(), "gguf writer: less data than the table says");
  out_.close();
  CHECK_USER(out_.good(), part_, ": cannot be written (is the disk full?)");
  std::error_code ec;
  std::filesystem::rename(part_, path_, ec);
  CHECK_USER(!ec, path_, ": cannot be written; ", ec.message());
  is_finished_ = true;
}

}  // namespace lamella::gguf
