#include "lamella/text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "lamella/base/error.h"
#include "lamella/frontends/gguf/gguf.h"
#include "lamella/lm/gguf_text.h"
#include "lamella/text/check_tokenizer.h"
#include "lamella/text/pretokenize.h"
#include "tests/support/cpu_time.h"
#include "tests/support/golden.h"
#include "tests/text/vocabularies.h"

namespace lamella {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Json = nlohmann::json;
using Ids = std::vector<int32_t>;

// Letters a to z as ids 0 to 25, a space (Ġ) as 26, then what the rules make.
Vocabulary tiny_vocabulary() {
  Vocabulary v;
  v.model = "gpt2";
  v.pre = "gpt-2";
  for (char c = 'a'; c <= 'z'; ++c) v.tokens.emplace_back(1, c);
  v.tokens.emplace_back("Ġ");                                            // 26
  for (const char* t : {"th", "he", "the", "Ġt", "Ġthe", "aa", "aaaa"})  // 27 to 33
    v.tokens.emplace_back(t);
  v.tokens.emplace_back("<end>");       // 34
  v.tokens.emplace_back("<end>ing");    // 35
  v.tokens.emplace_back("<|im_end|>");  // 36, control by its name
  v.token_types.assign(v.tokens.size(), 1);
  v.token_types[34] = 3;
  v.token_types[35] = 4;
  v.merges = {"t h", "th e", "Ġ t", "Ġt he", "h e", "a a", "aa aa"};
  v.bos = 34;
  v.add_bos = false;
  return v;
}

std::string user_error(Vocabulary v) {
  try {
    make_tokenizer(std::move(v));
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Tokenizer, MergesByRankThenLeftmost) {
  const auto t = make_tokenizer(tiny_vocabulary());
  EXPECT_THAT(t->encode("the"), ElementsAre(29));
  EXPECT_THAT(t->encode("he"), ElementsAre(28));
  EXPECT_THAT(t->encode(" the"), ElementsAre(26, 29));  // "t h" before "Ġ t"
  EXPECT_THAT(t->encode("aaa"), ElementsAre(32, 0));
  EXPECT_THAT(t->encode("aaaaaaa"), ElementsAre(33, 32, 0));
  EXPECT_THAT(t->encode(""), IsEmpty());
}

TEST(Tokenizer, BytesThatTheVocabularyLacksVanish) {
  const auto t = make_tokenizer(tiny_vocabulary());
  EXPECT_THAT(t->encode("aAb\xFF"), ElementsAre(0, 1));
}

TEST(Tokenizer, SpecialTokensAreSplitOutFirst) {
  const auto t = make_tokenizer(tiny_vocabulary());
  // 35 is user-defined: always found, and before the shorter 34 that it begins with.
  EXPECT_THAT(t->encode("a<end>ing", {}), ElementsAre(0, 35));
  EXPECT_THAT(t->encode("a<end>", {}), ElementsAre(0, 4, 13, 3));
  EXPECT_THAT(t->encode("a<end>b<|im_end|>", {.parse_special = true}), ElementsAre(0, 34, 1, 36));
}

TEST(Tokenizer, BosAndEos) {
  Vocabulary v = tiny_vocabulary();
  v.eos = 36;
  v.add_bos = v.add_eos = true;
  const auto t = make_tokenizer(v);
  EXPECT_THAT(t->encode("a"), ElementsAre(34, 0, 36));
  EXPECT_THAT(t->encode("a", {.add_special = false}), ElementsAre(0));
  EXPECT_EQ(t->decode(t->encode("a")), "a");
  EXPECT_EQ(t->decode(t->encode("a"), {.show_special = true}), "<end>a<|im_end|>");
  EXPECT_EQ(t->decode(t->encode("a"), {.remove_special = true, .show_special = true}), "a");
  EXPECT_TRUE(t->ends_generation(36));
  EXPECT_FALSE(t->ends_generation(34));
}

TEST(Tokenizer, DecodingOfGpt2CleansSpaces) {
  Vocabulary v = tiny_vocabulary();
  for (const char* t : {"!", "'", "."}) v.tokens.emplace_back(t);
  v.token_types.resize(v.tokens.size(), 1);
  const auto t = make_tokenizer(v);
  const auto round = [&](std::string_view text) { return t->decode(t->encode(text)); };
  EXPECT_EQ(round("a !b . c"), "a!b. c");
  EXPECT_EQ(round("a ' b"), "a'b");
  EXPECT_EQ(round("it 's we 've i 't"), "it's we've i 't");
  v.pre = "smollm";
  const auto raw = make_tokenizer(v);
  EXPECT_EQ(raw->decode(raw->encode("a ! ' b")), "a ! ' b");
}

TEST(Tokenizer, NamesWhatIsWrongWithAVocabulary) {
  Vocabulary v;
  v.model = "gpt2";
  EXPECT_THAT(user_error(v), HasSubstr("empty; got 0 tokens"));
  v = tiny_vocabulary();
  v.model = "gtp2";
  EXPECT_THAT(user_error(v), HasSubstr("unknown kind; got 'gtp2'"));
  EXPECT_THAT(user_error(v), HasSubstr("did you mean 'gpt2'"));
  v = tiny_vocabulary();
  v.pre = "smolm";
  EXPECT_THAT(user_error(v), HasSubstr("did you mean 'smollm'"));
  v = tiny_vocabulary();
  v.tokens[3] = "a";
  EXPECT_THAT(user_error(v), HasSubstr("got ids 0 and 3, both 'a'"));
  v = tiny_vocabulary();
  v.token_types.pop_back();
  EXPECT_THAT(user_error(v), HasSubstr("too few token types; got 36"));
  v = tiny_vocabulary();
  v.merges.push_back("noblank");
  EXPECT_THAT(user_error(v), HasSubstr("merge 7 is no pair; got 'noblank'"));
  v = tiny_vocabulary();
  v.eos = 37;
  EXPECT_THAT(user_error(v), HasSubstr("eos token id is out of range; got 37; want less than 37"));
  v = tiny_vocabulary();
  v.bos = -1;
  v.add_bos = true;
  EXPECT_THAT(user_error(v), HasSubstr("bos token; got a vocabulary without one"));
  v = tiny_vocabulary();
  v.token_types[0] = 6;
  EXPECT_THAT(user_error(v), HasSubstr("token 0 is marked as a byte; got 'a'"));
}

TEST(Tokenizer, ToleratesEmptyTokensAndMergesOfUnknownTexts) {
  Vocabulary v = tiny_vocabulary();
  v.tokens.emplace_back("");
  v.token_types.push_back(1);
  v.merges.push_back("x y");  // makes "xy", which is no token: falls back to its bytes
  v.merges.push_back("a a");  // a second time
  const auto t = make_tokenizer(v);
  EXPECT_EQ(t->token(37), "[EMPTY_37]");
  EXPECT_THAT(t->encode("xyz"), ElementsAre(23, 24, 25));
}

TEST(Tokenizer, IdsOutOfRangeAreNamed) {
  const auto t = make_tokenizer(tiny_vocabulary());
  const Ids bad{1, 99};
  EXPECT_THROW(t->decode(bad), UserError);
  EXPECT_THROW(t->piece(-1), UserError);
  EXPECT_EQ(t->find("the"), 29);
  EXPECT_EQ(t->find("no such token"), -1);
}

TEST(Tokenizer, StreamsWholeCharacters) {
  const Json golden = read_json(golden_path("tokenizer/small_bpe.json"));
  const auto t = make_tokenizer(small_vocabulary(golden, "gpt-2"));
  const std::string text = "naïve 漢字 🙂!";
  TokenStream stream(*t);
  std::string out;
  for (const int32_t id : t->encode(text)) {
    const std::string shown = stream.push(id);
    EXPECT_TRUE(is_utf8(shown));
    out += shown;
  }
  EXPECT_EQ(out + stream.finish(), text);
}

TEST(Tokenizer, AgreesWithTokenizersLibrary) {
  const Json golden = read_json(golden_path("tokenizer/small_bpe.json"));
  for (const auto& [pre, rows] : golden.at("ids").items()) {
    const auto t = make_tokenizer(small_vocabulary(golden, pre));
    EXPECT_TRUE(pre_tokenizer(pre).has_reference);
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto text64 = golden.at("strings").at(i).get<std::string>();
      SCOPED_TRACE(pre + " string " + std::to_string(i) + " " + text64);
      std::string text;  // the ids give the text back, so decode the expected ones
      for (const int id : rows[i]) text += t->piece(id, true);
      EXPECT_EQ(t->encode(text, {.parse_special = true}), rows[i].get<Ids>());
    }
  }
}

// Long texts without a place to cut: time stays near linear (generous bounds, for slow machines).
TEST(Tokenizer, LongTextsTakeLinearTime) {
  const Json golden = read_json(golden_path("tokenizer/small_bpe.json"));
  std::set<const void*> seen;
  for (const PreTokenizerRow& row : pre_tokenizers()) {
    if (!seen.insert(row.patterns.data()).second) continue;
    const auto t = make_tokenizer(small_vocabulary(golden, std::string(row.name)));
    const bool is_smollm = row.patterns.data() == pre_tokenizer("smollm").patterns.data();
    const size_t size = is_smollm ? 1'000'000 : 200'000;
    for (const std::string_view unit : {"a", "A", " ", "\n", "7", "é", "漢", "!", "<|", "ab\xFF",
                                        " \n", "'", "\u0301", "a\u0301"}) {
      std::string text;
      while (text.size() < size) text += unit;
      const double start = test::cpu_seconds();
      EXPECT_FALSE(t->encode(text).empty());
      EXPECT_LT(test::cpu_seconds() - start, 20.0)
          << row.name << " on " << size << " bytes of '" << unit << "'";
    }
  }
}

TEST(Tokenizer, OfSmolLm2) {
  const auto path = test::smollm2();
  if (!path) GTEST_SKIP() << "no SmolLM2 here";
  const auto t = make_tokenizer(read_vocabulary(gguf::Gguf::open(path->string())));
  EXPECT_EQ(t->size(), 49152);
  EXPECT_THAT(t->encode("Hello world"), ElementsAre(19556, 905));
  EXPECT_TRUE(t->ends_generation(2));
  const auto folder = test::full_golden_dir();
  if (!folder) GTEST_SKIP() << "no ../shared/golden";
  const TokenizerReport report = judge_tokenizer(*folder / "tokenizer/smollm2.json", *t);
  EXPECT_EQ(report.entries.size(), 150u);
  EXPECT_EQ(report.n_failed, 0);
  for (const auto& entry : report.entries) EXPECT_TRUE(entry.passed) << entry.line;
}

// The vocabularies of the reference models: every kind, and byte-level BPE with most
// pre-tokenizers.
TEST(Tokenizer, OfReferenceModels) {
  const auto full = test::full_golden_dir();
  if (!full) GTEST_SKIP() << "no ../shared/golden";
  const std::string folder = *full / "arch/";
  const Json manifest = read_json(folder + "manifest.json");
  int n_models = 0;
  for (const auto& [name, entry] : manifest.at("cases").items()) {
    if (!entry.contains("tokenize")) continue;
    Vocabulary v = read_vocabulary(gguf::Gguf::open(folder + entry.at("file").get<std::string>()));
    const auto kinds = tokenizer_models();
    if (std::find(kinds.begin(), kinds.end(), v.model) == kinds.end()) continue;
    ++n_models;
    EXPECT_TRUE(v.model != "gpt2" || pre_tokenizer(v.pre).has_reference) << v.pre;
    const auto t = make_tokenizer(std::move(v));
    for (const Json& sample : entry.at("tokenize")) {
      SCOPED_TRACE(name + " " + sample.at("text").dump());
      const auto text = sample.at("text").get<std::string>();
      EXPECT_EQ(t->encode(text, {.add_special = true, .parse_special = true}),
                sample.at("ids").get<Ids>());
      EXPECT_EQ(t->encode(text, {.add_special = false}), sample.at("ids_plain").get<Ids>());
    }
  }
  EXPECT_EQ(n_models, 53);
}

}  // namespace
}  // namespace lamella
