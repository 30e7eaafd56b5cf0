// Implements text/tokenizer.h.
#include "lamella/text/tokenizer.h"

#include <algorithm>
#include <bit>

#include "lamella/base/error.h"
#include "lamella/base/hash.h"
#include "lamella/base/text.h"
#include "lamella/text/bpe.h"
#include "lamella/text/byte_tokens.h"
#include "lamella/text/spm.h"
#include "lamella/text/unigram.h"
#include "lamella/text/word_model.h"
#include "lamella/text/word_piece.h"

namespace lamella {
namespace {

struct ModelRow {
  std::string_view name;
  std::unique_ptr<Tokenizer> (*make)(Vocabulary);
};

// The kinds of tokenizer, by the name that GGUF files carry in tokenizer.ggml.model.
constexpr ModelRow kModels[] = {
    {"bert", make_word_piece_tokenizer},
    {"gpt2", make_bpe_tokenizer},
    {"llama", make_spm_tokenizer},
    {"t5", make_unigram_tokenizer},
};

// `text` without the spaces before punctuation and contractions that WordPiece-style decoding
// leaves.
std::string without_loose_spaces(std::string text) {
  const auto at = [&](size_t i) { return i < text.size() ? text[i] : '\0'; };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = at(i + 1);
    const bool punctuation = next == '?' || next == '!' || next == '.' || next == ',';
    if (text[i] == ' ' && punctuation) continue;
    out += text[i];
  }
  text.swap(out);
  out.clear();
  for (size_t i = 0; i < text.size(); ++i) {  // a lone apostrophe loses both its spaces
    if (text[i] == ' ' && at(i + 1) == '\'' && at(i + 2) == ' ') {
      out += '\'';
      i += 2;
    } else {
      out += text[i];
    }
  }
  text.swap(out);
  out.clear();
  for (size_t i = 0; i < text.size(); ++i) {
    const char a = at(i + 2), b = at(i + 3);
    const bool contraction = a == 's' || a == 'm' || ((a == 'r' || a == 'v') && b == 'e');
    if (text[i] == ' ' && at(i + 1) == '\'' && contraction) continue;
    out += text[i];
  }
  return out;
}

}  // namespace

Tokenizer::Tokenizer(Vocabulary vocabulary, const Defaults& defaults)
    : vocabulary_(std::move(vocabulary)) {
  const Vocabulary& v = vocabulary_;
  add_bos_ = v.add_bos.value_or(defaults.add_bos && v.bos >= 0);
  add_eos_ = v.add_eos.value_or(defaults.add_eos && v.eos >= 0);
  add_space_prefix_ = v.add_space_prefix.value_or(defaults.add_space_prefix);
  clean_spaces_ = defaults.clean_spaces;
  CHECK_USER(!add_bos_ || v.bos >= 0,
             "tokenizer: prompts are to begin with the bos token; got a vocabulary without one");
  CHECK_USER(!add_eos_ || v.eos >= 0,
             "tokenizer: prompts are to end with the eos token; got a vocabulary without one");
  end_tokens_ = end_of_generation_tokens(v);
  index_tokens();
  std::vector<SpecialTokens::Entry> entries;
  for (int32_t id = 0; id < size(); ++id) {
    if (is_hidden(id) || type(id) == TokenType::user_defined)
      entries.push_back({v.tokens[id], id, is_hidden(id)});
  }
  special_tokens_ = SpecialTokens(std::move(entries));
}

void Tokenizer::set_pieces(const std::function<std::string(int32_t)>& bytes_of_token) {
  piece_offsets_.reserve(static_cast<size_t>(size()) + 1);
  for (int32_t id = 0; id < size(); ++id) {
    piece_offsets_.push_back(piece_bytes_.size());
    piece_bytes_ += is_hidden(id) ? vocabulary_.tokens[id] : bytes_of_token(id);
  }
  piece_offsets_.push_back(piece_bytes_.size());
  piece_bytes_.shrink_to_fit();
}

