// SentencePiece BPE, unigram, WordPiece and RWKV's kind on small vocabularies and on bad ones.
// tokenizer_json_test.cpp compares them with their own libraries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "lamella/base/error.h"
#include "lamella/text/charsmap.h"
#include "lamella/text/tokenizer.h"
#include "tests/text/vocabularies.h"

namespace lamella {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Entry {
  std::string text;
  float score = 0;
  TokenType type = TokenType::normal;
};

Vocabulary vocabulary(const std::string& model, const std::vector<Entry>& entries) {
  Vocabulary v;
  v.model = model;
  for (const Entry& e : entries) {
    v.tokens.push_back(e.text);
    v.scores.push_back(e.score);
    v.token_types.push_back(static_cast<int32_t>(e.type));
  }
  v.add_bos = v.add_eos = v.add_sep = false;
  return v;
}

std::string error_of(Vocabulary v) {
  try {
    make_tokenizer(std::move(v))->encode("abc");
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

Vocabulary spm() {
  Vocabulary v = vocabulary("llama", {{"<unk>", 0, TokenType::unknown},
                                      {"<s>", 0, TokenType::control},
                                      {"▁", -9},
                                      {"a", -10},
                                      {"b", -10},
                                      {"ab", -1},
                                      {"▁a", -2},
                                      {"ba", -3},
                                      {"<0xC3>", 0, TokenType::byte},
                                      {"<0xA9>", 0, TokenType::byte},
                                      {"<x>", 0, TokenType::user_defined}});
  v.unk = 0;
  v.bos = 1;
  return v;
}

TEST(TokenizerKinds, SpmMergesByScore) {
  const auto t = make_tokenizer(spm());
  EXPECT_THAT(t->encode("ab"), ElementsAre(2, 5));  // "ab" before "▁a"
  EXPECT_THAT(t->encode("aab"), ElementsAre(6, 5));
  EXPECT_THAT(t->encode("bab"), ElementsAre(2, 4, 5));
  EXPECT_THAT(t->encode("é"), ElementsAre(2, 8, 9));
  EXPECT_THAT(t->encode("z"), ElementsAre(2, 0));  // no token for the byte: unknown
  EXPECT_THAT(t->encode("a<x>b"), ElementsAre(6, 10, 2, 4));
  EXPECT_THAT(t->encode(""), IsEmpty());
  EXPECT_EQ(t->decode(t->encode("ab é")), "ab é");
  Vocabulary bare = spm();
  bare.add_space_prefix = false;
  EXPECT_THAT(make_tokenizer(bare)->encode("ab"), ElementsAre(5));
}

TEST(TokenizerKinds, SpecialTokensMaySwallowSpace) {
  Vocabulary v = spm();
  v.strip_left = v.strip_right = {10};
  EXPECT_THAT(make_tokenizer(v)->encode("a \n<x>  b"), ElementsAre(6, 10, 2, 4));
  EXPECT_THAT(make_tokenizer(v)->encode(" <x> <x> "), ElementsAre(10, 10));
}

Vocabulary unigram() {
  Vocabulary v = vocabulary("t5", {{"<unk>", 0, TokenType::unknown},
                                   {"▁", -2},
                                   {"▁a", -3},
                                   {"a", -4},
                                   {"ab", -4.5f},
                                   {"b", -4}});
  v.unk = 0;
  v.eos = 1;
  return v;
}

TEST(TokenizerKinds, UnigramTakesTheBestSum) {
  const auto t = make_tokenizer(unigram());
  EXPECT_THAT(t->encode("ab"), ElementsAre(1, 4));  // -6.5 against -7
  EXPECT_THAT(t->encode("aéüb"), ElementsAre(2, 0, 5));
  Vocabulary merging = unigram();
  merging.remove_extra_whitespaces = true;
  EXPECT_THAT(make_tokenizer(merging)->encode("  a   a "), ElementsAre(2, 2));
  EXPECT_THAT(t->encode("a  "), ElementsAre(2, 1, 1));
}

TEST(TokenizerKinds, WordPieceTakesTheLongest) {
  Vocabulary v = vocabulary(
      "bert", {{"[UNK]"}, {"▁ab"}, {"▁a"}, {"b"}, {"c"}, {"▁!"}, {"[SEP]", 0, TokenType::control}});
  v.unk = 0;
  v.sep = v.eos = 6;
  const auto t = make_tokenizer(v);
  EXPECT_THAT(t->encode("ABC! Ább abz!"), ElementsAre(1, 4, 5, 1, 3, 0, 5));
  EXPECT_THAT(t->encode(" \t"), IsEmpty());
}

TEST(TokenizerKinds, RwkvTakesTheLongest) {
  const auto t = make_tokenizer(
      vocabulary("rwkv", {{"<s>", 0, TokenType::control}, {"a"}, {"ab"}, {"\\n\\x0a"}, {"\\xe4"}}));
  EXPECT_THAT(t->encode("aab\n\n\xE4z"), ElementsAre(1, 2, 3, 4, 0));
  EXPECT_EQ(t->decode(t->encode("ab\n\n\xE4")), "ab\n\n\xE4");
}

TEST(TokenizerKinds, NamesWhatIsWrong) {
  Vocabulary v = spm();
  v.scores[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(error_of(v), HasSubstr("the score of token 3 is no number; got nan"));
  v = unigram();
  v.scores[3] = -std::numeric_limits<float>::infinity();
  EXPECT_THAT(error_of(v), HasSubstr("the score of token 3 is no number; got -inf"));
  v = unigram();
  v.unk = -1;
  EXPECT_THAT(error_of(v), HasSubstr("no token for unknown characters"));
  for (const char* kind : {"t5", "bert", "rwkv"}) {
    v = unigram();
    v.model = kind;
    v.tokens[4] = std::string(5000, 'x');
    EXPECT_THAT(error_of(v), HasSubstr("token 4 is too long; got 5000 bytes; want at most 4096"));
  }
  v = spm();
  v.token_types[2] = static_cast<int32_t>(TokenType::byte);
  EXPECT_THAT(error_of(v), HasSubstr("token 2 is marked as a byte; got '▁'"));
  v = unigram();
  v.precompiled_charsmap = {9, 0, 0, 0, 1};
  EXPECT_THAT(error_of(v), HasSubstr("the trie does not fit; got 9 bytes of 5"));
  v.precompiled_charsmap = {1};
  EXPECT_THAT(error_of(v), HasSubstr("the trie does not fit"));
}

// A map of `units` and replacements; node 0 is the root.
std::vector<uint8_t> charsmap(const std::vector<uint32_t>& units, const std::string& replacements) {
  std::vector<uint8_t> bytes;
  const auto put = [&](uint32_t x) {
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<uint8_t>(x >> 8 * i));
  };
  put(static_cast<uint32_t>(units.size() * 4));
  for (const uint32_t u : units) put(u);
  bytes.insert(bytes.end(), replacements.begin(), replacements.end());
  return bytes;
}

TEST(TokenizerKinds, CharsmapsThatLeadAstray) {
  std::vector<uint32_t> units(256, 0);
  units['a'] = 'a' | 'a' << 10;  // from "a" back to the root: "aaa..." for ever
  EXPECT_EQ(CharsMap(charsmap(units, "")).normalise(std::string(20000, 'a')).size(), 20000u);
  units['a'] = 'a' | 1 << 8 | 0xFFFF << 10;  // a leaf beyond the end
  std::string_view replacement;
  EXPECT_THROW(CharsMap(charsmap(units, "")).match("a", replacement), UserError);
  units['a'] = 'a' | 1 << 8 | ('a' ^ 'x') << 10;  // a leaf at 'x'
  units['x'] = 1u << 31 | 2;
  EXPECT_EQ(CharsMap(charsmap(units, std::string("?\0yes\0", 6))).normalise("bab"), "byesb");
  units['x'] = 1u << 31 | 99;  // beyond the replacements
  EXPECT_THROW(CharsMap(charsmap(units, "?")).match("a", replacement), UserError);
  EXPECT_THROW(CharsMap(charsmap(units, std::string(2000, 'z'))), UserError);
}

// Near-linear on texts without a place to cut; see Tokenizer.LongTextsTakeLinearTime.
TEST(TokenizerKinds, LongTexts) {
  for (const Vocabulary& v : {spm(), unigram()}) {
    const auto t = make_tokenizer(v);
    for (const char* unit : {"a", "ab", " ", "é", "z", "a b", "\xFF"}) {
      std::string text;
      while (text.size() < 300'000) text += unit;
      EXPECT_FALSE(t->encode(text).empty()) << unit;
    }
  }
}

}  // namespace
}  // namespace lamella
