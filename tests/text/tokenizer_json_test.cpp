#include "lamella/text/tokenizer_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "lamella/base/error.h"
#include "lamella/lm/folder_text.h"
#include "lamella/lm/language_model.h"
#include "lamella/text/check_tokenizer.h"
#include "tests/text/vocabularies.h"

namespace lamella {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::json;

// tests/golden/tokenizer/make_tokenizers.py: every kind against its own library.
TEST(TokenizerJson, AgreesWithTokenizersAndSentencePiece) {
  int n_files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(golden_path("tokenizer"))) {
    const std::string path = entry.path().string();
    const size_t end = path.rfind(".cases.json");
    if (end == path.npos) continue;
    ++n_files;
    const std::string model = path.substr(0, end);
    const auto t = load_tokenizer(fs::is_directory(model) ? model : model + ".gguf");
    const TokenizerReport report = judge_tokenizer(path, *t);
    EXPECT_GE(report.n_passed, 190) << path;
    for (const auto& verdict : report.entries) EXPECT_TRUE(verdict.passed) << model << verdict.line;
  }
  EXPECT_EQ(n_files, 20);
}

// A byte-level model of three letters.
Json small() {
  return {{"added_tokens",
           {{{"id", 4}, {"content", "<s>"}, {"special", true}},
            {{"id", 5}, {"content", "<n>"}, {"special", false}, {"single_word", true}}}},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model",
           {{"type", "BPE"},
            {"vocab", {{"a", 0}, {"b", 1}, {"c", 2}, {"ab", 3}}},
            {"merges", {"a b"}}}}};
}

std::string error_of(const Json& json) {
  try {
    const std::string text = json.dump();
    tokenizer_from_json({text, {}, {}})->encode("abc");
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(TokenizerJson, ReadsTheFilesBeside) {
  const std::string text = small().dump();
  const auto t =
      tokenizer_from_json({text, R"({"eos_token": {"content": "<s>"}, "bos_token": "c"})",
                           R"({"eos_token_id": [1, 99]})"});
  EXPECT_THAT(t->encode("abc"), ElementsAre(3, 2));
  EXPECT_EQ(t->vocabulary().bos, 2);
  EXPECT_TRUE(t->ends_generation(4) && t->ends_generation(1) && !t->ends_generation(0));
  EXPECT_THAT(t->encode("<s>a", {.parse_special = true}), ElementsAre(4, 0));
  EXPECT_THAT(t->encode("a<n>"), ElementsAre(0));  // not beside a letter; < and n are no tokens
  EXPECT_THAT(t->encode("<n>"), ElementsAre(5));
}

TEST(TokenizerJson, ChatTemplates) {
  EXPECT_EQ(chat_template_from_json(R"({"chat_template": "x"})"), "x");
  EXPECT_EQ(chat_template_from_json(R"({"chat_template": [{"name": "tools", "template": "t"},
                                        {"name": "default", "template": "d"}]})"),
            "d");
  EXPECT_EQ(chat_template_from_json("{}"), "");
  EXPECT_THROW(chat_template_from_json("{"), UserError);
}

