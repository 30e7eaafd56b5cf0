// The tree of a template.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lamella/text/chat_template/operations.h"
#include "lamella/text/chat_template/value.h"

namespace lamella::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;
struct Statement;
using Block = std::vector<Statement>;

// The arguments of a call as written.
struct ArgumentList {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr star, star_star;  // *list, **dict
};

struct Literal {
  Value value;
};
struct Name {
  std::string name;
};
struct ListDisplay {
  std::vector<ExpressionPtr> items;
  bool tuple = false;
};
struct DictDisplay {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> items;
};
struct Member {
  ExpressionPtr of;
  std::string name;
};
struct Item {
  ExpressionPtr of, key;
};
struct Slice {
  ExpressionPtr of, start, stop, step;  // any of the last three may be null
};
struct CallExpression {
  ExpressionPtr function;
  ArgumentList arguments;
};
struct Filter {
  ExpressionPtr of;  // null in filter blocks: the block's text
  std::string name;
  ArgumentList arguments;
};
struct Test {
  ExpressionPtr of;
  std::string name;
  ArgumentList arguments;
};
struct Unary {
  char op = '-';  // - + !
  ExpressionPtr of;
};
struct Arithmetic {
  Value (*apply)(Meter&, const Value&, const Value&) = nullptr;
  ExpressionPtr left, right;
};
// a < b <= c: true if every pair is.
struct Comparison {
  enum class Op { eq, ne, lt, le, gt, ge, in, not_in };
  ExpressionPtr first;
  std::vector<std::pair<Op, ExpressionPtr>> rest;
};
struct Logic {
  bool is_and = false;
  ExpressionPtr left, right;
};
struct Concatenation {
  std::vector<ExpressionPtr> parts;
};
struct Conditional {
  ExpressionPtr condition, then, otherwise;  // otherwise may be null: undefined
};

struct Expression {
  using Data =
      std::variant<Literal, Name, ListDisplay, DictDisplay, Member, Item, Slice, CallExpression,
                   Filter, Test, Unary, Arithmetic, Comparison, Logic, Concatenation, Conditional>;
  Data data;
  int line = 1;
  int depth = 1;  // levels of the tree from here
};

struct Text {
  std::string text;
};
struct Output {
  ExpressionPtr value;
};
struct If {
  std::vector<std::pair<ExpressionPtr, Block>> branches;
  Block otherwise;
};
struct For {
  ExpressionPtr target, iterable, condition;  // condition may be null
  bool recursive = false;
  Block body, otherwise;
};
struct Set {
  ExpressionPtr target, value;
};
struct SetBlock {
  ExpressionPtr target;
  ExpressionPtr filter;  // a chain of Filter over the block's text; may be null
  Block body;
};
struct MacroDefinition {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<ExpressionPtr> defaults;  // of the last parameters
  // Whether the body names what takes further arguments.
  bool takes_varargs = false, takes_kwargs = false;
  Block body;
};
struct CallBlock {
  ExpressionPtr call;
  MacroDefinition caller;
};
struct FilterBlock {
  ExpressionPtr filter;
  Block body;
};
struct With {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> variables;  // target, value
  Block body;
};
struct Break {};
struct Continue {};
// Parts that only group: {% generation %}, {% autoescape %}.
struct Group {
  Block body;
};

struct Statement {
  using Data = std::variant<Text, Output, If, For, Set, SetBlock, MacroDefinition, CallBlock,
                            FilterBlock, With, Break, Continue, Group>;
  Data data;
  int line = 1;
};

}  // namespace lamella::jinja
