// Implements chat_template/parser.h: the statements.
#include "lamella/text/chat_template/parser.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "lamella/text/chat_template/expression_parser.h"

namespace lamella::jinja {
namespace {

using Kind = Token::Kind;

constexpr int kMaxBlocks = 60;  // within one another

class StatementParser {
 public:
  explicit StatementParser(std::string_view source)
      : tokens_(tokenize_template(source)), expressions_(tokens_) {}

  Block run() {
    Block block = body({});
    if (!tokens_.at(Kind::end)) tokens_.fail_expected("the end of the template");
    return block;
  }

 private:
  using Words = std::initializer_list<std::string_view>;
  struct Row {
    std::string_view name;
    Statement::Data (StatementParser::*parse)();
  };
  static const std::array<Row, 11> kRows;

  // Statements up to a tag whose first word is one of `ends`, which becomes the current token.
  Block body(Words ends) {
    if (++open_ > kMaxBlocks)
      tokens_.fail("blocks are nested too deeply; want at most ", kMaxBlocks, " levels");
    Block block;
    while (!tokens_.at(Kind::end)) {
      const int line = tokens_.line();
      if (tokens_.at(Kind::text)) {
        block.push_back({Text{tokens_.next().text}, line});
      } else if (tokens_.at(Kind::output_begin)) {
        tokens_.next();
        block.push_back({Output{expressions_.tuple()}, line});
        tokens_.expect(Kind::output_end, "'}}'");
      } else {
        tokens_.expect(Kind::block_begin, "'{%'");
        if (std::any_of(ends.begin(), ends.end(), [&](auto w) { return tokens_.at_name(w); }))
          break;
        block.push_back({statement(), line});
      }
    }
    --open_;
    return block;
  }

  // The body of a block statement, from its "%}" to `end`, which is taken too.
  Block body_until(std::string_view end) {
    const int line = tokens_.line();
    end_of_tag();
    Block block = body({end});
    close(end, line);
    return block;
  }

  void close(std::string_view end, int line) {
    if (!tokens_.take_name(end))
      tokens_.fail("a block has no end; want '{% ", end, " %}' for the one of line ", line);
    end_of_tag();
  }

  void end_of_tag() { tokens_.expect(Kind::block_end, "'%}'"); }

  Statement::Data statement() {
    if (!tokens_.at(Kind::name)) tokens_.fail_expected("the name of a statement");
    std::vector<std::string_view> names;
    for (const Row& row : kRows) {
      if (tokens_.take_name(row.name)) return (this->*row.parse)();
      names.push_back(row.name);
    }
    const std::string& got = tokens_.current().text;
    tokens_.fail("unknown statement; got '", printable(got, 60), "'; want one of ",
                 join(names, ", "), did_you_mean(got, names));
  }

  Statement::Data if_statement() {
    If result;
    const int line = tokens_.line();
    while (true) {
      ExpressionPtr condition = expressions_.tuple(false);
      end_of_tag();
      result.branches.emplace_back(std::move(condition), body({"elif", "else", "endif"}));
      if (!tokens_.take_name("elif")) break;
    }
    if (tokens_.take_name("else")) {
      end_of_tag();
      result.otherwise = body({"endif"});
    }
    close("endif", line);
    return result;
  }

  Statement::Data for_statement() {
    For result;
    const int line = tokens_.line();
    result.target = expressions_.target(false);
    if (!tokens_.take_name("in")) tokens_.fail_expected("'in'");
    result.iterable = expressions_.tuple(false);
    if (tokens_.take_name("if")) result.condition = expressions_.expression();
    result.recursive = tokens_.take_name("recursive");
    end_of_tag();
    result.body = body({"else", "endfor"});
    if (tokens_.take_name("else")) {
      end_of_tag();
      result.otherwise = body({"endfor"});
    }
    close("endfor", line);
    return result;
  }

  Statement::Data set_statement() {
    ExpressionPtr target = expressions_.target(true);
    if (tokens_.take_symbol("=")) {
      ExpressionPtr value = expressions_.tuple();
      end_of_tag();
      return Set{std::move(target), std::move(value)};
    }
    SetBlock result;
    result.target = std::move(target);
    if (tokens_.take_symbol("|")) result.filter = expressions_.filters(nullptr);
    result.body = body_until("endset");
    return result;
  }

  // "(a, b=1)", from "(" to ")".
  void signature(MacroDefinition& macro) {
    tokens_.expect_symbol("(");
    while (!tokens_.at_symbol(")")) {
      macro.parameters.push_back(tokens_.expect_name());
      if (tokens_.take_symbol("=")) {
        macro.defaults.push_back(expressions_.expression());
      } else if (!macro.defaults.empty()) {
        tokens_.fail("non-default argument follows default argument");
      }
      if (!tokens_.take_symbol(",")) break;
    }
    tokens_.expect_symbol(")");
  }

  Statement::Data macro_statement() {
    MacroDefinition macro;
    macro.name = tokens_.expect_name();
    signature(macro);
    const size_t start = tokens_.position();
    macro.body = body_until("endmacro");
    macro.takes_varargs = tokens_.mentions(start, "varargs");
    macro.takes_kwargs = tokens_.mentions(start, "kwargs");
    return macro;
  }

  Statement::Data call_statement() {
    CallBlock result;
    result.caller.name = "caller";
    if (tokens_.at_symbol("(")) signature(result.caller);
    result.call = expressions_.expression();
    if (!std::holds_alternative<CallExpression>(result.call->data)) tokens_.fail_expected("a call");
    result.caller.body = body_until("endcall");
    return result;
  }

  Statement::Data filter_statement() {
    FilterBlock result;
    result.filter = expressions_.filters(nullptr);
    result.body = body_until("endfilter");
    return result;
  }

  Statement::Data with_statement() {
    With result;
    while (!tokens_.at(Kind::block_end)) {
      ExpressionPtr target = expressions_.target(false);
      tokens_.expect_symbol("=");
      result.variables.emplace_back(std::move(target), expressions_.expression());
      if (!tokens_.take_symbol(",")) break;
    }
    result.body = body_until("endwith");
    return result;
  }

  Statement::Data break_statement() {
    end_of_tag();
    return Break{};
  }
  Statement::Data continue_statement() {
    end_of_tag();
    return Continue{};
  }
  // Marks what a model is trained on; says nothing about the text.
  Statement::Data generation_statement() { return Group{body_until("endgeneration")}; }
  Statement::Data autoescape_statement() {
    expressions_.expression();
    return Group{body_until("endautoescape")};
  }

  TokenStream tokens_;
  ExpressionParser expressions_;
  int open_ = 0;
};

const std::array<StatementParser::Row, 11> StatementParser::kRows = {{
    {"autoescape", &StatementParser::autoescape_statement},
    {"break", &StatementParser::break_statement},
    {"call", &StatementParser::call_statement},
    {"continue", &StatementParser::continue_statement},
    {"filter", &StatementParser::filter_statement},
    {"for", &StatementParser::for_statement},
    {"generation", &StatementParser::generation_statement},
    {"if", &StatementParser::if_statement},
    {"macro", &StatementParser::macro_statement},
    {"set", &StatementParser::set_statement},
    {"with", &StatementParser::with_statement},
}};

}  // namespace

Block parse_template(std::string_view source) { return StatementParser(source).run(); }

}  // namespace lamella::jinja
