// Implements text/tokenizer_json/pre_tokenizer.h.
#include "lamella/text/tokenizer_json/pre_tokenizer.h"

#include <memory>

#include "lamella/text/byte_alphabet.h"
#include "lamella/text/pretokenize.h"
#include "lamella/text/tokenizer_json/pattern.h"
#include "lamella/text/unicode.h"
#include "lamella/text/word_model.h"
#include "lamella/text/word_piece.h"

namespace lamella::tokenizer_json {
namespace {

constexpr std::string_view kPart = "pre_tokenizer";
using Step = PreTokenizer::Step;

// A part of a piece: a match of what is looked for, or what lies between matches.
struct Part {
  size_t begin = 0, end = 0;
  bool is_match = false;
};
using Parts = std::vector<Part>;

void add_part(Parts& parts, size_t begin, size_t end, bool is_match) {
  if (end > begin) parts.push_back({begin, end, is_match});
}

// What becomes of matches.
enum class Behavior { removed, isolated, contiguous, merged_with_previous, merged_with_next };

struct BehaviorRow {
  std::string_view type;
  Behavior behavior;
};
constexpr BehaviorRow kBehaviors[] = {
    {"Contiguous", Behavior::contiguous},
    {"Isolated", Behavior::isolated},
    {"MergedWithNext", Behavior::merged_with_next},
    {"MergedWithPrevious", Behavior::merged_with_previous},
    {"Removed", Behavior::removed},
};

Behavior behavior_of(const Json& json, const char* otherwise) {
  const auto name = value_or<std::string>(json, "behavior", otherwise);
  return find_row(kBehaviors, name, "pre_tokenizer: behavior").behavior;
}

// Joins neighbours: with `joins(left, right)` saying which.
template <class Joins>
void join_parts(Parts& parts, Joins&& joins) {
  Parts out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && joins(parts[i - 1], parts[i])) {
      out.back().end = parts[i].end;
    } else {
      out.push_back(parts[i]);
    }
  }
  parts.swap(out);
}

void behave(Behavior behavior, Parts& parts) {
  switch (behavior) {
    case Behavior::removed:
      std::erase_if(parts, [](const Part& p) { return p.is_match; });
      return;
    case Behavior::isolated:
      return;
    case Behavior::contiguous:
      return join_parts(parts,
                        [](const Part& a, const Part& b) { return a.is_match == b.is_match; });
    case Behavior::merged_with_previous:
      return join_parts(parts,
                        [](const Part& a, const Part& b) { return b.is_match && !a.is_match; });
    case Behavior::merged_with_next:
      return join_parts(parts,
                        [](const Part& a, const Part& b) { return a.is_match && !b.is_match; });
  }
}

// A step that finds parts in each piece.
template <class Find>
Step make_split(Behavior behavior, Find find) {
  return [behavior, find](std::vector<Piece>& pieces, Texts&) {
    std::vector<Piece> out;
    Parts parts;
    for (const Piece& piece : pieces) {
      parts.clear();
      find(piece.text, parts);
      behave(behavior, parts);
      for (const Part& part : parts)
        out.push_back({piece.text.substr(part.begin, part.end - part.begin),
                       piece.at_start && part.begin == 0});
    }
    pieces.swap(out);
  };
}

Step make_pattern_split(std::shared_ptr<const Pattern> pattern, Behavior behavior, bool invert) {
  return make_split(behavior, [pattern, invert](std::string_view text, Parts& parts) {
    size_t at = 0;
    pattern->each(text, [&](size_t begin, size_t end) {
      add_part(parts, at, begin, invert);
      add_part(parts, begin, end, !invert);
      at = end;
    });
    add_part(parts, at, text.size(), invert);
  });
}

// Each character for which `is_match` holds is a match.
template <class IsMatch>
Step make_character_split(Behavior behavior, IsMatch is_match) {
  return make_split(behavior, [is_match](std::string_view text, Parts& parts) {
    size_t at = 0, begin = 0;
    each_character(text, [&](uint32_t code, std::string_view bytes) {
      if (is_match(code)) {
        add_part(parts, begin, at, false);
        add_part(parts, at, at + bytes.size(), true);
        begin = at + bytes.size();
      }
      at += bytes.size();
    });
    add_part(parts, begin, at, false);
  });
}

// A step that gives each piece another text.
template <class Change>
Step make_change(Change change) {
  return [change](std::vector<Piece>& pieces, Texts& texts) {
    for (Piece& piece : pieces) piece.text = texts.emplace_back(change(piece));
  };
}

std::vector<Step> read_bert(const Json&) {
  return {make_character_split(Behavior::removed, is_white_space),
          make_character_split(Behavior::isolated, is_bert_punctuation)};
}

