#include "lamella/ir/text_reader.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "lamella/base/text.h"
#include "lamella/ir/tensor_text.h"

namespace lamella {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool is_label(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
// What may stand in a number: "-1.5e+30", "-inf", "nan".
bool is_number(char c) { return is_label(c) || c == '.' || c == '-' || c == '+'; }

}  // namespace

void TextReader::skip() {
  while (at_ < text_.size()) {
    if (is_space(text_[at_])) {
      ++at_;
    } else if (text_[at_] == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

size_t TextReader::line(size_t at) const {
  const auto end = text_.begin() + static_cast<std::ptrdiff_t>(std::min(at, text_.size()));
  return 1 + static_cast<size_t>(std::count(text_.begin(), end, '\n'));
}

void TextReader::fail_at(size_t at, std::string_view message) const {
  throw TextError(str("ir text line ", line(at), ": ", message));
}

void TextReader::fail(std::string_view what, std::string_view got, std::string_view want) const {
  fail_at(at_, str(what, "; got ", got.empty() ? "the end" : "'" + printable(got, 40) + "'",
                   want.empty() ? "" : "; want ", want));
}

void TextReader::fail(std::string_view what, std::string_view want) {
  skip();
  size_t end = at_;
  while (end < text_.size() && end - at_ < 30 && !is_space(text_[end])) ++end;
  fail(what, text_.substr(at_, end - at_), want);
}

bool TextReader::at_name() {
  skip();
  return !leading_name(text_.substr(at_, 1)).empty();
}

bool TextReader::accept_word(std::string_view word) {
  skip();
  if (leading_name(text_.substr(at_, word.size() + 1)) != word) return false;
  at_ += word.size();
  return true;
}

void TextReader::expect(char c) {
  if (!accept(c)) fail("cannot read this", std::string("'") + c + "'");
}

void TextReader::expect_arrow() {
  if (!accept('-') || !accept('>')) fail("cannot read this", "'->'");
}

std::string_view TextReader::name(std::string_view want) {
  skip();
  const std::string_view word = leading_name(text_.substr(at_));
  if (word.empty()) fail("cannot read this", want);
  at_ += word.size();
  return word;
}

std::string TextReader::name_or_string(std::string_view want) {
  return peek() == '"' ? string() : std::string(name(want));
}

std::string TextReader::string() {
  if (peek() != '"') fail("cannot read this", "a string");
  size_t length = 0;
  auto value = read_quoted(text_.substr(at_), length);
  if (!value) fail("a string that does not end, or a bad escape in it", R"(\n \t \" \\ or \xNN)");
  at_ += length;
  return std::move(*value);
}

std::string_view TextReader::number_word() {
  skip();
  size_t end = at_;
  while (end < text_.size() && is_number(text_[end])) ++end;
  return text_.substr(at_, end - at_);
}

int64_t TextReader::integer() {
  const std::string_view word = number_word();
  const auto value = parse_int(word);
  if (!value) fail("not a number", "an integer of 64 bits");
  at_ += word.size();
  return *value;
}

double TextReader::real() {
  if (accept_word("bits")) {
    expect('(');
    const std::string_view word = number_word();
    uint64_t bits = 0;
    const auto r = std::from_chars(word.data() + std::min<size_t>(2, word.size()),
                                   word.data() + word.size(), bits, 16);
    if (word.substr(0, 2) != "0x" || r.ec != std::errc() || r.ptr != word.data() + word.size())
      fail("not the bits of a number", "0x and 16 digits");
    at_ += word.size();
    expect(')');
    return std::bit_cast<double>(bits);
  }
  const std::string_view word = number_word();
  const auto value = parse_double(word);
  if (!value) fail("not a number", "a number");
  at_ += word.size();
  return *value;
}

std::string_view TextReader::label() {
  expect('%');
  const size_t start = at_;
  while (at_ < text_.size() && is_label(text_[at_])) ++at_;
  if (at_ == start) fail("a value without a name", "letters or digits behind '%'");
  return text_.substr(start, at_ - start);
}

DType TextReader::dtype() {
  const std::string_view word = name("an element type");
  const DType found = find_dtype(word);
  if (!found.is_none() || word == "none") return found;
  std::vector<std::string_view> names;
  for (const DTypeInfo& row : kPlainTypes) names.push_back(row.name);
  for (const DTypeInfo& row : block_dtypes()) names.push_back(row.name);
  fail("unknown element type", word, "a type as f32 or q4_k" + did_you_mean(word, names));
}

Dim TextReader::dim(DimTable& dims) {
  skip();
  return dims.parse(text_, at_);
}

Shape TextReader::shape(DimTable& dims) {
  Shape out;
  list('[', ']', [&] { out.dims.push_back(dim(dims)); });
  return out;
}

Layout TextReader::layout() {
  Layout out;
  if (peek() != '@' || peek_second() == '"') return out;
  expect('@');
  const std::string_view kind = name("perm or block");
  std::vector<int64_t> numbers;
  list('(', ')', [&] { numbers.push_back(integer()); });
  if (kind == "perm") {
    out.kind = Layout::Kind::permuted;
    out.order = std::move(numbers);
  } else if (kind == "block" && numbers.size() == 2) {
    out.kind = Layout::Kind::blocked;
    out.axis = numbers[0];
    out.block = numbers[1];
  } else {
    fail("unknown layout", kind, "perm(axes) or block(axis, size)");
  }
  return out;
}

Type TextReader::type(DimTable& dims, int depth) {
  if (depth > kMaxDepth) fail("a type nested too deep", str("at most ", kMaxDepth));
  Type out;
  skip();
  const std::string_view word = leading_name(text_.substr(at_));
  const bool is_container = word == "seq" || word == "optional" || word == "map";
  if (!is_container) {
    out.dtype = dtype();
    out.shape = shape(dims);
    out.layout = layout();
    return out;
  }
  at_ += word.size();
  expect('(');
  DType key;
  if (word == "map") {
    key = dtype();
    expect(',');
  }
  out = Type::sequence(type(dims, depth + 1));
  out.dtype = key;
  if (word == "optional") out.kind = ValueKind::optional;
  if (word == "map") out.kind = ValueKind::map;
  expect(')');
  return out;
}

Tensor TextReader::tensor() {
  const DType element = dtype();
  if (element.is_none()) fail("a constant of no type", "none", "a type as f32 or q4_k");
  std::vector<int64_t> shape;
  list('[', ']', [&] { shape.push_back(integer()); });
  return peek() == 'x' ? bytes(element, std::move(shape)) : numbers(element, std::move(shape));
}

Tensor TextReader::numbers(DType dtype, std::vector<int64_t> shape) {
  if (!has_numbers(dtype)) fail("elements of this type are bytes", R"(x"...")");
  // Every element takes a character, so what does not fit the text is refused before it is
  // allocated.
  if (tensor_bytes(dtype, shape) / static_cast<size_t>(dtype.bytes()) > text_.size() - at_)
    fail("a constant that is larger than the text", "its elements");
  Tensor out(dtype, std::move(shape));
  const int64_t n = out.numel();
  int64_t i = 0;
  list('(', ')', [&] {
    const std::string_view word = number_word();
    if (i >= n) fail("too many elements", str(n));
    if (!read_element(dtype, word, out.data() + i * dtype.bytes()))
      fail("not an element of this type", dtype.name());
    at_ += word.size();
    ++i;
  });
  if (i != n) fail("too few elements", str(i), str(n));
  return out;
}

Tensor TextReader::bytes(DType dtype, std::vector<int64_t> shape) {
  expect('x');
  const size_t size = tensor_bytes(dtype, shape);
  if (at_ == text_.size() || text_[at_] != '"') fail("cannot read this", "bytes in quotes");
  const size_t start = at_ + 1, end = std::min(text_.find('"', start), text_.size());
  if ((end - start) / 2 != size || (end - start) % 2 != 0)
    fail("wrong number of bytes", str((end - start) / 2), str(size));
  Tensor out(dtype, std::move(shape));
  for (size_t i = 0; i < size; ++i) {
    const int high = hex_value(text_[start + 2 * i]), low = hex_value(text_[start + 2 * i + 1]);
    if (high < 0 || low < 0)
      fail("not a byte", text_.substr(start + 2 * i, 2), "two hexadecimal digits");
    out.data()[i] = static_cast<std::byte>(high * 16 + low);
  }
  at_ = end;
  expect('"');
  return out;
}

}  // namespace lamella
