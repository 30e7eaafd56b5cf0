#include "lamella/check/npy.h"

#include <cstring>
#include <string_view>

#include "lamella/base/error.h"
#include "lamella/base/mapped_file.h"
#include "lamella/base/text.h"

namespace lamella::check {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr int64_t kMaxElements = int64_t{1} << 40;

// What stands behind 'key': in the header, which is the text of a Python dict.
std::string_view value_of(std::string_view header, std::string_view key, const std::string& path) {
  const std::string quoted = "'" + std::string(key) + "'";
  const size_t at = header.find(quoted);
  CHECK_USER(at != std::string_view::npos, path, ": no '", key, "' in the header");
  std::string_view rest = header.substr(at + quoted.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(": "), rest.size()));
  return rest;
}

std::vector<int64_t> shape_of(std::string_view text, const std::string& path) {
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
    total *= *n;
    shape.push_back(*n);
    text.remove_prefix(std::min(comma + 1, text.size()));
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  return shape;
}

}  // namespace

NpyArray read_npy(const std::string& path) {
  const MappedFile file = MappedFile::open(path);
  const std::string_view all(reinterpret_cast<const char*>(file.bytes().data()),
                             file.bytes().size());
  CHECK_USER(all.size() >= 12 && all.substr(0, 6) == kMagic, path, ": not a .npy file");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(all[i])); };
  size_t start = 10, length = byte(8) | byte(9) << 8;
  if (byte(6) > 1) start = 12, length |= byte(10) << 16 | byte(11) << 24;
  CHECK_USER(length <= all.size() - start, path, ": the header is cut off; got ",
             all.size() - start, " bytes; want ", length);
  const std::string_view header = all.substr(start, length);
  CHECK_USER(value_of(header, "descr", path).substr(0, 5) == "'<f4'", path,
             ": wrong element type; got ",
             printable(value_of(header, "descr", path).substr(0, 5), 10), "; want '<f4'");
  CHECK_USER(value_of(header, "fortran_order", path).substr(0, 5) == "False", path,
             ": the elements lie in Fortran order; want C order");
  NpyArray array;
  array.shape = shape_of(value_of(header, "shape", path), path);
  size_t n = 1;
  for (int64_t size : array.shape) n *= static_cast<size_t>(size);
  const std::string_view data = all.substr(start + length);
  CHECK_USER(data.size() == n * sizeof(float), path, ": shape and size disagree; got ", data.size(),
             " bytes; want ", n * sizeof(float));
  array.values.resize(n);
  if (n > 0) std::memcpy(array.values.data(), data.data(), data.size());
  return array;
}

}  // namespace lamella::check