std::vector<Step> read_byte_level(const Json& json) {
  std::vector<Step> steps;
  if (value_or(json, "add_prefix_space", true))
    steps.push_back(make_change([](const Piece& piece) {
      return (piece.text.starts_with(' ') ? "" : " ") + std::string(piece.text);
    }));
  if (value_or(json, "use_regex", true)) {
    const Json words = {{"Regex", lamella::pre_tokenizer("gpt-2").patterns[0]}};
    steps.push_back(make_pattern_split(std::make_shared<const Pattern>(words, kPart),
                                       Behavior::isolated, false));
  }
  steps.push_back(make_change([](const Piece& piece) { return to_byte_alphabet(piece.text); }));
  return steps;
}

std::vector<Step> read_delimiter(const Json& json) {
  return {make_pattern_split(std::make_shared<const Pattern>(json.at("delimiter"), kPart),
                             Behavior::removed, false)};
}

std::vector<Step> read_digits(const Json& json) {
  const bool single = value_or(json, "individual_digits", false);
  return {make_character_split(single ? Behavior::isolated : Behavior::contiguous, is_numeric)};
}

std::vector<Step> read_metaspace(const Json& json) {
  const std::string mark = short_text(value_or(json, "replacement", Json(kSpaceMark)), kPart);
  const bool old_prefix = value_or(json, "add_prefix_space", true);
  const auto scheme =
      value_or<std::string>(json, "prepend_scheme", old_prefix ? "always" : "never");
  CHECK_USER(scheme == "always" || scheme == "never" || scheme == "first",
             "tokenizer.json: pre_tokenizer: prepend_scheme; got '", printable(scheme, 40),
             "'; want always, first or never");
  std::vector<Step> steps{make_change([=](const Piece& piece) {
    std::string text;
    for (const char c : piece.text) {
      if (c == ' ') {
        text += mark;
      } else {
        text += c;
      }
    }
    const bool wanted = scheme == "always" || (scheme == "first" && piece.at_start);
    return wanted && !text.starts_with(mark) ? mark + text : text;
  })};
  if (value_or(json, "split", true))
    steps.push_back(make_pattern_split(std::make_shared<const Pattern>(Json(mark), kPart),
                                       Behavior::merged_with_next, false));
  return steps;
}

std::vector<Step> read_punctuation(const Json& json) {
  return {make_character_split(behavior_of(json, "Isolated"), is_bert_punctuation)};
}

std::vector<Step> read_split(const Json& json) {
  return {make_pattern_split(std::make_shared<const Pattern>(json.at("pattern"), kPart),
                             behavior_of(json, "Isolated"), value_or(json, "invert", false))};
}

std::vector<Step> read_whitespace(const Json&) {
  // Letters, marks, digits and joiners make words; PCRE2's own \w knows no marks.
  constexpr std::string_view kLetters = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d})";
  const Json words = {{"Regex", str("[", kLetters, "]+|[^\\s", kLetters, "]+")}};
  return {
      make_pattern_split(std::make_shared<const Pattern>(words, kPart), Behavior::removed, true)};
}

std::vector<Step> read_whitespace_split(const Json&) {
  return {make_character_split(Behavior::removed, is_white_space)};
}

struct Row {
  std::string_view type;
  std::vector<Step> (*read)(const Json&);
};
constexpr Row kRows[] = {
    // sorted:begin
    {"BertPreTokenizer", read_bert},
    {"ByteLevel", read_byte_level},
    {"CharDelimiterSplit", read_delimiter},
    {"Digits", read_digits},
    {"Metaspace", read_metaspace},
    {"Punctuation", read_punctuation},
    {"Split", read_split},
    {"Whitespace", read_whitespace},
    {"WhitespaceSplit", read_whitespace_split},
    // sorted:end
};

}  // namespace

PreTokenizer::PreTokenizer(const Json& json) {
  read(json, 0);
  if (ends_in_bytes_) steps_.pop_back();
}

void PreTokenizer::read(const Json& json, int depth) {
  if (json.is_null()) return;
  CHECK_USER(depth <= kMostNested, "tokenizer.json: ", kPart, ": nested too deeply; got more than ",
             kMostNested, " levels");
  const std::string type = type_of(json, kPart);
  if (type == "Sequence") {
    for (const Json& step : json.at("pretokenizers")) read(step, depth + 1);
    return;
  }
  for (Step& step : find_row(kRows, type, kPart).read(json)) steps_.push_back(std::move(step));
  ends_in_bytes_ = type == "ByteLevel";
}

}  // namespace lamella::tokenizer_json
