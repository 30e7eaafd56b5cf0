// Implements text/tokenizer_json/normalizer.h.
#include "lamella/text/tokenizer_json/normalizer.h"

#include <algorithm>
#include <memory>
#include <span>

#include "lamella/text/base64.h"
#include "lamella/text/byte_alphabet.h"
#include "lamella/text/charsmap.h"
#include "lamella/text/tokenizer_json/pattern.h"
#include "lamella/text/unicode.h"
#include "lamella/text/word_piece.h"

namespace lamella::tokenizer_json {
namespace {

constexpr std::string_view kPart = "normalizer";
using Step = Normalizer::Step;

// A replacement may make a text longer, but not without end.
constexpr size_t kMostGrowth = 16, kAlwaysAllowed = 1 << 20;

void check_growth(size_t from, size_t to) {
  const size_t most = std::max(kAlwaysAllowed, from * kMostGrowth);
  CHECK_USER(to <= most, "tokenizer.json: normalizer: replacements make too much text; got ", to,
             " bytes of ", from, "; want at most ", most);
}

Step make_bert(const Json& json) {
  BertNormalisation options{.clean = value_or(json, "clean_text", true),
                            .space_chinese = value_or(json, "handle_chinese_chars", true),
                            .strip_accents = true,
                            .lower = value_or(json, "lowercase", true)};
  options.strip_accents = value_or(json, "strip_accents", options.lower);
  return [options](const std::string& text) { return normalise_for_bert(text, options); };
}

std::string stripped(std::string_view text, bool left, bool right) {
  size_t begin = text.size(), end = 0, at = 0;
  each_character(text, [&](uint32_t code, std::string_view bytes) {
    if (!is_white_space(code)) {
      begin = std::min(begin, at);
      end = at + bytes.size();
    }
    at += bytes.size();
  });
  if (!left) begin = 0;
  if (!right) end = text.size();
  return begin < end ? std::string(text.substr(begin, end - begin)) : std::string();
}

Step make_strip(const Json& json) {
  const bool left = value_or(json, "strip_left", true), right = value_or(json, "strip_right", true);
  return [=](const std::string& text) { return stripped(text, left, right); };
}

Step make_strip_accents(const Json&) {
  return [](const std::string& text) {
    std::string out;
    each_character(text, [&](uint32_t code, std::string_view bytes) {
      if (!is_mark(code)) out += bytes;
    });
    return out;
  };
}

template <NormalForm form>
Step make_form(const Json&) {
  return [](const std::string& text) { return normal_form(text, form); };
}

Step make_lowercase(const Json&) {
  return [](const std::string& text) { return lower_case(text); };
}

// Controls that go, and what becomes a space: as Moses and its followers clean text.
bool is_dropped(uint32_t c) {
  return (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F ||
         c == 0x9F;
}
bool becomes_space(uint32_t c) {
  return c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
         (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF ||
         c == 0xFFFD;
}

Step make_nmt(const Json&) {
  return [](const std::string& text) {
    std::string out;
    each_character(text, [&](uint32_t code, std::string_view bytes) {
      if (becomes_space(code)) {
        out += ' ';
      } else if (!is_dropped(code)) {
        out += bytes;
      }
    });
    return out;
  };
}

Step make_precompiled(const Json& json) {
  const std::string bytes = from_base64(value_or<std::string>(json, "precompiled_charsmap", ""),
                                        "tokenizer.json: normalizer: precompiled_charsmap");
  const auto map = std::make_shared<const CharsMap>(
      std::span(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
  return [map](const std::string& text) { return map->normalise(text); };
}

Step make_replace(const Json& json) {
  const auto pattern = std::make_shared<const Pattern>(json.at("pattern"), kPart);
  const auto content = json.at("content").get<std::string>();
  return [pattern, content](const std::string& text) {
    std::string out;
    size_t at = 0;
    pattern->each(text, [&](size_t begin, size_t end) {
      out.append(text, at, begin - at);
      out += content;
      at = end;
      check_growth(text.size(), out.size());
    });
    return out.append(text, at);
  };
}

Step make_prepend(const Json& json) {
  const auto prefix = short_text(json.at("prepend"), kPart);
  return [prefix](const std::string& text) { return text.empty() ? text : prefix + text; };
}

Step make_bytes(const Json&) {
  return [](const std::string& text) { return to_byte_alphabet(text); };
}

struct Row {
  std::string_view type;
  Step (*make)(const Json&);
};
constexpr Row kRows[] = {
    // sorted:begin
    {"BertNormalizer", make_bert},
    {"ByteLevel", make_bytes},
    {"Lowercase", make_lowercase},
    {"NFC", make_form<NormalForm::c>},
    {"NFD", make_form<NormalForm::d>},
    {"NFKC", make_form<NormalForm::kc>},
    {"NFKD", make_form<NormalForm::kd>},
    {"Nmt", make_nmt},
    {"Precompiled", make_precompiled},
    {"Prepend", make_prepend},
    {"Replace", make_replace},
    {"Strip", make_strip},
    {"StripAccents", make_strip_accents},
    // sorted:end
};

void read(const Json& json, int depth, std::vector<Step>& steps) {
  if (json.is_null()) return;
  CHECK_USER(depth <= kMostNested, "tokenizer.json: ", kPart, ": nested too deeply; got more than ",
             kMostNested, " levels");
  const std::string type = type_of(json, kPart);
  if (type == "Sequence") {
    for (const Json& step : json.at("normalizers")) read(step, depth + 1, steps);
  } else {
    steps.push_back(find_row(kRows, type, kPart).make(json));
  }
}

}  // namespace

Normalizer::Normalizer(const Json& json) { read(json, 0, steps_); }

std::string Normalizer::apply(std::string text) const {
  const size_t from = text.size();
  for (const Step& step : steps_) {
    text = step(std::move(text));
    check_growth(from, text.size());
  }
  return text;
}

}  // namespace lamella::tokenizer_json
