// What the readers of a tokenizer.json's parts share: its steps are objects with a "type".
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "lamella/base/error.h"
#include "lamella/base/text.h"

namespace lamella::tokenizer_json {

using Json = nlohmann::json;

// Sequences within sequences.
inline constexpr int kMostNested = 16;

inline std::string type_of(const Json& step, std::string_view part) {
  CHECK_USER(step.is_object() && step.contains("type") && step.at("type").is_string(),
             "tokenizer.json: ", part, ": a step has no type; got ", printable(step.dump(), 80),
             "; want an object with 'type'");
  return step.at("type").get<std::string>();
}

template <class Row, size_t n>
const Row& find_row(const Row (&rows)[n], const std::string& type, std::string_view part) {
  std::vector<std::string_view> names;
  for (const Row& row : rows) {
    if (row.type == type) return row;
    names.push_back(row.type);
  }
  throw UserError(str("tokenizer.json: ", part, ": unknown type; got '", printable(type, 60),
                      "'; want one of ", join(names, ", "), did_you_mean(type, names)));
}

// A text that is put into others, again and again.
inline std::string short_text(const Json& json, std::string_view part) {
  constexpr size_t kLongest = 256;
  auto text = json.get<std::string>();
  CHECK_USER(text.size() <= kLongest, "tokenizer.json: ", part, ": a text to insert is too long; ",
             "got ", text.size(), " bytes; want at most ", kLongest);
  return text;
}

// The member `key`, or `otherwise` where it is missing or null.
template <class T>
T value_or(const Json& step, const char* key, T otherwise) {
  const auto at = step.find(key);
  return at == step.end() || at->is_null() ? otherwise : at->get<T>();
}

}  // namespace lamella::tokenizer_json
