// Implements text/tokenizer_json.h.
#include "lamella/text/tokenizer_json.h"

#include <algorithm>
#include <unordered_map>

#include "lamella/text/byte_alphabet.h"
#include "lamella/text/byte_tokens.h"
#include "lamella/text/tokenizer_json/added_tokens.h"
#include "lamella/text/tokenizer_json/decoder.h"
#include "lamella/text/tokenizer_json/models.h"
#include "lamella/text/tokenizer_json/normalizer.h"
#include "lamella/text/tokenizer_json/post_processor.h"
#include "lamella/text/tokenizer_json/pre_tokenizer.h"
#include "lamella/text/word_cache.h"
#include "lamella/text/word_model.h"

namespace lamella {
namespace tokenizer_json {
namespace {

struct AddedToken {
  std::string text;
  int32_t id = -1;
  bool special = false, normalized = false, single_word = false;
};

struct Pipeline {
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  Decoder decoder;
  ModelVocabulary model_vocabulary;
  Json model;
  std::vector<AddedToken> added;
  Affixes affixes;
};

class JsonTokenizer final : public Tokenizer {
 public:
  JsonTokenizer(Vocabulary v, Pipeline p)
      : Tokenizer(std::move(v), {.add_space_prefix = p.decoder.drops_first_space(),
                                 .drop_first_shown_space = true}),
        normalizer_(std::move(p.normalizer)),
        pre_tokenizer_(std::move(p.pre_tokenizer)),
        bytes_(pre_tokenizer_.ends_in_bytes() && takes_bytes(p.model)),
        model_(make_model(p.model, p.model_vocabulary, {.bytes = bytes_})),
        cutter_(*this) {
    for (const AddedToken& t : p.added) {
      if (t.normalized) {
        normalized_.add(normalizer_.apply(t.text), t.id, t.single_word);
        continue;
      }
      if (!t.special) plain_.add(t.text, t.id, t.single_word);
      all_.add(t.text, t.id, t.single_word);
    }
    std::vector<bool> is_added(static_cast<size_t>(size()));
    for (const AddedToken& t : p.added) is_added[t.id] = true;
    set_all_pieces([&](int32_t id) {
      const bool is_plain = is_added[id] && p.decoder.is_byte_level();
      return is_plain                        ? token(id)
             : type(id) == TokenType::unused ? std::string()
                                             : p.decoder.piece(token(id));
    });
    set_affixes(p.affixes.before, p.affixes.after);
  }

 private:
  std::vector<Fragment> split_special(std::string_view text, bool parse_special) const override {
    return (parse_special ? all_ : plain_).split(text);
  }

  void encode_fragments(std::span<const Fragment> fragments,
                        std::vector<int32_t>& ids) const override {
    Texts texts;
    WordCache cache;
    bool at_start = true;
    for (const Fragment& fragment : fragments) {
      if (fragment.id >= 0) {
        ids.push_back(fragment.id);
      } else {
        encode_text(fragment.text, at_start, texts, cache, ids);
      }
      at_start = false;
    }
  }

  void encode_text(std::string_view text, bool at_start, Texts& texts, WordCache& cache,
                   std::vector<int32_t>& ids) const {
    const std::string& normal = texts.emplace_back(normalizer_.apply(strict_utf8(text)));
    for (const Fragment& fragment : normalized_.split(normal)) {
      if (fragment.id >= 0) {
        ids.push_back(fragment.id);
        at_start = false;
        continue;
      }
      std::vector<Piece> pieces{{fragment.text, at_start}};
      pre_tokenizer_.apply(pieces, texts);
      for (const Piece& piece : pieces) encode_piece(piece.text, texts, cache, ids);
      at_start = false;
    }
  }

