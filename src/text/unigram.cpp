// Implements text/unigram.h.
#include "lamella/text/unigram.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/text/charsmap.h"
#include "lamella/text/unicode.h"
#include "lamella/text/word_cache.h"

namespace lamella {
namespace {

constexpr double kUnknownPenalty = 10;

}  // namespace

// The best way to reach a byte: the token that ends there, and where it begins.
struct UnigramModel::Step {
  double score = -std::numeric_limits<double>::infinity();
  uint32_t begin = 0;
  int32_t id = -1;  // -1: an unknown character
};

UnigramModel::UnigramModel(const std::vector<Entry>& entries, double lowest_score, int32_t unknown,
                           const std::array<int32_t, 256>& byte_tokens)
    : unknown_score_(lowest_score - kUnknownPenalty), unknown_(unknown), byte_tokens_(byte_tokens) {
  for (const Entry& e : entries) {
    CHECK_USER(std::isfinite(e.score), "tokenizer: the score of token ", e.id,
               " is no number; got ", e.score, "; want a finite one");
    CHECK_USER(e.text.size() <= kLongestToken, "tokenizer: token ", e.id, " is too long; got ",
               e.text.size(), " bytes; want at most ", kLongestToken);
    if (static_cast<size_t>(e.id) >= scores_.size()) scores_.resize(static_cast<size_t>(e.id) + 1);
    scores_[e.id] = e.score;
    if (!e.text.empty()) trie_.add(e.text, e.id);
    if (e.id == unknown_) unknown_text_ = e.text;
  }
  has_byte_tokens_ =
      std::all_of(byte_tokens_.begin(), byte_tokens_.end(), [](int32_t id) { return id >= 0; });
  CHECK_USER(unknown_ >= 0 || has_byte_tokens_,
             "tokenizer: no token for unknown characters; got none in ", entries.size(),
             " entries; want its id, or tokens for all bytes");
}

void UnigramModel::encode(std::string_view word, std::vector<int32_t>& ids) const {
  std::vector<Step> best(word.size() + 1);
  best[0].score = 0;
  for (size_t at = 0; at < word.size();) {
    const size_t n_first = std::min(leading_character(word.substr(at)).size(), word.size() - at);
    const double here = best[at].score;
    bool known = false;
    const auto reach = [&](size_t end, double score, int32_t id) {
      if (score > best[end].score) best[end] = {score, static_cast<uint32_t>(at), id};
    };
    uint32_t node = Trie::kRoot;
    for (size_t end = at; end < word.size();) {
      node = trie_.next(node, word[end++]);
      if (node == Trie::kNowhere) break;
      const int32_t id = trie_.value(node);
      if (id < 0) continue;
      known |= end - at == n_first;
      reach(end, here + scores_[id], id);
    }
    if (!known) reach(at + n_first, here + unknown_score_, -1);
    at += n_first;
  }
  // The text of the unknown token counts as unknown too.
  const auto is_unknown = [this](int32_t id) { return id < 0 || id == unknown_; };
  // Backwards from the end; tokens that end inside of a character are never begun from.
  std::vector<std::pair<size_t, size_t>> spans;
  for (size_t end = word.size(); end > 0; end = best[end].begin)
    spans.emplace_back(best[end].begin, end);
  for (size_t i = spans.size(); i-- > 0;) {
    const auto [begin, end] = spans[i];
    if (!is_unknown(best[end].id)) {
      ids.push_back(best[end].id);
      continue;
    }
    size_t last = end;
    while (i > 0 && is_unknown(best[spans[i - 1].second].id)) last = spans[--i].second;
    append_unknown(word.substr(begin, last - begin), ids);
  }
}

void UnigramModel::append_unknown(std::string_view text, std::vector<int32_t>& ids) const {
  if (!has_byte_tokens_ || (unknown_ >= 0 && text == unknown_text_)) {
    ids.push_back(unknown_);
    return;
  }
  for (const char byte : text) ids.push_back(byte_tokens_[static_cast<uint8_t>(byte)]);
}

namespace {

class UnigramTokenizer final : public Tokenizer {
 public:
  explicit UnigramTokenizer(Vocabulary v)
      : Tokenizer(std::move(v), {.add_eos = true, .add_space_prefix = true}),
        map_(vocabulary().precompiled_charsmap),
        merge_spaces_(vocabulary().remove_extra_whitespaces.value_or(false)),
        model_(make_model()),
        cutter_(*this) {
    set_pieces([this](int32_t id) { return plain_piece(id); });
  }

 private:
  UnigramModel make_model() const {
    const Vocabulary& v = vocabulary();
    std::vector<UnigramModel::Entry> entries;
    double lowest = std::numeric_limits<double>::max();
    for (int32_t id = 0; id < size(); ++id) {
      const TokenType kind = type(id);
      if (kind == TokenType::normal) lowest = std::min(lowest, double{v.scores[id]});
      if (kind == TokenType::normal || kind == TokenType::unused)
        entries.push_back({v.tokens[id], v.scores[id], id});
      if (kind == TokenType::user_defined) entries.push_back({v.tokens[id], 0, id});
    }
    CHECK_USER(v.unk >= 0,
               "tokenizer: no token for unknown characters; got kind 't5' without "
               "one; want its id");
    std::array<int32_t, 256> no_bytes;
    no_bytes.fill(-1);
    return UnigramModel(entries, lowest, v.unk, no_bytes);
  }

  void encode_fragments(std::span<const Fragment> fragments,
                        std::vector<int32_t>& ids) const override {
    std::deque<std::string> texts;  // outlive the cache
    WordCache cache;
    for (const Fragment& fragment : fragments) {
      if (fragment.id >= 0) {
        ids.push_back(fragment.id);
        continue;
      }
      texts.push_back(normalise(repair_utf8(fragment.text)));
      const size_t first = ids.size();
      cutter_.cut(texts.back(), [&](std::string_view word) {
        const size_t before = ids.size();
        cache.append(word, ids,
                     [&](std::string_view w, std::vector<int32_t>& out) { model_.encode(w, out); });
        // What is unknown on both sides of a cut is one token.
        const int32_t unk = vocabulary().unk;
        if (before > first && before < ids.size() && ids[before - 1] == unk && ids[before] == unk)
          ids.erase(ids.begin() + static_cast<ptrdiff_t>(before));
      });
    }
  }

  // The rules of the map, then spaces: a mark for each, or for each run of them, none at the ends.
  std::string normalise(std::string_view text) const {
    const std::string mapped = map_.normalise(text);
    std::string out;
    bool after_space = true, started = false;
    for (const char c : mapped) {
      if (c == ' ') {
        if (!merge_spaces_) out += kSpaceMark;
        after_space = true;
        continue;
      }
      if (after_space && (started ? merge_spaces_ : add_space_prefix())) out += kSpaceMark;
      after_space = false;
      started = true;
      out += c;
    }
    return out;
  }

  CharsMap map_;
  bool merge_spaces_ = false;
  UnigramModel model_;
  MarkCutter cutter_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_unigram_tokenizer(Vocabulary vocabulary) {
  return std::make_unique<UnigramTokenizer>(std::move(vocabulary));
}

}  // namespace lamella
