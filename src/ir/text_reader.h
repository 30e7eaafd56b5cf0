// Words, numbers, types and constants of the text form, with errors that name the line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lamella/base/error.h"
#include "lamella/ir/tensor.h"
#include "lamella/ir/type.h"

namespace lamella {

// A UserError that already names its line.
class TextError : public UserError {
 public:
  using UserError::UserError;
};

class TextReader {
 public:
  // Sub-graphs and types may be nested this deep.
  static constexpr int kMaxDepth = 32;

  explicit TextReader(std::string_view text) : text_(text) {}

  bool at_end() {
    skip();
    return at_ == text_.size();
  }
  // The next character, 0 at the end.
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  char peek_second() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool at_name();
  // Takes `word` where it stands as a whole name.
  bool accept_word(std::string_view word);
  void expect(char c);
  void expect_arrow();  // "->"

  // A bare name, or fails with what was wanted.
  std::string_view name(std::string_view want);
  std::string name_or_string(std::string_view want);
  std::string string();
  int64_t integer();
  double real();
  // Letters, digits and '_' behind a '%'.
  std::string_view label();

  DType dtype();
  Dim dim(DimTable& dims);
  Shape shape(DimTable& dims);
  Type type(DimTable& dims, int depth = 0);
  Tensor tensor();

  // `[`, items, `]`, or with other brackets; stops the run at the end of the text.
  template <class Item>
  void list(char open, char close, Item item) {
    expect(open);
    if (accept(close)) return;
    do item();
    while (accept(','));
    expect(close);
  }

  // Throws "ir text line 3: what; got 'next word'; want ...".
  [[noreturn]] void fail(std::string_view what, std::string_view want);
  // The same with the word that was wrong.
  [[noreturn]] void fail(std::string_view what, std::string_view got, std::string_view want) const;
  size_t at() const { return at_; }
  size_t line(size_t at) const;
  [[noreturn]] void fail_at(size_t at, std::string_view message) const;

 private:
  void skip();
  std::string_view number_word();
  Layout layout();
  Tensor numbers(DType dtype, std::vector<int64_t> shape);
  Tensor bytes(DType dtype, std::vector<int64_t> shape);

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace lamella
