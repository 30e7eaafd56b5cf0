// Vocabularies that the tests of src/text share.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lamella/text/vocabulary.h"
#include "tests/support/golden.h"

namespace lamella {

inline nlohmann::json read_json(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  return nlohmann::json::parse(file);
}

inline std::string golden_path(const std::string& name) { return test::golden_dir() / name; }

// tests/golden/tokenizer/small_bpe.json: 702 tokens, trained on a page of text.
inline Vocabulary small_vocabulary(const nlohmann::json& golden, const std::string& pre) {
  Vocabulary v;
  v.model = "gpt2";
  v.pre = pre;
  v.tokens = golden.at("tokens").get<std::vector<std::string>>();
  v.merges = golden.at("merges").get<std::vector<std::string>>();
  v.token_types.assign(v.tokens.size(), static_cast<int32_t>(TokenType::normal));
  for (const int id : golden.at("control")) v.token_types[id] = int32_t(TokenType::control);
  for (const int id : golden.at("user_defined"))
    v.token_types[id] = int32_t(TokenType::user_defined);
  v.eos = golden.at("control").at(0).get<int32_t>();
  v.add_bos = false;
  return v;
}

}  // namespace lamella
