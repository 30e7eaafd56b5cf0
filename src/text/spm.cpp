// Implements text/spm.h.
#include "lamella/text/spm.h"

#include <algorithm>
#include <deque>

#include "lamella/base/error.h"
#include "lamella/text/byte_tokens.h"
#include "lamella/text/unicode.h"
#include "lamella/text/word_cache.h"
#include "lamella/text/word_model.h"

namespace lamella {
namespace {

class SpmTokenizer final : public Tokenizer {
 public:
  explicit SpmTokenizer(Vocabulary v)
      : Tokenizer(std::move(v), {.add_bos = true, .add_space_prefix = true}), cutter_(*this) {
    check_scores(vocabulary());
    set_pieces([this](int32_t id) { return plain_piece(id); });
    byte_tokens_ = find_byte_tokens(*this);
    for (int32_t id = 0; id < size(); ++id) longest_ = std::max(longest_, token(id).size());
  }

 private:
  // A run of characters that is one token, or one character that is none.
  struct Symbol {
    uint32_t begin = 0, size = 0;  // size 0: has become part of the symbol to its left
    uint32_t previous = 0, next = 0;
    int32_t id = -1;
  };
  // A pair that could become the token `id`. It is stale when the two no longer have that size.
  struct Pair {
    float score = 0;
    uint32_t left = 0, size = 0;
    int32_t id = -1;
    bool operator<(const Pair& other) const {
      return score != other.score ? score < other.score : left > other.left;
    }
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  void encode_fragments(std::span<const Fragment> fragments,
                        std::vector<int32_t>& ids) const override {
    std::deque<std::string> texts;  // outlive the cache
    WordCache cache;
    bool prefix = add_space_prefix();
    for (const Fragment& fragment : fragments) {
      if (fragment.id >= 0) {
        ids.push_back(fragment.id);
        prefix = add_space_prefix();
        continue;
      }
      const std::string repaired = repair_utf8(fragment.text);
      texts.push_back((prefix ? std::string(kSpaceMark) : "") + mark_spaces(repaired));
      prefix = false;
      cutter_.cut(texts.back(), [&](std::string_view word) {
        cache.append(word, ids,
                     [&](std::string_view w, std::vector<int32_t>& out) { encode_word(w, out); });
      });
    }
  }

  void encode_word(std::string_view word, std::vector<int32_t>& ids) const {
    if (const int32_t whole = find(word); whole >= 0 && is_single(word)) {
      ids.push_back(whole);
      return;
    }
    std::vector<Symbol> symbols;
    symbols.reserve(word.size());
    uint32_t begin = 0;
    each_character(word, [&](uint32_t, std::string_view bytes) {
      const auto at = static_cast<uint32_t>(symbols.size());
      const auto size = static_cast<uint32_t>(bytes.size());
      symbols.push_back({begin, size, at == 0 ? kNone : at - 1, at + 1, find(bytes)});
      begin += size;
    });
    symbols.back().next = kNone;
    merge(word, symbols);
    for (uint32_t at = 0; at != kNone; at = symbols[at].next)
      append(word.substr(symbols[at].begin, symbols[at].size), symbols[at].id, ids);
  }

  static bool is_single(std::string_view word) {
    return last_character(word).size() == word.size();
  }

  void merge(std::string_view word, std::vector<Symbol>& symbols) const {
    std::vector<Pair> heap;
    const auto propose = [&](uint32_t left) {
      const Symbol& s = symbols[left];
      if (s.next == kNone) return false;
      const uint32_t size = s.size + symbols[s.next].size;
      if (size > longest_) return false;
      const int32_t id = find(word.substr(s.begin, size));
      if (id >= 0) heap.push_back({vocabulary().scores[id], left, size, id});
      return id >= 0;
    };
    for (uint32_t at = 0; at < symbols.size(); ++at) propose(at);
    std::make_heap(heap.begin(), heap.end());
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end());
      const Pair pair = heap.back();
      heap.pop_back();
      Symbol& left = symbols[pair.left];
      if (left.size == 0 || left.next == kNone) continue;
      Symbol& right = symbols[left.next];
      if (left.size + right.size != pair.size) continue;
      left.size = pair.size;
      left.id = pair.id;
      left.next = right.next;
      right.size = 0;
      if (left.next != kNone) symbols[left.next].previous = pair.left;
      if (propose(pair.left)) std::push_heap(heap.begin(), heap.end());
      if (left.previous != kNone && propose(left.previous))
        std::push_heap(heap.begin(), heap.end());
    }
  }

  // A character that is no token falls apart into bytes; where there is no token for a byte either,
  // it is unknown, or nothing.
  void append(std::string_view text, int32_t id, std::vector<int32_t>& ids) const {
    if (id >= 0) {
      ids.push_back(id);
      return;
    }
    for (const char byte : text) {
      int32_t of_byte = byte_tokens_[static_cast<uint8_t>(byte)];
      if (of_byte < 0) of_byte = vocabulary().unk;
      if (of_byte >= 0) ids.push_back(of_byte);
    }
  }

  MarkCutter cutter_;
  std::array<int32_t, 256> byte_tokens_{};
  size_t longest_ = 0;
};

}  // namespace

std::unique_ptr<Tokenizer> make_spm_tokenizer(Vocabulary vocabulary) {
  return std::make_unique<SpmTokenizer>(std::move(vocabulary));
}

}  // namespace lamella
