// Implements text/tokenizer_json/models.h.
#include "lamella/text/tokenizer_json/models.h"

#include <algorithm>
#include <limits>

#include "lamella/text/byte_tokens.h"
#include "lamella/text/tokenizer_json/bpe_model.h"
#include "lamella/text/unigram.h"
#include "lamella/text/word_piece.h"

namespace lamella::tokenizer_json {
namespace {

constexpr std::string_view kPart = "model";
constexpr int32_t kMostIds = 1 << 24;

int32_t read_id(const Json& id, const std::string& text) {
  CHECK_USER(id.is_number_integer() && id.get<int64_t>() >= 0 && id.get<int64_t>() < kMostIds,
             "tokenizer.json: model: the id of '", printable(text, 60), "' is out of range; got ",
             printable(id.dump(), 40), "; want 0 to ", kMostIds - 1);
  return id.get<int32_t>();
}

std::string unknown_text(const Json& model) {
  return value_or<std::string>(model, "unk_token", "[UNK]");
}

int32_t find_token(const ModelVocabulary& vocabulary, const std::string& text) {
  for (const auto& [token, id] : vocabulary.tokens)
    if (token == text) return id;
  throw UserError(str("tokenizer.json: model: the unknown token is no token; got '",
                      printable(text, 60), "'; want one of the vocabulary"));
}

BpeModel::Merges read_merges(const Json& model) {
  BpeModel::Merges merges;
  const Json& list = model.at("merges");
  CHECK_USER(list.is_array(), "tokenizer.json: model: merges are no list");
  for (const Json& entry : list) {
    const bool is_pair = entry.is_array() && entry.size() == 2;
    const std::string line = entry.is_string() ? entry.get<std::string>() : std::string();
    const size_t space = line.find(' ');
    CHECK_USER(is_pair || (space != line.npos && line.find(' ', space + 1) == line.npos),
               "tokenizer.json: model: merge ", merges.size(), " is no pair; got ",
               printable(entry.dump(), 60), "; want two texts");
    if (is_pair) {
      merges.emplace_back(entry[0].get<std::string>(), entry[1].get<std::string>());
    } else {
      merges.emplace_back(line.substr(0, space), line.substr(space + 1));
    }
  }
  return merges;
}

Model make_bpe(const Json& model, const ModelVocabulary& vocabulary, const ModelOptions& options) {
  BpeOptions o{.unknown = std::nullopt,
               .inner_prefix = value_or<std::string>(model, "continuing_subword_prefix", ""),
               .end_suffix = value_or<std::string>(model, "end_of_word_suffix", ""),
               .fuse_unknown = value_or(model, "fuse_unk", false),
               .byte_fallback = value_or(model, "byte_fallback", false),
               .ignore_merges = value_or(model, "ignore_merges", false),
               .bytes = options.bytes};
  if (model.contains("unk_token") && model.at("unk_token").is_string())
    o.unknown = model.at("unk_token").get<std::string>();
  Model out;
  out.words = std::make_unique<BpeModel>(vocabulary.tokens, read_merges(model), o);
  out.joins_parts = true;
  if (o.unknown && o.fuse_unknown) out.fused_unknown = find_token(vocabulary, *o.unknown);
  return out;
}

Model make_unigram(const Json& model, const ModelVocabulary& vocabulary, const ModelOptions&) {
  std::array<int32_t, 256> byte_tokens;
  byte_tokens.fill(-1);
  const bool byte_fallback = value_or(model, "byte_fallback", false);
  std::vector<UnigramModel::Entry> entries;
  double lowest = std::numeric_limits<double>::max();
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const auto& [text, id] = vocabulary.tokens[i];
    uint8_t byte = 0;
    if (byte_fallback && parse_byte_token(text, byte)) byte_tokens[byte] = id;
    entries.push_back({text, vocabulary.scores[i], id});
    lowest = std::min(lowest, vocabulary.scores[i]);
  }
  const auto unknown = value_or<int64_t>(model, "unk_id", -1);
  CHECK_USER(unknown >= -1 && unknown < static_cast<int64_t>(entries.size()),
             "tokenizer.json: model: unk_id is out of range; got ", unknown, "; want less than ",
             entries.size());
  const auto id = static_cast<int32_t>(unknown);
  return {std::make_unique<UnigramModel>(entries, lowest, id, byte_tokens), id, true};
}

Model make_word_piece(const Json& model, const ModelVocabulary& vocabulary, const ModelOptions&) {
  const auto prefix = value_or<std::string>(model, "continuing_subword_prefix", "##");
  const auto longest = value_or<uint64_t>(model, "max_input_chars_per_word", 100);
  auto words = std::make_unique<WordPieceModel>(find_token(vocabulary, unknown_text(model)),
                                                static_cast<size_t>(longest));
  for (const auto& [text, id] : vocabulary.tokens) {
    words->add_first(text, id);
    if (text.starts_with(prefix)) words->add_inner(text.substr(prefix.size()), id);
  }
  return {.words = std::move(words)};
}

class WordLevelModel final : public WordModel {
 public:
  WordLevelModel(const ModelVocabulary& vocabulary, int32_t unknown)
      : ids_(vocabulary.tokens.begin(), vocabulary.tokens.end()), unknown_(unknown) {}

