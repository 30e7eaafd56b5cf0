// The parser's view of the tokens.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/text/chat_template/lexer.h"

namespace lamella::jinja {

class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& after() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  int line() const { return current().line; }

  Token next() {
    Token token = current();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }

  bool at(Token::Kind kind) const { return current().kind == kind; }
  bool at_symbol(std::string_view text) const { return is(Token::Kind::symbol, text); }
  bool at_name(std::string_view text) const { return is(Token::Kind::name, text); }

  bool take_symbol(std::string_view text) { return take(at_symbol(text)); }
  bool take_name(std::string_view text) { return take(at_name(text)); }

  void expect_symbol(std::string_view text) {
    if (!take_symbol(text)) fail_expected(str("'", text, "'"));
  }
  void expect(Token::Kind kind, std::string_view what) {
    if (!take(at(kind))) fail_expected(what);
  }
  std::string expect_name() {
    if (!at(Token::Kind::name)) fail_expected("a name");
    return next().text;
  }

  size_t position() const { return at_; }
  // Whether the name `text` stands between `from` and here.
  bool mentions(size_t from, std::string_view text) const {
    for (size_t i = from; i < at_; ++i)
      if (tokens_[i].kind == Token::Kind::name && tokens_[i].text == text) return true;
    return false;
  }

  template <class... Args>
  [[noreturn]] void fail(const Args&... message) const {
    throw UserError(str("chat template, line ", line(), ": ", message...));
  }
  [[noreturn]] void fail_expected(std::string_view what) const {
    fail("unexpected ",
         at(Token::Kind::end) ? std::string("end of the template")
                              : str("'", printable(current().text, 60), "'"),
         "; want ", what);
  }

 private:
  bool is(Token::Kind kind, std::string_view text) const {
    return current().kind == kind && current().text == text;
  }
  bool take(bool fits) {
    if (fits) next();
    return fits;
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace lamella::jinja
