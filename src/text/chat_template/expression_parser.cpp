// Implements chat_template/expression_parser.h, after Jinja's grammar: from the loosest binding to
// the tightest.
#include "lamella/text/chat_template/expression_parser.h"

#include <algorithm>
#include <array>

namespace lamella::jinja {
namespace {

using Kind = Token::Kind;

constexpr int kMaxDepth = 150;  // of trees, and of brackets within brackets

struct BinaryRow {
  std::string_view symbol;
  Value (*apply)(Meter&, const Value&, const Value&);
};
constexpr std::array<BinaryRow, 2> kSums = {{{"+", add}, {"-", subtract}}};
constexpr std::array<BinaryRow, 4> kProducts = {
    {{"*", multiply}, {"/", divide}, {"//", floor_divide}, {"%", modulo}}};

struct ComparisonRow {
  std::string_view symbol;
  Comparison::Op op;
};
constexpr std::array<ComparisonRow, 6> kComparisons = {{{"==", Comparison::Op::eq},
                                                        {"!=", Comparison::Op::ne},
                                                        {"<", Comparison::Op::lt},
                                                        {"<=", Comparison::Op::le},
                                                        {">", Comparison::Op::gt},
                                                        {">=", Comparison::Op::ge}}};

// The row whose symbol comes next, which is then taken; null if there is none.
template <class Rows>
const typename Rows::value_type* take_row(TokenStream& tokens, const Rows& rows) {
  for (const auto& row : rows)
    if (tokens.take_symbol(row.symbol)) return &row;
  return nullptr;
}

int depth_of(const ExpressionPtr& e) { return e ? e->depth : 0; }
int depth_of(const std::vector<ExpressionPtr>& list) {
  int depth = 0;
  for (const auto& e : list) depth = std::max(depth, depth_of(e));
  return depth;
}
int depth_of(const ArgumentList& a) {
  int depth = std::max({depth_of(a.positional), depth_of(a.star), depth_of(a.star_star)});
  for (const auto& [name, e] : a.named) depth = std::max(depth, depth_of(e));
  return depth;
}

// Of the deepest part of a node.
struct PartDepth {
  int operator()(const Literal&) { return 0; }
  int operator()(const Name&) { return 0; }
  int operator()(const ListDisplay& n) { return depth_of(n.items); }
  int operator()(const DictDisplay& n) {
    int depth = 0;
    for (const auto& [key, value] : n.items)
      depth = std::max({depth, depth_of(key), depth_of(value)});
    return depth;
  }
  int operator()(const Member& n) { return depth_of(n.of); }
  int operator()(const Item& n) { return std::max(depth_of(n.of), depth_of(n.key)); }
  int operator()(const Slice& n) {
    return std::max({depth_of(n.of), depth_of(n.start), depth_of(n.stop), depth_of(n.step)});
  }
  int operator()(const CallExpression& n) {
    return std::max(depth_of(n.function), depth_of(n.arguments));
  }
  int operator()(const Filter& n) { return std::max(depth_of(n.of), depth_of(n.arguments)); }
  int operator()(const Test& n) { return std::max(depth_of(n.of), depth_of(n.arguments)); }
  int operator()(const Unary& n) { return depth_of(n.of); }
  int operator()(const Arithmetic& n) { return std::max(depth_of(n.left), depth_of(n.right)); }
  int operator()(const Comparison& n) {
    int depth = depth_of(n.first);
    for (const auto& [op, e] : n.rest) depth = std::max(depth, depth_of(e));
    return depth;
  }
  int operator()(const Logic& n) { return std::max(depth_of(n.left), depth_of(n.right)); }
  int operator()(const Concatenation& n) { return depth_of(n.parts); }
  int operator()(const Conditional& n) {
    return std::max({depth_of(n.condition), depth_of(n.then), depth_of(n.otherwise)});
  }
};

}  // namespace

// Bounds the parser's own recursion.
struct ExpressionParser::Nested {
  explicit Nested(ExpressionParser& p) : parser(p) {
    if (++parser.open_ > kMaxDepth) {
      --parser.open_;
      parser.tokens_.fail("an expression is nested too deeply; want at most ", kMaxDepth,
                          " levels");
    }
  }
  ~Nested() { --parser.open_; }
  ExpressionParser& parser;
};

ExpressionPtr ExpressionParser::node(Expression::Data data, int line) {
  const int depth = std::visit(PartDepth(), data) + 1;
  if (depth > kMaxDepth)
    tokens_.fail("an expression is nested too deeply; want at most ", kMaxDepth, " levels");
  auto e = std::make_unique<Expression>();
  e->data = std::move(data);
  e->line = line;
  e->depth = depth;
  return e;
}

ExpressionPtr ExpressionParser::expression() {
  const Nested nested(*this);
  const int line = tokens_.line();
  ExpressionPtr value = logic_or();
  while (tokens_.take_name("if")) {
    ExpressionPtr condition = logic_or();
    ExpressionPtr otherwise = tokens_.take_name("else") ? expression() : nullptr;
    value = node(Conditional{std::move(condition), std::move(value), std::move(otherwise)}, line);
  }
  return value;
}

ExpressionPtr ExpressionParser::without_condition() { return logic_or(); }

ExpressionPtr ExpressionParser::tuple(bool with_condition) {
  const int line = tokens_.line();
  const auto one = [&] { return with_condition ? expression() : logic_or(); };
  const auto ends = [&] {
    return tokens_.at(Kind::block_end) || tokens_.at(Kind::output_end) || tokens_.at_symbol(")") ||
           tokens_.at_name("recursive") || (!with_condition && tokens_.at_name("if"));
  };
  ExpressionPtr first = one();
  if (!tokens_.at_symbol(",")) return first;
  ListDisplay display;
  display.tuple = true;
  display.items.push_back(std::move(first));
  while (tokens_.take_symbol(",") && !ends()) display.items.push_back(one());
  return node(std::move(display), line);
}

ExpressionPtr ExpressionParser::target(bool with_namespace) {
  const int line = tokens_.line();
  const auto one = [&]() -> ExpressionPtr {
    if (tokens_.take_symbol("(")) {
      const Nested nested(*this);
      ExpressionPtr inner = target(false);
      tokens_.expect_symbol(")");
      return inner;
    }
    const std::string name = tokens_.expect_name();
    static constexpr std::array<std::string_view, 6> kConstants = {"true", "false", "none",
                                                                   "True", "False", "None"};
    if (std::find(kConstants.begin(), kConstants.end(), name) != kConstants.end())
      tokens_.fail("cannot assign to '", name, "'");
    ExpressionPtr value = node(Name{name}, line);
    if (with_namespace && tokens_.take_symbol("."))
      value = node(Member{std::move(value), tokens_.expect_name()}, line);
    return value;
  };
  ExpressionPtr first = one();
  if (!tokens_.at_symbol(",")) return first;
  ListDisplay display;
  display.tuple = true;
  display.items.push_back(std::move(first));
  while (tokens_.take_symbol(",") && (tokens_.at(Kind::name) || tokens_.at_symbol("(")) &&
         !tokens_.at_name("in"))
    display.items.push_back(one());
  return node(std::move(display), line);
}

ExpressionPtr ExpressionParser::logic_or() {
  const int line = tokens_.line();
  ExpressionPtr left = logic_and();
  while (tokens_.take_name("or")) left = node(Logic{false, std::move(left), logic_and()}, line);
  return left;
}

ExpressionPtr ExpressionParser::logic_and() {
  const int line = tokens_.line();
  ExpressionPtr left = logic_not();
  while (tokens_.take_name("and")) left = node(Logic{true, std::move(left), logic_not()}, line);
  return left;
}

ExpressionPtr ExpressionParser::logic_not() {
  const Nested nested(*this);
  const int line = tokens_.line();
  if (tokens_.take_name("not")) return node(Unary{'!', logic_not()}, line);
  return comparison();
}

ExpressionPtr ExpressionParser::comparison() {
  const int line = tokens_.line();
  Comparison result;
  result.first = sum();
  while (true) {
    if (const ComparisonRow* row = take_row(tokens_, kComparisons)) {
      result.rest.emplace_back(row->op, sum());
    } else if (tokens_.take_name("in")) {
      result.rest.emplace_back(Comparison::Op::in, sum());
    } else if (tokens_.at_name("not") && tokens_.after().kind == Kind::name &&
               tokens_.after().text == "in") {
      tokens_.next();
      tokens_.next();
      result.rest.emplace_back(Comparison::Op::not_in, sum());
    } else {
      break;
    }
  }
  if (result.rest.empty()) return std::move(result.first);
  return node(std::move(result), line);
}

ExpressionPtr ExpressionParser::sum() {
  const int line = tokens_.line();
  ExpressionPtr left = concatenation();
  while (const BinaryRow* row = take_row(tokens_, kSums))
    left = node(Arithmetic{row->apply, std::move(left), concatenation()}, line);
  return left;
}

ExpressionPtr ExpressionParser::concatenation() {
  const int line = tokens_.line();
  ExpressionPtr first = product();
  if (!tokens_.at_symbol("~")) return first;
  Concatenation result;
  result.parts.push_back(std::move(first));
  while (tokens_.take_symbol("~")) result.parts.push_back(product());
  return node(std::move(result), line);
}

ExpressionPtr ExpressionParser::product() {
  const int line = tokens_.line();
  ExpressionPtr left = power();
  while (const BinaryRow* row = take_row(tokens_, kProducts))
    left = node(Arithmetic{row->apply, std::move(left), power()}, line);
  return left;
}

ExpressionPtr ExpressionParser::power() {
  const int line = tokens_.line();
  ExpressionPtr left = unary(true);
  while (tokens_.take_symbol("**"))
    left = node(Arithmetic{jinja::power, std::move(left), unary(true)}, line);
  return left;
}

ExpressionPtr ExpressionParser::unary(bool with_filters) {
  const Nested nested(*this);
  const int line = tokens_.line();
  ExpressionPtr value;
  if (tokens_.take_symbol("-")) {
    value = node(Unary{'-', unary(false)}, line);
  } else if (tokens_.take_symbol("+")) {
    value = node(Unary{'+', unary(false)}, line);
  } else {
    value = primary();
  }
  value = postfix(std::move(value));
  return with_filters ? filters_and_tests(std::move(value)) : std::move(value);
}

ExpressionPtr ExpressionParser::primary() {
  const int line = tokens_.line();
  if (tokens_.at_symbol("(")) return parenthesised();
  if (tokens_.at_symbol("[")) return list();
  if (tokens_.at_symbol("{")) return dict();
  if (tokens_.at(Kind::string)) return strings();
  if (tokens_.at(Kind::integer)) return node(Literal{tokens_.next().integer}, line);
  if (tokens_.at(Kind::real)) return node(Literal{tokens_.next().real}, line);
  if (!tokens_.at(Kind::name)) tokens_.fail_expected("an expression");
  const std::string name = tokens_.next().text;
  if (name == "true" || name == "True") return node(Literal{true}, line);
  if (name == "false" || name == "False") return node(Literal{false}, line);
  if (name == "none" || name == "None") return node(Literal{None{}}, line);
  return node(Name{name}, line);
}

// Strings that follow each other are one.
ExpressionPtr ExpressionParser::strings() {
  const int line = tokens_.line();
  std::string text;
  while (tokens_.at(Kind::string)) text += tokens_.next().text;
  return node(Literal{Value::constant(std::move(text))}, line);
}

ExpressionPtr ExpressionParser::parenthesised() {
  const int line = tokens_.line();
  tokens_.expect_symbol("(");
  if (tokens_.take_symbol(")")) {
    ListDisplay empty;
    empty.tuple = true;
    return node(std::move(empty), line);
  }
  ExpressionPtr value = tuple();
  tokens_.expect_symbol(")");
  return value;
}

ExpressionPtr ExpressionParser::list() {
  const int line = tokens_.line();
  tokens_.expect_symbol("[");
  ListDisplay display;
  while (!tokens_.at_symbol("]")) {
    display.items.push_back(expression());
    if (!tokens_.take_symbol(",")) break;
  }
  tokens_.expect_symbol("]");
  return node(std::move(display), line);
}

ExpressionPtr ExpressionParser::dict() {
  const int line = tokens_.line();
  tokens_.expect_symbol("{");
  DictDisplay display;
  while (!tokens_.at_symbol("}")) {
    ExpressionPtr key = expression();
    tokens_.expect_symbol(":");
    display.items.emplace_back(std::move(key), expression());
    if (!tokens_.take_symbol(",")) break;
  }
  tokens_.expect_symbol("}");
  return node(std::move(display), line);
}

ExpressionPtr ExpressionParser::postfix(ExpressionPtr of) {
  while (true) {
    const int line = tokens_.line();
    if (tokens_.at_symbol(".")) {
      of = member(std::move(of));
    } else if (tokens_.at_symbol("[")) {
      of = subscript(std::move(of));
    } else if (tokens_.at_symbol("(")) {
      ArgumentList list = arguments();
      of = node(CallExpression{std::move(of), std::move(list)}, line);
    } else {
      return of;
    }
  }
}

ExpressionPtr ExpressionParser::member(ExpressionPtr of) {
  const int line = tokens_.line();
  tokens_.expect_symbol(".");
  if (tokens_.at(Kind::integer)) {
    ExpressionPtr key = node(Literal{tokens_.next().integer}, line);
    return node(Item{std::move(of), std::move(key)}, line);
  }
  return node(Member{std::move(of), tokens_.expect_name()}, line);
}

ExpressionPtr ExpressionParser::subscript(ExpressionPtr of) {
  const Nested nested(*this);
  const int line = tokens_.line();
  tokens_.expect_symbol("[");
  const auto at_end = [&] { return tokens_.at_symbol(":") || tokens_.at_symbol("]"); };
  ExpressionPtr first = at_end() ? nullptr : expression();
  if (!tokens_.at_symbol(":")) {
    if (!first) tokens_.fail_expected("an index");
    if (tokens_.at_symbol(",")) {
      ListDisplay key;
      key.tuple = true;
      key.items.push_back(std::move(first));
      while (tokens_.take_symbol(",")) key.items.push_back(expression());
      first = node(std::move(key), line);
    }
    tokens_.expect_symbol("]");
    return node(Item{std::move(of), std::move(first)}, line);
  }
  Slice slice;
  slice.of = std::move(of);
  slice.start = std::move(first);
  tokens_.expect_symbol(":");
  if (!at_end()) slice.stop = expression();
  if (tokens_.take_symbol(":") && !at_end()) slice.step = expression();
  tokens_.expect_symbol("]");
  return node(std::move(slice), line);
}

ExpressionPtr ExpressionParser::filters_and_tests(ExpressionPtr of) {
  while (true) {
    const int line = tokens_.line();
    if (tokens_.take_symbol("|")) {
      of = filters(std::move(of));
    } else if (tokens_.at_name("is")) {
      of = test(std::move(of));
    } else if (tokens_.at_symbol("(")) {
      ArgumentList list = arguments();
      of = node(CallExpression{std::move(of), std::move(list)}, line);
    } else {
      return of;
    }
  }
}

ExpressionPtr ExpressionParser::filters(ExpressionPtr of) {
  do {
    const int line = tokens_.line();
    Filter filter;
    filter.of = std::move(of);
    filter.name = tokens_.expect_name();
    while (tokens_.take_symbol(".")) filter.name += "." + tokens_.expect_name();
    if (tokens_.at_symbol("(")) filter.arguments = arguments();
    of = node(std::move(filter), line);
  } while (tokens_.take_symbol("|"));
  return of;
}

ExpressionPtr ExpressionParser::test(ExpressionPtr of) {
  const int line = tokens_.line();
  tokens_.next();  // "is"
  const bool negated = tokens_.take_name("not");
  Test test;
  test.of = std::move(of);
  test.name = tokens_.expect_name();
  while (tokens_.take_symbol(".")) test.name += "." + tokens_.expect_name();
  const bool value_follows = tokens_.at(Kind::string) || tokens_.at(Kind::integer) ||
                             tokens_.at(Kind::real) || tokens_.at_symbol("[") ||
                             tokens_.at_symbol("{") || tokens_.at(Kind::name);
  const bool word_follows = tokens_.at_name("else") || tokens_.at_name("or") ||
                            tokens_.at_name("and") || tokens_.at_name("if") ||
                            tokens_.at_name("is") || tokens_.at_name("in") ||
                            tokens_.at_name("not") || tokens_.at_name("recursive");
  if (tokens_.at_symbol("(")) {
    test.arguments = arguments();
  } else if (value_follows && !word_follows) {
    const Nested nested(*this);
    ExpressionPtr value = primary();
    test.arguments.positional.push_back(postfix(std::move(value)));
  }
  ExpressionPtr result = node(std::move(test), line);
  return negated ? node(Unary{'!', std::move(result)}, line) : std::move(result);
}

ArgumentList ExpressionParser::arguments() {
  const Nested nested(*this);
  tokens_.expect_symbol("(");
  ArgumentList list;
  while (!tokens_.at_symbol(")")) {
    if (tokens_.take_symbol("*")) {
      list.star = expression();
    } else if (tokens_.take_symbol("**")) {
      list.star_star = expression();
    } else if (tokens_.at(Kind::name) && tokens_.after().kind == Kind::symbol &&
               tokens_.after().text == "=") {
      std::string name = tokens_.next().text;
      tokens_.next();
      list.named.emplace_back(std::move(name), expression());
    } else {
      if (!list.named.empty() || list.star || list.star_star)
        tokens_.fail("a positional argument comes after a named one");
      list.positional.push_back(expression());
    }
    if (!tokens_.take_symbol(",")) break;
  }
  tokens_.expect_symbol(")");
  return list;
}

}  // namespace lamella::jinja