  void encode_piece(std::string_view piece, Texts& texts, WordCache& cache,
                    std::vector<int32_t>& ids) const {
    if (piece.empty()) return;
    if (pre_tokenizer_.ends_in_bytes() && !bytes_)
      piece = texts.emplace_back(to_byte_alphabet(piece));
    const size_t first = ids.size();
    const auto encode = [&](std::string_view word) {
      const size_t before = ids.size();
      cache.append(word, ids, [&](std::string_view w, std::vector<int32_t>& out) {
        model_.words->encode(w, out);
      });
      // What is unknown on both sides of a cut is one token.
      const int32_t unknown = model_.fused_unknown;
      if (unknown >= 0 && before > first && before < ids.size() && ids[before] == unknown &&
          ids[before - 1] == unknown)
        ids.erase(ids.begin() + static_cast<ptrdiff_t>(before));
    };
    if (model_.joins_parts && !bytes_) {
      cutter_.cut(piece, encode);
    } else {
      encode(piece);
    }
  }

  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  bool bytes_ = false;  // words are raw bytes
  Model model_;
  MarkCutter cutter_;
  AddedTokens all_, plain_, normalized_;
};

// Copies of a value and messages about it go as deep as it is nested, so that is bounded first.
Json parse(std::string_view text, std::string_view name) {
  constexpr int kDeepest = 64;
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  CHECK_USER(deepest <= kDeepest, name, ": nested too deeply; got ", deepest,
             " levels; want at most ", kDeepest);
  return Json::parse(text);
}

std::vector<AddedToken> read_added(const Json& root) {
  std::vector<AddedToken> added;
  const Json list = value_or(root, "added_tokens", Json::array());
  CHECK_USER(list.is_array(), "tokenizer.json: added_tokens is no list");
  for (const Json& entry : list) {
    AddedToken t{.text = entry.at("content").get<std::string>(),
                 .id = -1,
                 .special = value_or(entry, "special", false),
                 .normalized = value_or(entry, "normalized", false),
                 .single_word = value_or(entry, "single_word", false)};
    const Json& id = entry.at("id");
    CHECK_USER(id.is_number_integer() && id.get<int64_t>() >= 0 && id.get<int64_t>() < 1 << 24,
               "tokenizer.json: the id of the added token '", printable(t.text, 60),
               "' is out of range; got ", printable(id.dump(), 40));
    t.id = id.get<int32_t>();
    added.push_back(std::move(t));
  }
  return added;
}

// All texts by id. Ids that nothing has are unused.
void fill_tokens(const Pipeline& p, Vocabulary& v) {
  const size_t n_named = p.model_vocabulary.tokens.size() + p.added.size();
  int32_t last = -1;
  for (const auto& [text, id] : p.model_vocabulary.tokens) last = std::max(last, id);
  for (const AddedToken& t : p.added) last = std::max(last, t.id);
  CHECK_USER(static_cast<size_t>(last) < 1024 + 8 * n_named || last < 0,
             "tokenizer.json: an id is out of range; got ", last, " with ", n_named,
             " tokens in all");
  v.tokens.resize(static_cast<size_t>(last + 1));
  v.token_types.assign(v.tokens.size(), int32_t(TokenType::unused));
  const auto set = [&](const std::string& text, int32_t id, TokenType type) {
    CHECK_USER(v.tokens[id].empty() || v.tokens[id] == text,
               "tokenizer.json: two tokens have the same id; got '", printable(v.tokens[id], 60),
               "' and '", printable(text, 60), "' both ", id, "; want each id once");
    v.tokens[id] = text;
    v.token_types[id] = int32_t(type);
  };
  uint8_t byte = 0;
  for (const auto& [text, id] : p.model_vocabulary.tokens)
    set(text, id,
        p.decoder.has_byte_tokens() && parse_byte_token(text, byte) ? TokenType::byte
                                                                    : TokenType::normal);
  for (const AddedToken& t : p.added)
    set(t.text, t.id, t.special ? TokenType::control : TokenType::user_defined);
}

// The id of the token that the configuration has under `key`: a text, or an object with it.
int32_t configured(const Json& config, const char* key,
                   const std::unordered_map<std::string_view, int32_t>& ids) {
  const auto at = config.find(key);
  if (at == config.end()) return -1;
  const Json& text = at->is_object() && at->contains("content") ? at->at("content") : *at;
  if (!text.is_string()) return -1;
  const auto found = ids.find(text.get_ref<const std::string&>());
  return found == ids.end() ? -1 : found->second;
}

void read_configuration(const TokenizerFiles& files, Vocabulary& v) {
  std::unordered_map<std::string_view, int32_t> ids;
  for (size_t id = 0; id < v.tokens.size(); ++id)
    ids.emplace(v.tokens[id], static_cast<int32_t>(id));
  if (!files.config.empty()) {
    const Json config = parse(files.config, "tokenizer_config.json");
    v.bos = configured(config, "bos_token", ids);
    v.eos = configured(config, "eos_token", ids);
    v.unk = configured(config, "unk_token", ids);
    v.sep = configured(config, "sep_token", ids);
    v.pad = configured(config, "pad_token", ids);
    v.mask = configured(config, "mask_token", ids);
  }
  if (files.generation.empty()) return;
  const Json generation = parse(files.generation, "generation_config.json");
  const Json ends = value_or(generation, "eos_token_id", Json());
  const auto add = [&](const Json& id) {
    if (id.is_number_integer() && id.get<int64_t>() >= 0 &&
        id.get<int64_t>() < static_cast<int64_t>(v.tokens.size()))
      v.ends.push_back(id.get<int32_t>());
  };
  if (ends.is_array()) {
    for (const Json& id : ends) add(id);
  } else {
    add(ends);
  }
}

std::unique_ptr<Tokenizer> read(const TokenizerFiles& files) {
  const Json root = parse(files.tokenizer, "tokenizer.json");
  CHECK_USER(root.is_object() && root.contains("model") && root.at("model").is_object(),
             "tokenizer.json: no model; got ", root.type_name(), "; want an object with 'model'");
  const auto part = [&](const char* key) { return value_or(root, key, Json()); };
  Pipeline p;
  p.normalizer = Normalizer(part("normalizer"));
  p.pre_tokenizer = PreTokenizer(part("pre_tokenizer"));
  p.decoder = Decoder(part("decoder"));
  p.model = root.at("model");
  p.model_vocabulary = read_model_vocabulary(p.model);
  p.added = read_added(root);
  p.affixes = read_affixes(part("post_processor"));
  Vocabulary v;
  v.model = model_type(p.model);
  fill_tokens(p, v);
  for (const Json& entry : value_or(root, "added_tokens", Json::array())) {
    if (value_or(entry, "lstrip", false)) v.strip_left.push_back(entry.at("id").get<int32_t>());
    if (value_or(entry, "rstrip", false)) v.strip_right.push_back(entry.at("id").get<int32_t>());
  }
  read_configuration(files, v);
  normalise(v);
  return std::make_unique<JsonTokenizer>(std::move(v), std::move(p));
}

std::string read_template(std::string_view config) {
  const Json root = parse(config, "chat template");
  const Json found = root.is_object() ? value_or(root, "chat_template", Json()) : Json();
  if (found.is_string()) return found.get<std::string>();
  std::string first;
  if (!found.is_array()) return first;
  for (const Json& entry : found) {
    const auto text = entry.at("template").get<std::string>();
    if (entry.at("name") == "default") return text;
    if (first.empty()) first = text;
  }
  return first;
}

}  // namespace
}  // namespace tokenizer_json

std::unique_ptr<Tokenizer> tokenizer_from_json(const TokenizerFiles& files) {
  try {
    return tokenizer_json::read(files);
  } catch (const tokenizer_json::Json::exception& error) {
    throw UserError(str("tokenizer.json: not of its form; got: ", printable(error.what(), 200)));
  }
}

std::string chat_template_from_json(std::string_view config) {
  try {
    return tokenizer_json::read_template(config);
  } catch (const tokenizer_json::Json::exception& error) {
    throw UserError(str("chat template: not of its form; got: ", printable(error.what(), 200)));
  }
}

}  // namespace lamella
