// Implements text/tokenizer.h.
#include "lamella/text/tokenizer.h"

#include <algorithm>
#include <bit>

#include "lamella/base/error.h"
#include "lamella/base/hash.h"
#include "lamella/base/text.h"
#include "lamella/text/bpe.h"
#include "lamella/text/byte_tokens.h"
#include "lamella/text/longest.h"
#include "lamella/text/spm.h"
#include "lamella/text/unicode.h"
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
    {"bert", make_word_piece_tokenizer}, {"gpt2", make_bpe_tokenizer},
    {"llama", make_spm_tokenizer},       {"rwkv", make_longest_tokenizer},
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

// Bytes of white space at an end of `text`.
size_t n_leading_space(std::string_view text) {
  size_t n = 0;
  bool inside = true;
  each_character(text, [&](uint32_t code, std::string_view bytes) {
    inside &= is_white_space(code);
    n += inside ? bytes.size() : 0;
  });
  return n;
}
size_t n_trailing_space(std::string_view text) {
  size_t n = 0;
  each_character(text, [&](uint32_t code, std::string_view bytes) {
    n = is_white_space(code) ? n + bytes.size() : 0;
  });
  return n;
}

}  // namespace

Tokenizer::Tokenizer(Vocabulary vocabulary, const Defaults& defaults)
    : vocabulary_(std::move(vocabulary)) {
  const Vocabulary& v = vocabulary_;
  add_bos_ = v.add_bos.value_or(defaults.add_bos && v.bos >= 0);
  add_eos_ = v.add_eos.value_or(defaults.add_eos && v.eos >= 0);
  add_space_prefix_ = v.add_space_prefix.value_or(defaults.add_space_prefix);
  clean_spaces_ = defaults.clean_spaces;
  drop_first_shown_space_ = defaults.drop_first_shown_space;
  CHECK_USER(!add_bos_ || v.bos >= 0,
             "tokenizer: prompts are to begin with the bos token; got a vocabulary without one");
  CHECK_USER(!add_eos_ || v.eos >= 0,
             "tokenizer: prompts are to end with the eos token; got a vocabulary without one");
  if (add_bos_) before_.push_back(v.bos);
  if (add_eos_) after_.push_back(v.eos);
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
  set_all_pieces([&](int32_t id) { return is_hidden(id) ? token(id) : bytes_of_token(id); });
}

void Tokenizer::set_all_pieces(const std::function<std::string(int32_t)>& bytes_of_token) {
  piece_offsets_.reserve(static_cast<size_t>(size()) + 1);
  for (int32_t id = 0; id < size(); ++id) {
    piece_offsets_.push_back(piece_bytes_.size());
    piece_bytes_ += bytes_of_token(id);
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

void Tokenizer::set_affixes(std::vector<int32_t> before, std::vector<int32_t> after) {
  before_ = std::move(before);
  after_ = std::move(after);
  for (const int32_t id : before_) check_id(id);
  for (const int32_t id : after_) check_id(id);
  add_bos_ = !before_.empty();
  add_eos_ = !after_.empty();
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<int32_t> ids;
  if (options.add_special) ids = before_;
  std::vector<Fragment> fragments = split_special(text, options.parse_special);
  strip_beside(fragments);
  encode_fragments(fragments, ids);
  if (options.add_special) ids.insert(ids.end(), after_.begin(), after_.end());
  return ids;
}

void Tokenizer::strip_beside(std::vector<Fragment>& fragments) const {
  const Vocabulary& v = vocabulary_;
  if (v.strip_left.empty() && v.strip_right.empty()) return;
  const auto has = [](const std::vector<int32_t>& ids, int32_t id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  for (size_t i = 0; i < fragments.size(); ++i) {
    Fragment& fragment = fragments[i];
    if (fragment.id >= 0) continue;
    if (i > 0 && has(v.strip_right, fragments[i - 1].id))
      fragment.text.remove_prefix(n_leading_space(fragment.text));
    if (i + 1 < fragments.size() && has(v.strip_left, fragments[i + 1].id))
      fragment.text.remove_suffix(n_trailing_space(fragment.text));
  }
  std::erase_if(fragments, [](const Fragment& f) { return f.id < 0 && f.text.empty(); });
}

std::string Tokenizer::decode(std::span<const int32_t> ids, const DecodeOptions& options) const {
  bool drop_space = add_space_prefix_;
  const auto begins = [&](const std::vector<int32_t>& with) {
    return !with.empty() && ids.size() >= with.size() &&
           std::equal(with.begin(), with.end(), ids.begin());
  };
  if (options.remove_special && begins(before_)) {
    ids = ids.subspan(before_.size());
    drop_space = drop_space && drop_first_shown_space_;
  }
  if (options.remove_special && !after_.empty() && ids.size() >= after_.size() &&
      std::equal(after_.begin(), after_.end(), ids.end() - static_cast<ptrdiff_t>(after_.size())))
    ids = ids.first(ids.size() - after_.size());
  std::string text;
  for (const int32_t id : ids) {
    std::string_view bytes = piece(id, options.show_special);
    if (drop_first_shown_space_ && bytes.empty()) continue;
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
