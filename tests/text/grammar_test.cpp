#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <regex>

#include "lamella/base/error.h"
#include "lamella/lm/language_model.h"
#include "lamella/text/grammar/grammar_filter.h"
#include "lamella/text/utf8.h"
#include "tests/text/vocabularies.h"

namespace lamella {
namespace {

using testing::HasSubstr;

// RFC 8259.
constexpr std::string_view kJson = R"(
root   ::= ws value ws
value  ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (pair (ws "," ws pair)*)? ws "}"
pair   ::= string ws ":" ws value
array  ::= "[" ws (value (ws "," ws value)*)? ws "]"
string ::= "\"" ([^"\\\x00-\x1F] | "\\" escape)* "\""
escape ::= ["\\/bfnrt] | "u" ([0-9a-cA-Ce-fE-F] hex{3} | low-half |
           [dD] [89abAB] hex{2} "\\u" [dD] [c-fC-F] hex{2})   # no half of a pair alone
low-half ::= [dD] [0-7] hex hex
hex    ::= [0-9a-fA-F]
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
ws     ::= [ \t\n\r]*
)";

std::shared_ptr<const Grammar> grammar(std::string_view text) {
  return std::make_shared<const Grammar>(text);
}

bool matches(GrammarMatcher& m, std::string_view text) {
  uint32_t state = m.start();
  m.renew_effort();
  for (const char c : text) state = m.step(state, static_cast<uint8_t>(c));
  return m.accepts(state);
}

bool matches(std::string_view rules, std::string_view text) {
  GrammarMatcher m(grammar(rules));
  return matches(m, text);
}

TEST(Grammar, TakesWhatItSays) {
  constexpr std::string_view kNested = "root ::= \"(\" root \")\" | \"\"";
  EXPECT_TRUE(matches(kNested, ""));
  EXPECT_TRUE(matches(kNested, "((()))"));
  EXPECT_FALSE(matches(kNested, "((())"));
  constexpr std::string_view kEmpty = "root ::= a b\na ::= \"x\"?\nb ::= a a \"y\"*";
  EXPECT_TRUE(matches(kEmpty, "xxxyy"));
  EXPECT_TRUE(matches(kEmpty, ""));
  EXPECT_FALSE(matches(kEmpty, "xxxx"));
  constexpr std::string_view kSpread =
      "# first\r\nroot ::=\n  \"a\" |\n  (\n \"b\" # c\n | \"c\" )+";
  EXPECT_TRUE(matches(kSpread, "bcb"));
  EXPECT_FALSE(matches(kSpread, "ab"));
  EXPECT_TRUE(matches("root ::= \"\\x41\\u00e9\\U0001F600\\\"\\\\\\[\\]\\n\"", "Aé😀\"\\[]\n"));
  EXPECT_TRUE(matches("root ::= . .", "é\n"));
}

TEST(Grammar, AgreesWithAnotherJsonReader) {
  GrammarMatcher m(grammar(kJson));
  const std::string seeds[] = {R"({"a": [1, -2.5e+3, true], "b": {"c\n\u00e9": null}, "": ""})",
                               R"([[], {}, "\ud83d\ude00", 0.1E-7, -0 , [false,[null]] ])",
                               "\"é😀\\\\\"", " 12 "};
  const std::string letters = "{}[]\",:\\ue019-+. \nabdtrfnl\x01\xC3\xA9";
  std::mt19937 rng(5);
  int n_whole = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = seeds[rng() % std::size(seeds)];
    for (unsigned n = rng() % 4; n > 0; --n) {
      const size_t at = rng() % text.size(), end = at + rng() % 3;
      text.replace(at, end - at, rng() % 2 ? std::string(1, letters[rng() % letters.size()]) : "");
      if (text.empty()) text = "1";
    }
    const bool wanted = nlohmann::json::accept(text);
    n_whole += wanted;
    ASSERT_EQ(matches(m, text), wanted) << text;
  }
  EXPECT_GT(n_whole, 2000);
  EXPECT_LT(n_whole, 18000);
}

TEST(Grammar, AgreesWithRegularExpressions) {
  const std::pair<std::string_view, const char*> cases[] = {
      {"root ::= (\"ab\" | \"a\")* \"b\"{2,3} [^ab]?", "(ab|a)*b{2,3}[^ab]?"},
      {"root ::= (a{2}){1,} b\na ::= \"a\" | b\nb ::= \"b\"? \"c\"", "((a|b?c){2})+b?c"},
      {"root ::= ((\"a\"? \"b\"?)* \"c\")+", "((a?b?)*c)+"},
      {"root ::= x{0,2} x{3}\nx ::= [a-c] | \"ab\" | ", "([a-c]|ab|){0,2}([a-c]|ab|){3}"},
  };
  std::mt19937 rng(7);
  for (const auto& [rules, pattern] : cases) {
    GrammarMatcher m(grammar(rules));
    const std::regex regex(pattern);
    for (int i = 0; i < 3000; ++i) {
      std::string text;
      for (unsigned n = rng() % 9; n > 0; --n) text += static_cast<char>('a' + rng() % 3);
      ASSERT_EQ(matches(m, text), std::regex_match(text, regex)) << rules << ": " << text;
    }
  }
}

TEST(Grammar, ClassesHoldTheirCharactersInWhole) {
  constexpr std::pair<uint32_t, uint32_t> kRanges[] = {{0x41, 0x41},      {0x7E, 0x81},
                                                       {0x7FF, 0x1003},   {0xD7F0, 0xE010},
                                                       {0xFFF0, 0x10005}, {0x1F600, 0x10FFFF}};
  std::string ranges;
  const auto add = [&](uint32_t code) {
    char text[16];
    std::snprintf(text, sizeof text, "\\U%08X", code);
    ranges += text;
  };
  for (const auto& [low, high] : kRanges) {
    // A range across the surrogates is written as one; its ends are none.
    add(low), ranges += '-', add(high);
  }
  GrammarMatcher is_in(grammar("root ::= [" + ranges + "]")),
      is_out(grammar("root ::= [^" + ranges + "]"));
  for (uint32_t code = 0; code <= 0x10FFFF; ++code) {
    bool wanted = false;
    for (const auto& [low, high] : kRanges) wanted = wanted || (low <= code && code <= high);
    const bool is_surrogate = code >= 0xD800 && code < 0xE000;
    std::string text;
    append_utf8(text, code);
    ASSERT_EQ(matches(is_in, text), wanted && !is_surrogate) << code;
    ASSERT_EQ(matches(is_out, text), !wanted && !is_surrogate) << code;
  }
}

TEST(Grammar, RefusesWhatIsNone) {
  const std::pair<std::string_view, const char*> cases[] = {
      {"", "no start; got 0 rules"},
      {"a ::= \"b\"", "want one of them as root"},
      {"root ::= x", "line 1, column 10: no such rule; got 'x'"},
      {"root ::= \"a\"\nroot ::= \"b\"", "line 2, column 1: a rule stands twice; got 'root'"},
      {"root = \"a\"", "line 1, column 6: no rule; got '= \"a\"'; want ::="},
      {"root ::= \"a", "no end; got the end; want \""},
      {"root ::= [a\n]", "no end"},
      {"root ::= []", "an empty class"},
      {"root ::= [z-a]", "a range goes down; got 122 to 97"},
      {"root ::= (\"a\"", "a group does not end"},
      {"root ::= \"a\" )", "not understood; got ')'"},
      {"root ::= *", "nothing to repeat; got '*'"},
      {"root ::= \"a\"{3,2}", "a repetition goes down; got 3 to 2"},
      {"root ::= \"a\"{,2}", "no count"},
      {"root ::= \"a\"{2", "a repetition does not end"},
      {"root ::= \"a\"{99999}", "too many repetitions"},
      {"root ::= \"\\q\"", "unknown escape; got 'q"},
      {"root ::= \"\\x4\"", "a short escape"},
      {"root ::= \"\\uD800\"", "no character"},
      {"root ::= \"\xFF\"", "not UTF-8"},
      {"root ::= \"a\"*********", "too many operators on an item"},
      {"root ::= root \"a\" | \"b\"", "left recursion; got a rule 'root' that begins with itself"},
      {"root ::= a\na ::= b? c\nb ::= \"x\"\nc ::= root", "left recursion"},
      {"root ::= ((\"a\"{1000}){1000}){1000}", "too large"},
      {"root ::= (((\"\"){9999}){9999}){9999}", "too large"},
  };
  for (const auto& [rules, message] : cases) {
    try {
      const Grammar g(rules);
      ADD_FAILURE() << rules;
    } catch (const UserError& e) {
      EXPECT_THAT(e.what(), HasSubstr(message)) << rules;
    }
  }
  EXPECT_THROW(Grammar("root ::= " + std::string(5000, '(') + std::string(5000, ')')), UserError);
  EXPECT_THROW(Grammar(std::string(2 << 20, '#')), UserError);
}

TEST(Grammar, LongTextsStaySmall) {
  // Recursion at a rule's end opens nothing; brackets do, and are forgotten as they close.
  GrammarMatcher right(grammar("root ::= \"a\" root | \"b\""));
  EXPECT_TRUE(matches(right, std::string(1'000'000, 'a') + "b"));
  EXPECT_LT(right.bytes(), 10'000u);
  GrammarMatcher nested(grammar("root ::= \"(\" root \")\" | \"\""));
  EXPECT_TRUE(matches(nested, std::string(10'000, '(') + std::string(10'000, ')')));
  // As many ways to read it as there are ways to cut it.
  GrammarMatcher many(grammar("root ::= a+\na ::= \"x\" | \"xx\" | a2 a2\na2 ::= \"x\"+"));
  EXPECT_TRUE(matches(many, std::string(10'000, 'x')));
}

TEST(Grammar, ForgettingLosesNothing) {
  GrammarMatcher m(grammar(kJson));
  const std::string text = R"({"a": [1, -2.5e3, {"b": [[], "\n"]}], "c": true})";
  std::vector<uint32_t> kept;
  uint32_t state = m.start();
  for (size_t i = 0; i < text.size(); ++i) {
    state = m.step(state, static_cast<uint8_t>(text[i]));
    m.forget_all_but({&state, 1});
    EXPECT_EQ(m.accepts(state), i + 1 == text.size());
  }
  EXPECT_TRUE(matches(m, text));
}

// The texts that random tokens make under a filter.
class RandomText {
 public:
  RandomText(const Tokenizer& tokenizer, std::string_view rules)
      : tokenizer_(tokenizer),
        trie_(std::make_shared<const TokenTrie>(tokenizer)),
        rules_(grammar(rules)),
        filter_(rules_, trie_, tokenizer) {}

  // Draws up to `most` tokens; short ones are likelier, so that texts come to an end.
  std::string draw(std::mt19937& rng, int most, bool check_masks) {
    std::string text;
    filter_.reset();
    std::vector<float> logits(static_cast<size_t>(tokenizer_.size()));
    for (int n = 0; n < most; ++n) {
      std::fill(logits.begin(), logits.end(), 0.0f);
      filter_.mask(logits);
      if (check_masks) check(text, logits);
      std::vector<int32_t> may_come;
      for (int32_t id = 0; id < tokenizer_.size(); ++id)
        if (logits[static_cast<size_t>(id)] == 0)
          may_come.insert(may_come.end(), tokenizer_.ends_generation(id) ? 40 : 1, id);
      EXPECT_FALSE(may_come.empty()) << text;
      if (may_come.empty()) break;
      const int32_t token = may_come[rng() % may_come.size()];
      filter_.accept(token);
      if (tokenizer_.ends_generation(token)) break;
      text += tokenizer_.piece(token);
    }
    return text;
  }
  bool is_whole() const { return filter_.is_whole(); }

 private:
  // Each token by itself, from the start of the text.
  void check(const std::string& text, const std::vector<float>& logits) {
    GrammarMatcher m(rules_);
    uint32_t before = m.start();
    for (const char c : text) before = m.step(before, static_cast<uint8_t>(c));
    for (int32_t id = 0; id < tokenizer_.size(); ++id) {
      uint32_t state = before;
      const std::string_view piece = tokenizer_.piece(id);
      for (const char c : piece) state = m.step(state, static_cast<uint8_t>(c));
      const bool wanted = tokenizer_.ends_generation(id)
                              ? m.accepts(before)
                              : !piece.empty() && state != GrammarMatcher::kNowhere;
      ASSERT_EQ(logits[static_cast<size_t>(id)] == 0, wanted) << text << " then " << piece;
    }
  }

  const Tokenizer& tokenizer_;
  std::shared_ptr<const TokenTrie> trie_;
  std::shared_ptr<const Grammar> rules_;
  GrammarFilter filter_;
};

// Of every kind: pieces that are bytes of a character, that begin with a space, that are words.
TEST(GrammarFilter, LeavesTheTokensThatMayCome) {
  const std::string chars = "root ::= ([é-ü] | \"😀\" [^a-z]? | \" the \")+";
  for (const char* name : {"llama3", "gpt2", "llama2", "spm_bpe.gguf", "spm_unigram.gguf"}) {
    const auto tokenizer = load_tokenizer(golden_path(str("tokenizer/", name)));
    std::mt19937 rng(3);
    RandomText json(*tokenizer, kJson), letters(*tokenizer, chars);
    for (int i = 0; i < 4; ++i) {
      const std::string text = json.draw(rng, 40, true);
      EXPECT_TRUE(!json.is_whole() || nlohmann::json::accept(text)) << text;
      letters.draw(rng, 12, true);
    }
  }
}

TEST(GrammarFilter, EndsOnlyWhereTheTextIsWhole) {
  const auto file = test::smollm2();
  if (!file) GTEST_SKIP() << "no small model";
  const auto tokenizer = load_tokenizer(file->string());
  std::mt19937 rng(11);
  RandomText list(
      *tokenizer,
      R"(root ::= "[" ("\"" [a-zà-ü]{1,4} "\"" ("," "\"" [a-zà-ü]{1,4} "\""){0,3})? "]")");
  for (int i = 0; i < 50; ++i) {
    const std::string text = list.draw(rng, 100, false);
    EXPECT_TRUE(list.is_whole()) << text;
    EXPECT_TRUE(nlohmann::json::accept(text)) << text;
  }
  GrammarFilter filter(grammar("root ::= \"yes\" | \"no\""),
                       std::make_shared<const TokenTrie>(*tokenizer), *tokenizer);
  EXPECT_THROW(filter.accept(tokenizer->encode("maybe")[0]), UserError);
  EXPECT_THROW(filter.accept(tokenizer->end_tokens()[0]), UserError);
  filter.accept(tokenizer->find("yes"));
  EXPECT_NO_THROW(filter.accept(tokenizer->end_tokens()[0]));
}

}  // namespace
}  // namespace lamella
