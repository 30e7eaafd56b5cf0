// Implements text/tokenizer_json/post_processor.h.
#include "lamella/text/tokenizer_json/post_processor.h"

namespace lamella::tokenizer_json {
namespace {

constexpr std::string_view kPart = "post_processor";

// [text, id] pairs on both sides.
void read_pairs(const Json& json, Affixes& out) {
  out.before.push_back(json.at("cls").at(1).get<int32_t>());
  out.after.push_back(json.at("sep").at(1).get<int32_t>());
}

void read_nothing(const Json&, Affixes&) {}

void read_template(const Json& json, Affixes& out) {
  bool after = false;
  for (const Json& entry : json.at("single")) {
    if (entry.contains("Sequence")) {
      after = true;
      continue;
    }
    const auto name = entry.at("SpecialToken").at("id").get<std::string>();
    for (const Json& id : json.at("special_tokens").at(name).at("ids"))
      (after ? out.after : out.before).push_back(id.get<int32_t>());
  }
}

struct Row {
  std::string_view type;
  void (*read)(const Json&, Affixes&);
};
constexpr Row kRows[] = {
    // sorted:begin
    {"BertProcessing", read_pairs},
    {"ByteLevel", read_nothing},
    {"RobertaProcessing", read_pairs},
    {"TemplateProcessing", read_template},
    // sorted:end
};

void read(const Json& json, int depth, Affixes& out) {
  if (json.is_null()) return;
  CHECK_USER(depth <= kMostNested, "tokenizer.json: ", kPart, ": nested too deeply; got more than ",
             kMostNested, " levels");
  const std::string type = type_of(json, kPart);
  if (type == "Sequence") {
    for (const Json& step : json.at("processors")) read(step, depth + 1, out);
  } else {
    find_row(kRows, type, kPart).read(json, out);
  }
}

}  // namespace

Affixes read_affixes(const Json& json) {
  Affixes out;
  read(json, 0, out);
  return out;
}

}  // namespace lamella::tokenizer_json
