// Implements text/tokenizer_json/decoder.h.
#include "lamella/text/tokenizer_json/decoder.h"

#include <memory>

#include "lamella/text/byte_alphabet.h"
#include "lamella/text/byte_tokens.h"
#include "lamella/text/tokenizer_json/pattern.h"
#include "lamella/text/word_model.h"

namespace lamella::tokenizer_json {
namespace {

constexpr std::string_view kPart = "decoder";
using Step = Decoder::Step;

void replace_all(std::string& text, std::string_view old, std::string_view with) {
  if (old.empty()) return;
  for (size_t at = text.find(old); at != text.npos; at = text.find(old, at + with.size()))
    text.replace(at, old.size(), with);
}

struct Made {
  Step step;  // empty: nothing to do for a single token
  bool drops_first_space = false;
  bool has_byte_tokens = false;
};

Made make_bpe(const Json& json) {
  const auto suffix = value_or<std::string>(json, "suffix", "</w>");
  return {.step = [suffix](std::string& text) { replace_all(text, suffix, " "); }};
}

Made make_byte_fallback(const Json&) {
  return {.step =
              [](std::string& text) {
                uint8_t byte = 0;
                if (parse_byte_token(text, byte)) text.assign(1, static_cast<char>(byte));
              },
          .has_byte_tokens = true};
}

Made make_byte_level(const Json&) {
  return {.step = [](std::string& text) { text = from_byte_alphabet(text); }};
}

Made make_fuse(const Json&) { return {}; }

Made make_metaspace(const Json& json) {
  const auto mark = value_or<std::string>(json, "replacement", std::string(kSpaceMark));
  const bool old_prefix = value_or(json, "add_prefix_space", true);
  const auto scheme =
      value_or<std::string>(json, "prepend_scheme", old_prefix ? "always" : "never");
  return {.step = [mark](std::string& text) { replace_all(text, mark, " "); },
          .drops_first_space = scheme != "never"};
}

Made make_replace(const Json& json) {
  const auto pattern = std::make_shared<const Pattern>(json.at("pattern"), kPart);
  const std::string content = short_text(json.at("content"), kPart);
  return {.step = [pattern, content](std::string& text) {
    std::string out;
    size_t at = 0;
    pattern->each(text, [&](size_t begin, size_t end) {
      out.append(text, at, begin - at);
      out += content;
      at = end;
    });
    text = out.append(text, at);
  }};
}

// Of a text that has been put together: only its first space, as files of this kind have it.
Made make_strip(const Json& json) {
  const auto content = value_or<std::string>(json, "content", " ");
  const auto start = value_or<int64_t>(json, "start", 0), stop = value_or<int64_t>(json, "stop", 0);
  CHECK_USER(content == " " && (start == 0 || start == 1) && stop == 0,
             "tokenizer.json: decoder: Strip; got '", printable(content, 20), "' ", start, " and ",
             stop, " times; want ' ' once at the start");
  return {.step = {}, .drops_first_space = start == 1};
}

Made make_word_piece(const Json& json) {
  const auto prefix = value_or<std::string>(json, "prefix", "##");
  const bool clean = value_or(json, "cleanup", true);
  return {.step =
              [=](std::string& text) {
                if (text.starts_with(prefix)) {
                  text.erase(0, prefix.size());
                } else {
                  text.insert(text.begin(), ' ');
                }
                // What stands close to the word before it.
                constexpr std::string_view kClose[] = {".",  "?",  "!",   ",",  "n't",
                                                       "'m", "'s", "'ve", "'re"};
                for (const std::string_view close : kClose)
                  if (clean) replace_all(text, str(" ", close), close);
              },
          .drops_first_space = true};
}

struct Row {
  std::string_view type;
  Made (*make)(const Json&);
};
constexpr Row kRows[] = {
    // sorted:begin
    {"BPEDecoder", make_bpe}, {"ByteFallback", make_byte_fallback}, {"ByteLevel", make_byte_level},
    {"Fuse", make_fuse},      {"Metaspace", make_metaspace},        {"Replace", make_replace},
    {"Strip", make_strip},    {"WordPiece", make_word_piece},
    // sorted:end
};

}  // namespace

Decoder::Decoder(const Json& json) { read(json, 0); }

void Decoder::read(const Json& json, int depth) {
  if (json.is_null()) return;
  CHECK_USER(depth <= kMostNested, "tokenizer.json: ", kPart, ": nested too deeply; got more than ",
             kMostNested, " levels");
  const std::string type = type_of(json, kPart);
  if (type == "Sequence") {
    for (const Json& step : json.at("decoders")) read(step, depth + 1);
    return;
  }
  Made made = find_row(kRows, type, kPart).make(json);
  if (made.step) steps_.push_back(std::move(made.step));
  is_byte_level_ |= type == "ByteLevel";
  drops_first_space_ |= made.drops_first_space;
  has_byte_tokens_ |= made.has_byte_tokens;
}

std::string Decoder::piece(std::string text) const {
  for (const Step& step : steps_) step(text);
  return text;
}

}  // namespace lamella::tokenizer_json
