// Parses the expressions of a template.
#pragma once

#include "lamella/text/chat_template/ast.h"
#include "lamella/text/chat_template/token_stream.h"

namespace lamella::jinja {

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  // A whole expression, with `x if c else y`.
  ExpressionPtr expression();
  // One without a condition of its own: what a `for` loops over.
  ExpressionPtr without_condition();
  // One or more, separated by commas: a tuple if there is more than one.
  ExpressionPtr tuple(bool with_condition = true);
  // What can be assigned to: names, and members of a namespace where allowed.
  ExpressionPtr target(bool with_namespace);
  // Call arguments, from "(" to ")".
  ArgumentList arguments();
  // A chain of filters over `of`, which may be null: `name|name(...)`, its first "|" already read.
  ExpressionPtr filters(ExpressionPtr of);

  // `data` as a node at `line`. Counts its depth.
  ExpressionPtr node(Expression::Data data, int line);

 private:
  ExpressionPtr logic_or();
  ExpressionPtr logic_and();
  ExpressionPtr logic_not();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr unary(bool with_filters);
  ExpressionPtr primary();
  ExpressionPtr postfix(ExpressionPtr of);
  ExpressionPtr filters_and_tests(ExpressionPtr of);
  ExpressionPtr test(ExpressionPtr of);
  ExpressionPtr subscript(ExpressionPtr of);
  ExpressionPtr member(ExpressionPtr of);
  ExpressionPtr parenthesised();
  ExpressionPtr list();
  ExpressionPtr dict();
  ExpressionPtr strings();

  struct Nested;
  TokenStream& tokens_;
  int open_ = 0;  // calls of this parser within one another
};

}  // namespace lamella::jinja
