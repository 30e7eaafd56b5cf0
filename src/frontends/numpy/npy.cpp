#include "lamella/frontends/numpy/npy.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "lamella/base/error.h"
#include "lamella/base/mapped_file.h"
#include "lamella/base/text.h"

namespace lamella {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr int64_t kMaxElements = int64_t{1} << 40;
constexpr size_t kMaxRank = 32;

struct TypeRow {
  std::string_view descr;
  DType dtype;
};
constexpr TypeRow kTypes[] = {
    // sorted:begin
    {"<c16", kComplex128}, {"<c8", kComplex64}, {"<f2", kF16}, {"<f4", kF32}, {"<f8", kF64},
    {"<i2", kI16},         {"<i4", kI32},       {"<i8", kI64}, {"<u2", kU16}, {"<u4", kU32},
    {"<u8", kU64},         {"|b1", kBool},      {"|i1", kI8},  {"|u1", kU8},
    // sorted:end
};

// What stands behind 'key': in the header, which is the text of a Python dict.
std::string_view value_of(std::string_view header, std::string_view key, const std::string& path) {
  const std::string quoted = "'" + std::string(key) + "'";
  const size_t at = header.find(quoted);
  CHECK_USER(at != std::string_view::npos, path, ": no '", key, "' in the header");
  std::string_view rest = header.substr(at + quoted.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(": "), rest.size()));
  return rest;
}

DType dtype_of(std::string_view header, const std::string& path) {
  std::string_view text = value_of(header, "descr", path);
  if (!text.empty() && text[0] == '\'') {
    text.remove_prefix(1);
    text = text.substr(0, text.find('\''));
  }
  for (const TypeRow& row : kTypes)
    if (row.descr == text) return row.dtype;
  throw UserError(str(path, ": no elements of this kind; got '", printable(text, 20),
                      "'; want little-endian numbers or bools"));
}

bool is_fortran(std::string_view header, const std::string& path) {
  const std::string_view text = value_of(header, "fortran_order", path);
  const bool is_true = text.substr(0, 4) == "True";
  CHECK_USER(is_true || text.substr(0, 5) == "False", path, ": bad fortran_order in the header");
  return is_true;
}

std::vector<int64_t> shape_of(std::string_view header, const std::string& path) {
  std::string_view text = value_of(header, "shape", path);
  const size_t close = text.find(')');
  CHECK_USER(!text.empty() && text[0] == '(' && close != std::string_view::npos, path,
             ": bad shape in the header; got '", printable(text, 40), "'");
  text = text.substr(1, close - 1);
  std::vector<int64_t> shape;
  int64_t total = 1;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view number = text.substr(0, comma);
    number.remove_prefix(std::min(number.find_first_not_of(' '), number.size()));
    const std::optional<int64_t> n = parse_int(number);
    CHECK_USER(n && *n >= 0 && *n <= kMaxElements, path, ": bad size in the header; got '",
               printable(number, 40), "'");
    CHECK_USER(*n == 0 || total <= kMaxElements / *n, path, ": the shape is too large");
    CHECK_USER(shape.size() < kMaxRank, path, ": too many axes; want at most ", kMaxRank);
    total *= *n;
    shape.push_back(*n);
    text.remove_prefix(std::min(comma + 1, text.size()));
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  return shape;
}

// The first axis moves fastest: the transpose of the reversed shape.
Tensor from_fortran(const Tensor& t, const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides;
  int64_t step = 1;
  for (int64_t size : shape) strides.push_back(step), step *= std::max<int64_t>(size, 1);
  return t.strided(shape, strides, t.byte_offset()).contiguous();
}

}  // namespace

Tensor parse_npy(std::span<const uint8_t> bytes, const std::string& path) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  CHECK_USER(all.size() >= 12 && all.substr(0, 6) == kMagic, path, ": not a .npy file");
  const auto byte = [&](size_t i) { return static_cast<size_t>(bytes[i]); };
  size_t start = 10, length = byte(8) | byte(9) << 8;
  if (byte(6) > 1) start = 12, length |= byte(10) << 16 | byte(11) << 24;
  CHECK_USER(length <= all.size() - start, path, ": the header is cut off; got ",
             all.size() - start, " bytes; want ", length);
  const std::string_view header = all.substr(start, length);
  const DType dtype = dtype_of(header, path);
  const std::vector<int64_t> shape = shape_of(header, path);
  const bool is_reversed = is_fortran(header, path) && shape.size() > 1;
  const std::span<const uint8_t> data = bytes.subspan(start + length);
  const size_t want = tensor_bytes(dtype, shape);
  CHECK_USER(data.size() == want, path, ": shape and size disagree; got ", data.size(),
             " bytes; want ", want);
  const Tensor t = Tensor::copy_of(dtype, shape, data.data());
  return is_reversed ? from_fortran(t, shape) : t;
}

Tensor read_npy(const std::string& path) {
  const MappedFile file = MappedFile::open(path);
  return parse_npy(file.bytes(), path);
}

}  // namespace lamella