TEST(TokenizerJson, NamesWhatIsWrong) {
  const auto with = [](const std::function<void(Json&)>& change) {
    Json json = small();
    change(json);
    return error_of(json);
  };
  EXPECT_EQ(error_of(small()), "no error");
  EXPECT_THAT(error_of(Json::array()), HasSubstr("no model; got array"));
  EXPECT_THAT(with([](Json& j) { j["model"]["type"] = "BPF"; }),
              HasSubstr("model: unknown type; got 'BPF'; want one of BPE"));
  EXPECT_THAT(with([](Json& j) { j["pre_tokenizer"]["type"] = "BiteLevel"; }),
              HasSubstr("did you mean 'ByteLevel'"));
  EXPECT_THAT(with([](Json& j) {
                j["normalizer"] = {{"tipe", "NFC"}};
              }),
              HasSubstr("normalizer: a step has no type"));
  EXPECT_THAT(with([](Json& j) { j["model"]["vocab"]["b"] = 0; }),
              HasSubstr("two tokens have the same id; got 'a' and 'b' both 0"));
  EXPECT_THAT(with([](Json& j) { j["model"]["vocab"]["b"] = -1; }),
              HasSubstr("the id of 'b' is out of range; got -1"));
  EXPECT_THAT(with([](Json& j) { j["model"]["vocab"]["b"] = 1 << 23; }),
              HasSubstr("an id is out of range; got 8388608 with 6 tokens"));
  EXPECT_THAT(with([](Json& j) { j["added_tokens"][0]["id"] = 3; }),
              HasSubstr("two tokens have the same id; got 'ab' and '<s>' both 3"));
  EXPECT_THAT(with([](Json& j) { j["added_tokens"][0]["content"] = "a"; }),
              HasSubstr("two tokens have the same text; got ids 0 and 4, both 'a'"));
  EXPECT_THAT(with([](Json& j) { j["added_tokens"][1]["content"] = std::string(600, 'x'); }),
              HasSubstr("added token 5 is too long; got 600 bytes; want at most 512"));
  EXPECT_THAT(with([](Json& j) { j["model"]["merges"] = {"ab"}; }),
              HasSubstr("merge 0 is no pair; got \"ab\"; want two texts"));
  EXPECT_THAT(with([](Json& j) { j["model"]["merges"] = {"b c"}; }),
              HasSubstr("merge 0 is of a text that is no token; got 'bc'"));
  EXPECT_THAT(with([](Json& j) { j["model"]["unk_token"] = "<unk>"; }),
              HasSubstr("the unknown token is no token; got '<unk>'"));
  EXPECT_THAT(with([](Json& j) {
                j["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"Regex", "(a"}}}};
              }),
              HasSubstr("regular expression: cannot be compiled; got '(a'"));
  EXPECT_THAT(with([](Json& j) {
                j["normalizer"] = {{"type", "Precompiled"}, {"precompiled_charsmap", "////fw=="}};
              }),
              HasSubstr("precompiled_charsmap: the trie does not fit"));
  EXPECT_THAT(with([](Json& j) {
                j["decoder"] = {{"type", "Strip"}, {"start", 7}};
              }),
              HasSubstr("decoder: Strip"));
  EXPECT_THAT(with([](Json& j) { j["model"].erase("vocab"); }), HasSubstr("not of its form"));
  EXPECT_THAT(with([](Json& j) {
                for (int i = 0; i < 25; ++i)
                  j["normalizer"] = {{"type", "Sequence"}, {"normalizers", {j["normalizer"]}}};
              }),
              HasSubstr("normalizer: nested too deeply; got more than 16 levels"));
  EXPECT_THROW(tokenizer_from_json({"{\"model\": ", {}, {}}), UserError);
  const std::string deep = "{\"model\": " + std::string(100'000, '[');
  try {
    tokenizer_from_json({deep, {}, {}});
    ADD_FAILURE() << "no error";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("tokenizer.json: nested too deeply; got 100001 levels"));
  }
  EXPECT_THROW(read_folder_tokenizer(golden_path("quant")), UserError);
}

// A pattern that takes exponential time, and replacements that multiply.
TEST(TokenizerJson, WhatWouldNotEndIsAnError) {
  Json json = small();
  json["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"Regex", "(?:a|a)*[^a]+$"}}}};
  std::string text = json.dump();
  const auto slow = tokenizer_from_json({text, {}, {}});
  EXPECT_THROW(slow->encode(std::string(60, 'a')), UserError);
  json = small();
  json["normalizer"] = {{"type", "Sequence"}, {"normalizers", Json::array()}};
  for (int i = 0; i < 20; ++i)
    json["normalizer"]["normalizers"].push_back(
        {{"type", "Replace"}, {"pattern", "a"}, {"content", std::string(100, 'a')}});
  text = json.dump();
  const auto growing = tokenizer_from_json({text, {}, {}});
  try {
    growing->encode("aaaaaaaaaaaa");
    ADD_FAILURE() << "no error";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("replacements make too much text"));
  }
}

}  // namespace
}  // namespace lamella