  void encode(std::string_view word, std::vector<int32_t>& ids) const override {
    const auto at = ids_.find(std::string(word));
    ids.push_back(at == ids_.end() ? unknown_ : at->second);
  }

 private:
  std::unordered_map<std::string, int32_t> ids_;
  int32_t unknown_;
};

Model make_word_level(const Json& model, const ModelVocabulary& vocabulary, const ModelOptions&) {
  return {.words = std::make_unique<WordLevelModel>(vocabulary,
                                                    find_token(vocabulary, unknown_text(model)))};
}

struct Row {
  std::string_view type;
  Model (*make)(const Json&, const ModelVocabulary&, const ModelOptions&);
};
constexpr Row kRows[] = {
    // sorted:begin
    {"BPE", make_bpe},
    {"Unigram", make_unigram},
    {"WordLevel", make_word_level},
    {"WordPiece", make_word_piece},
    // sorted:end
};

}  // namespace

std::string model_type(const Json& model) {
  if (model.contains("type")) return type_of(model, kPart);
  if (model.contains("merges")) return "BPE";
  if (model.contains("unk_id")) return "Unigram";
  return model.contains("continuing_subword_prefix") ? "WordPiece" : "WordLevel";
}

ModelVocabulary read_model_vocabulary(const Json& model) {
  ModelVocabulary out;
  const Json& vocab = model.at("vocab");
  CHECK_USER(vocab.is_object() || vocab.is_array(),
             "tokenizer.json: model: the vocabulary is no map or list; got ", vocab.type_name());
  out.tokens.reserve(vocab.size());
  if (vocab.is_array()) {
    for (const Json& entry : vocab) {
      CHECK_USER(
          entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_number(),
          "tokenizer.json: model: token ", out.tokens.size(), " is no pair; got ",
          printable(entry.dump(), 60), "; want a text and a score");
      out.scores.push_back(entry[1].get<double>());
      out.tokens.emplace_back(entry[0].get<std::string>(), static_cast<int32_t>(out.tokens.size()));
    }
    return out;
  }
  CHECK_USER(model_type(model) != "Unigram",
             "tokenizer.json: model: the vocabulary of a unigram model is a map; want a list of "
             "texts and scores");
  for (const auto& [text, id] : vocab.items()) out.tokens.emplace_back(text, read_id(id, text));
  std::sort(out.tokens.begin(), out.tokens.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });
  for (size_t i = 1; i < out.tokens.size(); ++i)
    CHECK_USER(out.tokens[i].second != out.tokens[i - 1].second,
               "tokenizer.json: model: two tokens have the same id; got '",
               printable(out.tokens[i - 1].first, 60), "' and '",
               printable(out.tokens[i].first, 60), "' both ", out.tokens[i].second,
               "; want each id once");
  return out;
}

bool takes_bytes(const Json& model) {
  return model_type(model) == "BPE" &&
         value_or<std::string>(model, "continuing_subword_prefix", "").empty() &&
         value_or<std::string>(model, "end_of_word_suffix", "").empty();
}

Model make_model(const Json& model, const ModelVocabulary& vocabulary,
                 const ModelOptions& options) {
  return find_row(kRows, model_type(model), kPart).make(model, vocabulary, options);
}

}  // namespace lamella::tokenizer_json
