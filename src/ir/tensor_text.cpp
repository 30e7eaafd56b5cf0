#include "lamella/ir/tensor_text.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>

#include "lamella/base/text.h"

namespace lamella {
namespace {

// Longer ones are easier to skip as bytes than to read as numbers.
constexpr int64_t kMaxNumbers = 64;

std::string number_of(DType dtype, const std::byte* at) {
  if (dtype == kF64) return number_text(load_double(dtype, at));
  // Narrow types are exact in f32, whose shortest text is the shorter one.
  if (dtype.is_float()) return number_text(static_cast<float>(load_double(dtype, at)));
  const int64_t value = load_int(dtype, at);
  return dtype == kU64 ? std::to_string(static_cast<uint64_t>(value)) : std::to_string(value);
}

// Every element as a number, if all of them read back to the same bytes.
std::optional<std::string> numbers_text(const Tensor& t) {
  if (!has_numbers(t.dtype()) || t.numel() > kMaxNumbers) return std::nullopt;
  std::string out = "(";
  const size_t size = static_cast<size_t>(t.dtype().bytes());
  for (size_t i = 0; i < static_cast<size_t>(t.numel()); ++i) {
    const std::byte* at = t.data() + i * size;
    const std::string text = number_of(t.dtype(), at);
    std::array<std::byte, 8> back;
    if (!read_element(t.dtype(), text, back.data()) || std::memcmp(back.data(), at, size) != 0)
      return std::nullopt;
    if (i != 0) out += ", ";
    out += text;
  }
  return out + ")";
}

template <class T>
std::optional<T> whole(std::string_view text) {
  T value{};
  const auto r = std::from_chars(text.data(), text.data() + text.size(), value);
  if (r.ec != std::errc() || r.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

bool has_numbers(DType dtype) {
  return (dtype.is_float() || dtype.is_int() || dtype.is_bool()) && dtype.bytes() > 0;
}

bool read_element(DType dtype, std::string_view number, std::byte* to) {
  if (dtype == kF32) {
    const auto value = parse_float(number);
    if (value) std::memcpy(to, &*value, sizeof *value);
    return value.has_value();
  }
  if (dtype.is_float()) {
    const auto value = parse_double(number);
    if (value) store_double(dtype, to, *value);
    return value.has_value();
  }
  if (dtype == kU64) {
    const auto value = whole<uint64_t>(number);
    if (value) std::memcpy(to, &*value, sizeof *value);
    return value.has_value();
  }
  const auto value = parse_int(number);
  if (!value) return false;
  store_int(dtype, to, *value);
  return load_int(dtype, to) == *value;
}

std::string elements_text(const Tensor& tensor) {
  const Tensor t = tensor.contiguous();
  if (auto numbers = numbers_text(t)) return *numbers;
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "x\"";
  out.reserve(t.bytes() * 2 + 3);
  for (size_t i = 0; i < t.bytes(); ++i) {
    const auto byte = static_cast<unsigned>(t.data()[i]);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out + '"';
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string exact_text(double value) {
  std::string text = number_text(value);
  const auto back = parse_double(text);
  const auto bits = std::bit_cast<uint64_t>(value);
  if (back && std::bit_cast<uint64_t>(*back) == bits) return text;
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "bits(0x%016llx)", static_cast<unsigned long long>(bits));
  return buffer;
}

}  // namespace lamella
