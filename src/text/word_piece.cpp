// Implements text/word_piece.h.
#include "lamella/text/word_piece.h"

#include <algorithm>

#include "lamella/base/error.h"
#include "lamella/text/unicode.h"
#include "lamella/text/word_cache.h"

namespace lamella {
namespace {

struct Range {
  uint32_t low, high;
};
// The blocks of ideographs as BERT's own code has them.
constexpr Range kChinese[] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
                              {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F},
                              {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};

bool is_chinese(uint32_t code) {
  return code >= 0x3400 &&
         std::any_of(std::begin(kChinese), std::end(kChinese),
                     [&](const Range& r) { return code >= r.low && code <= r.high; });
}

std::string cleaned(std::string_view text) {
  std::string out;
  each_character(text, [&](uint32_t code, std::string_view bytes) {
    const bool is_line_space = code == '\t' || code == '\n' || code == '\r';
    if (code == 0 || code == 0xFFFD || (!is_line_space && is_other(code))) return;
    if (is_white_space(code)) {
      out += ' ';
    } else {
      out += bytes;
    }
  });
  return out;
}

}  // namespace

void WordPieceModel::add(Trie& trie, std::string_view text, int32_t id) {
  CHECK_USER(text.size() <= kLongestToken, "tokenizer: token ", id, " is too long; got ",
             text.size(), " bytes; want at most ", kLongestToken);
  trie.add(text, id);
}

void WordPieceModel::encode(std::string_view word, std::vector<int32_t>& ids) const {
  const size_t before = ids.size();
  size_t n = 0;
  if (longest_ != kNoLimit) each_character(word, [&](uint32_t, std::string_view) { ++n; });
  bool known = n <= longest_;
  // A piece may be empty where words begin: a mark alone.
  for (size_t at = 0, i = 0; known && (at < word.size() || i == 0); ++i) {
    const Trie::Match match = (i == 0 ? first_ : inner_).longest(word.substr(at));
    known = match.value >= 0 && (match.length > 0 || i == 0);
    if (!known) break;
    ids.push_back(match.value);
    at += match.length;
  }
  if (known) return;
  ids.resize(before);
  if (unknown_ >= 0) ids.push_back(unknown_);
}

std::string normalise_for_bert(std::string_view text, const BertNormalisation& options) {
  std::string out = options.clean ? cleaned(text) : std::string(text);
  if (options.space_chinese) {
    std::string spaced;
    each_character(out, [&](uint32_t code, std::string_view bytes) {
      const bool apart = is_chinese(code);
      if (apart) spaced += ' ';
      spaced += bytes;
      if (apart) spaced += ' ';
    });
    out.swap(spaced);
  }
  if (options.strip_accents) {
    std::string bare;
    each_character(normal_form(out, NormalForm::d), [&](uint32_t code, std::string_view bytes) {
      if (!is_accent(code)) bare += bytes;
    });
    out.swap(bare);
  }
  return options.lower ? lower_case(out) : out;
}

bool is_bert_punctuation(uint32_t code) {
  if (code < 0x80)
    return (code >= 33 && code <= 47) || (code >= 58 && code <= 64) || (code >= 91 && code <= 96) ||
           (code >= 123 && code <= 126);
  return is_punctuation(code);
}

namespace {

class WordPieceTokenizer final : public Tokenizer {
 public:
  explicit WordPieceTokenizer(Vocabulary v)
      : Tokenizer(std::move(v), {.add_bos = true, .add_eos = true, .clean_spaces = true}),
        model_(vocabulary().unk, WordPieceModel::kNoLimit) {
    for (int32_t id = 0; id < size(); ++id) {
      const std::string_view text = token(id);
      if (text.starts_with(kSpaceMark)) model_.add_first(text.substr(kSpaceMark.size()), id);
      model_.add_inner(text, id);
    }
    set_pieces([this](int32_t id) { return plain_piece(id); });
  }

 private:
  void encode_fragments(std::span<const Fragment> fragments,
                        std::vector<int32_t>& ids) const override {
    for (const Fragment& fragment : fragments) {
      if (fragment.id >= 0) {
        ids.push_back(fragment.id);
      } else {
        encode_text(repair_utf8(fragment.text), ids);
      }
    }
  }

  void encode_text(const std::string& text, std::vector<int32_t>& ids) const {
    const std::string normal = normalise_for_bert(text, {});
    WordCache cache;
    const auto take = [&](std::string_view word) {
      if (word.empty()) return;
      cache.append(word, ids,
                   [&](std::string_view w, std::vector<int32_t>& out) { model_.encode(w, out); });
    };
    size_t begin = 0, at = 0;
    each_character(normal, [&](uint32_t code, std::string_view bytes) {
      const bool is_space = is_white_space(code);
      if (is_space || is_bert_punctuation(code)) {
        take(std::string_view(normal).substr(begin, at - begin));
        if (!is_space) take(std::string_view(normal).substr(at, bytes.size()));
        begin = at + bytes.size();
      }
      at += bytes.size();
    });
    take(std::string_view(normal).substr(begin));
  }

  WordPieceModel model_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_word_piece_tokenizer(Vocabulary vocabulary) {
  vocabulary.eos = vocabulary.sep >= 0 ? vocabulary.sep : vocabulary.eos;
  vocabulary.add_eos = vocabulary.add_sep;
  return std::make_unique<WordPieceTokenizer>(std::move(vocabulary));
}

}  // namespace lamella
