#include "lamella/text/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "lamella/base/error.h"
#include "lamella/frontends/gguf/gguf.h"
#include "lamella/lm/gguf_text.h"
#include "tests/support/cpu_time.h"
#include "tests/support/golden.h"
#include "tests/text/vocabularies.h"

namespace lamella {
namespace {

using testing::HasSubstr;
using Json = nlohmann::ordered_json;

std::vector<Message> messages_of(const Json& list) {
  std::vector<Message> messages;
  for (const Json& entry : list) {
    Message m;
    Json more = Json::object();
    for (const auto& [key, value] : entry.items()) {
      if (key == "role")
        m.role = value.get<std::string>();
      else if (key == "content" && value.is_string())
        m.content = value.get<std::string>();
      else
        more[key] = value;
    }
    if (!more.empty()) m.more_json = more.dump();
    messages.push_back(std::move(m));
  }
  return messages;
}

// 2026-03-05 14:07:09, wherever we are.
int64_t march_2026() {
  std::tm when{};
  when.tm_year = 126;
  when.tm_mon = 2;
  when.tm_mday = 5;
  when.tm_hour = 14;
  when.tm_min = 7;
  when.tm_sec = 9;
  when.tm_isdst = -1;
  return std::mktime(&when);
}

std::string error_of(const std::string& source, const std::vector<Message>& messages = {},
                     RenderOptions options = {}) {
  try {
    return "no error, but '" + ChatTemplate(source).render(messages, options) + "'";
  } catch (const UserError& error) {
    return error.what();
  }
}

std::string render(const std::string& source) { return ChatTemplate(source).render({}); }

void agree_with_jinja2(const std::string& golden_file) {
  std::ifstream file(golden_path(golden_file));
  const Json golden = Json::parse(file);
  for (const Json& c : golden.at("cases")) {
    const auto name = c.at("template").get<std::string>();
    const auto source = golden.at("templates").at(name).get<std::string>();
    SCOPED_TRACE(name + " with " + c.at("messages").get<std::string>() + "\n" + source);
    RenderOptions options;
    options.bos_token = "<s>";
    options.eos_token = "</s>";
    options.now = march_2026();
    if (c.at("tools").get<bool>()) options.tools_json = golden.at("tools").dump();
    options.variables_json = c.at("variables").dump();
    options.add_generation_prompt = c.value("add_generation_prompt", true);
    const auto messages =
        messages_of(golden.at("conversations").at(c.at("messages").get<std::string>()));
    if (c.contains("error")) {
      EXPECT_THROW(ChatTemplate(source).render(messages, options), UserError);
      continue;
    }
    try {
      EXPECT_EQ(ChatTemplate(source).render(messages, options), c.at("want").get<std::string>());
    } catch (const UserError& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(ChatTemplate, AgreesWithJinja2) { agree_with_jinja2("chat_template/cases.json"); }

// Stand-ins of the templates of 34 families.
TEST(ChatTemplate, AgreesWithJinja2OnStyles) { agree_with_jinja2("chat_template/styles.json"); }

TEST(ChatTemplate, ReachesForAttributesAreRefused) {
  for (const char* source :
       {"{{ ''.__class__.__mro__ }}", "{{ [].__class__.__base__.__subclasses__() }}",
        "{{ ''['__class__']['__mro__'] }}", "{{ (''|attr('__class__')).x }}",
        "{{ messages.__init__.__globals__ }}", "{{ namespace.__call__.x }}",
        "{{ range.__self__.x }}", "{% set x = cycler.__init__.__globals__.os %}"})
    EXPECT_THAT(error_of(source, {{"user", "", ""}}), HasSubstr("is refused")) << source;
  EXPECT_THAT(error_of("{{ self.x }}"), HasSubstr("'self'"));
  EXPECT_THAT(error_of("{% include 'x' %}"), HasSubstr("unknown statement; got 'include'"));
  EXPECT_THAT(error_of("{% import 'x' as y %}"), HasSubstr("unknown statement; got 'import'"));
}

TEST(ChatTemplate, OfSmolLm2) {
  const auto path = test::smollm2();
  const auto folder = test::full_golden_dir();
  if (!path || !folder) GTEST_SKIP() << "no SmolLM2 or no golden runs here";
  const ChatTemplate chat(read_chat_template(gguf::Gguf::open(path->string())));
  int n_chats = 0;
  const auto runs = read_json(*folder / "smollm2/greedy.json");
  for (const auto& run : runs.at("runs")) {
    if (run.at("kind") != "chat") continue;
    ++n_chats;
    EXPECT_EQ(chat.render({{"user", run.at("user").get<std::string>(), ""}}),
              run.at("text").get<std::string>());
  }
  EXPECT_GT(n_chats, 0);
}

TEST(ChatTemplate, NamesLineGotAndNearName) {
  EXPECT_THAT(error_of("a\n{{ x|uper }}"), HasSubstr("line 2: unknown filter; got 'uper'"));
  EXPECT_THAT(error_of("a\n{{ x|uper }}"), HasSubstr("did you mean 'upper'"));
  EXPECT_THAT(error_of("{{ x is definde }}"), HasSubstr("did you mean 'defined'"));
  EXPECT_THAT(error_of("{{ x|filesizeformat(true) }}"),
              HasSubstr("wants a number; got 'Undefined'"));
  EXPECT_THAT(error_of("\n\n{{ raise_exeption('x') }}"),
              HasSubstr("line 3: unknown function; got 'raise_exeption'"));
  EXPECT_THAT(error_of("{{ raise_exeption('x') }}"), HasSubstr("did you mean 'raise_exception'"));
  EXPECT_THAT(error_of("{% iff x %}"), HasSubstr("unknown statement; got 'iff'"));
  EXPECT_THAT(error_of("{{ 'x'|indent(widht=3) }}"), HasSubstr("did you mean 'width'"));
  EXPECT_THAT(error_of("{{ 'a'.foo() }}"), HasSubstr("'str object' has no member 'foo'"));
  EXPECT_THAT(error_of("{{ nothing.x }}"), HasSubstr("'nothing' is undefined"));
  EXPECT_THAT(error_of("{{ raise_exception('no \"system\"') }}"),
              HasSubstr("refuses this conversation: no \"system\""));
  EXPECT_THAT(error_of("{{ 'a' + 1 }}"), HasSubstr("got 'str' and 'int'"));
  EXPECT_THAT(error_of("{{ 1 / 0 }}"), HasSubstr("division by zero"));
  EXPECT_THAT(error_of("{{ [1].append(2) }}"), HasSubstr("values do not change"));
  EXPECT_THAT(error_of("{% for a, b in [1] %}{% endfor %}"),
              HasSubstr("'int' object is not iterable"));
  EXPECT_THAT(error_of("{% set x.y = 1 %}"), HasSubstr("non-namespace"));
}

TEST(ChatTemplate, SyntaxErrorsHaveLines) {
  EXPECT_THAT(error_of("\n{% if x %}"), HasSubstr("want '{% endif %}' for the one of line 2"));
  EXPECT_THAT(error_of("\n{{ x "), HasSubstr("line 2: a tag has no end; want '}}'"));
  EXPECT_THAT(error_of("{{ 'x }}"), HasSubstr("a string has no end"));
  EXPECT_THAT(error_of("{# x"), HasSubstr("a comment has no end"));
  EXPECT_THAT(error_of("{% raw %} x"), HasSubstr("a raw block has no end"));
  EXPECT_THAT(error_of("{{ (1 }}"), HasSubstr("brackets do not match"));
  EXPECT_THAT(error_of("{{ 1 + }}"), HasSubstr("unexpected '}}'; want an expression"));
  EXPECT_THAT(error_of("{{ $ }}"), HasSubstr("unexpected character; got '$'"));
  EXPECT_THAT(error_of("{% endfor %}"), HasSubstr("unknown statement; got 'endfor'"));
  EXPECT_THAT(error_of("{{ 99999999999999999999 }}"), HasSubstr("too large"));
}

// Each is an error within a second, in little memory.
TEST(ChatTemplate, WhatDoesNotEndIsAnError) {
  const std::string loop = "{% for a in range(99999) %}{% for b in range(99999) %}";
  const auto nested = [](const char* open, const char* close) {
    std::string text = "{{ ";
    for (int i = 0; i < 2000; ++i) text += open;
    text += "1";
    for (int i = 0; i < 2000; ++i) text += close;
    return text + " }}";
  };
  const std::vector<std::pair<std::string, const char*>> cases = {
      {loop + "{% endfor %}{% endfor %}", "got more than"},
      {loop + "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{% endfor %}{% endfor %}", "too much text"},
      {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "nested too deeply"},
      {"{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% "
       "endfor %}",
       "too much text"},
      {"{% set ns = namespace(x=[]) %}{% for i in range(99999) %}{% set ns.x = [ns.x] %}{% endfor "
       "%}",
       "nested too deeply"},
      {"{% set ns = namespace(x=[]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% "
       "endfor %}{{ ns.x }}",
       "got more than"},
      {"{% set ns = namespace(x=[]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% "
       "endfor %}{{ ns.x == ns.x[0] }}{% set ns.y = [] %}{% for i in range(60) %}{% set ns.y = "
       "[ns.y, ns.y] %}{% endfor %}{{ ns.x == ns.y }}",
       "does not end"},
      {"{{ 'x' * 99999999999 }}", "too much text"},
      {"{{ 'x'.center(99999999999) }}", "too much text"},
      {"{{ '%99999999d' % 1 }}", "width is too large"},
      {"{{ 'x'|indent(99999999999) }}", "too much text"},
      {"{{ range(999999999) }}", "range is too long"},
      {nested("(", ")"), "nested too deeply"},
      {nested("[", "]"), "nested too deeply"},
      {nested("-", ""), "nested too deeply"},
      {nested("not ", ""), "nested too deeply"},
      {nested("", " + 1"), "nested too deeply"},
      {nested("", "[0]"), "nested too deeply"},
      {nested("", "|abs"), "nested too deeply"},
      {nested("1 if 1 else ", ""), "nested too deeply"},
      {nested("{1:", "}"), "nested too deeply"},
      {nested("f(", ")"), "nested too deeply"},
      {nested("", ".a"), "nested too deeply"},
      {[] {
         std::string s;
         for (int i = 0; i < 500; ++i) s += "{% if 1 %}";
         return s;
       }(),
       "nested too deeply"},
      {"{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}", "nested too deeply"},
      {"{{ 9223372036854775807 + 1 }}", "too large"},
      {"{{ 10 ** 99 }}", "too large"},
  };
  for (const auto& [source, message] : cases) {
    const double start = test::cpu_seconds();
    EXPECT_THAT(error_of(source), HasSubstr(message)) << source.substr(0, 200);
    EXPECT_LT(test::cpu_seconds() - start, 10.0) << source.substr(0, 200);
  }
}

TEST(ChatTemplate, LimitsAreTheCallers) {
  RenderOptions small;
  small.max_output_bytes = 10;
  EXPECT_THAT(error_of("0123456789{{ 'x' }}", {}, small), HasSubstr("output is too long"));
  small.max_steps = 100;
  EXPECT_THAT(error_of("{% for i in range(5000) %}{{ i }}{% endfor %}", {}, small),
              HasSubstr("got more than"));
}

TEST(ChatTemplate, ValuesThatHoldEachOtherAreFreed) {
  EXPECT_EQ(render("{% set a = namespace() %}{% set b = namespace(a=a) %}{% set a.b = b %}{% set "
                   "a.l = [a, b] %}ok"),
            "ok");
  EXPECT_EQ(render("{% set ns = namespace(p=none) %}{% for i in range(20000) %}{% set n = "
                   "namespace(p=ns.p) %}{% set ns.p = n %}{% endfor %}ok"),
            "ok");
  EXPECT_EQ(render("{% set ns = namespace() %}{% for i in [1,2] %}{% set ns.l = loop %}{% set ns.f "
                   "= loop.cycle %}{% endfor %}{{ ns.l.index }}{{ ns.f('a', 'b') }}"),
            "2b");
  EXPECT_EQ(render("{% set n = cycler('a', 'b').next %}{{ n() }}{{ n() }}"), "ab");
}

TEST(ChatTemplate, BytesThatAreNotUtf8Pass) {
  EXPECT_EQ(ChatTemplate("\xFF{{ messages[0].content }}\xC3")
                .render({{"user",
                          "a\x80"
                          "b",
                          ""}}),
            "\xFF"
            "a\x80"
            "b\xC3");
  EXPECT_EQ(render("{{ 'a\xFF"
                   "b'|length }}{{ 'a\xFF"
                   "b'[1] }}{{ 'a\xFF'|upper }}"),
            "3\xFF"
            "A\xFF");
  EXPECT_EQ(render("{{ ['\xFF']|string|length }}"), "10");  // ['\udcff'], as Python's repr has it
}

TEST(ChatTemplate, BadJsonIsNamed) {
  RenderOptions options;
  options.tools_json = "[1,";
  EXPECT_THAT(error_of("x", {}, options), HasSubstr("tools: not JSON"));
  options.tools_json = std::string(5000, '[');
  EXPECT_THAT(error_of("x", {}, options), HasSubstr("tools: JSON is nested too deeply; got 5000"));
  options.tools_json.clear();
  options.variables_json = "[]";
  EXPECT_THAT(error_of("x", {}, options),
              HasSubstr("template variables: no JSON object; got list"));
  EXPECT_THAT(error_of("x", {{"user", "", "1"}}), HasSubstr("message 0"));
}

}  // namespace
}  // namespace lamella