std::string Tokenizer::plain_piece(int32_t id) const {
  switch (type(id)) {
    case TokenType::normal:
      return unmark_spaces(token(id));
    case TokenType::user_defined:
      return token(id);
    case TokenType::byte:
      return byte_of_token(token(id), id);
    default:
      return {};
  }
}

bool Tokenizer::is_hidden(int32_t id) const {
  return type(id) == TokenType::control || type(id) == TokenType::unknown;
}

void Tokenizer::check_id(int32_t id) const {
  CHECK_USER(id >= 0 && id < size(), "tokenizer: token id is out of range; got ", id,
             "; want 0 to ", size() - 1);
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<int32_t> ids;
  if (options.add_special && add_bos_) ids.push_back(vocabulary_.bos);
  encode_fragments(special_tokens_.split(text, options.parse_special), ids);
  if (options.add_special && add_eos_) ids.push_back(vocabulary_.eos);
  return ids;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, const DecodeOptions& options) const {
  bool drop_space = add_space_prefix_;
  if (options.remove_special && add_bos_ && !ids.empty() && ids.front() == vocabulary_.bos) {
    ids = ids.subspan(1);
    drop_space = false;
  }
  if (options.remove_special && add_eos_ && !ids.empty() && ids.back() == vocabulary_.eos)
    ids = ids.first(ids.size() - 1);
  std::string text;
  for (const int32_t id : ids) {
    std::string_view bytes = piece(id, options.show_special);
    if (drop_space && bytes.starts_with(' ')) bytes.remove_prefix(1);
    drop_space = false;
    text += bytes;
  }
  return clean_spaces_ ? without_loose_spaces(std::move(text)) : text;
}

std::string_view Tokenizer::piece(int32_t id, bool show_special) const {
  check_id(id);
  if (!show_special && is_hidden(id)) return {};
  const size_t begin = piece_offsets_[id];
  return std::string_view(piece_bytes_).substr(begin, piece_offsets_[id + 1] - begin);
}

const std::string& Tokenizer::token(int32_t id) const {
  check_id(id);
  return vocabulary_.tokens[id];
}

TokenType Tokenizer::type(int32_t id) const {
  const int32_t number = vocabulary_.token_types[id];
  return number >= 0 && number <= 6 ? static_cast<TokenType>(number) : TokenType::undefined;
}

void Tokenizer::index_tokens() {
  slots_.assign(std::bit_ceil(static_cast<size_t>(size()) * 2), -1);
  for (int32_t id = 0; id < size(); ++id) slots_[slot(vocabulary_.tokens[id])] = id;
}

// Where `token` is in slots_, or where it would go.
size_t Tokenizer::slot(std::string_view token) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash_of(token) & mask;
  while (slots_[at] >= 0 && vocabulary_.tokens[slots_[at]] != token) at = (at + 1) & mask;
  return at;
}

int32_t Tokenizer::find(std::string_view token) const { return slots_[slot(token)]; }

bool Tokenizer::ends_generation(int32_t id) const {
  return std::binary_search(end_tokens_.begin(), end_tokens_.end(), id);
}

std::unique_ptr<Tokenizer> make_tokenizer(Vocabulary vocabulary) {
  normalise(vocabulary);
  for (const ModelRow& row : kModels)
    if (row.name == vocabulary.model) return row.make(std::move(vocabulary));
  const std::vector<std::string_view> names = tokenizer_models();
  throw UserError(str("tokenizer: unknown kind; got '", printable(vocabulary.model, 60),
                      "'; want one of ", join(names, ", "), did_you_mean(vocabulary.model, names)));
}

std::vector<std::string_view> tokenizer_models() {
  std::vector<std::string_view> names;
  for (const ModelRow& row : kModels) names.push_back(row.name);
  return names;
}

}  // namespace lamella
