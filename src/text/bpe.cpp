// Implements text/bpe.h.
#include "lamella/text/bpe.h"

#include <array>
#include <deque>
#include <unordered_map>
#include <utility>

#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/text/bpe_merges.h"
#include "lamella/text/byte_alphabet.h"
#include "lamella/text/byte_tokens.h"
#include "lamella/text/pretokenize.h"
#include "lamella/text/word_cache.h"

namespace lamella {
namespace {

class BpeTokenizer final : public Tokenizer {
 public:
  BpeTokenizer(Vocabulary vocabulary, const std::vector<std::string>& merges,
               const PreTokenizerRow& row)
      : Tokenizer(std::move(vocabulary),
                  {.add_bos = row.add_bos, .clean_spaces = row.clean_spaces}),
        pre_tokenizer_(row),
        ignore_merges_(row.ignore_merges) {
    set_pieces([this](int32_t id) { return bytes_of_token(id); });
    build_symbols(merges);
  }

 private:
  void encode_fragments(std::span<const Fragment> fragments,
                        std::vector<int32_t>& ids) const override {
    std::deque<std::string> repaired;
    std::vector<uint32_t> symbols;
    WordCache cache;
    for (const Fragment& fragment : fragments) {
      if (fragment.id >= 0) {
        ids.push_back(fragment.id);
        continue;
      }
      std::string_view text = fragment.text;
      if (!is_utf8(text)) text = repaired.emplace_back(repair_utf8(text));
      for (const std::string_view word : pre_tokenizer_.split(text))
        cache.append(word, ids, [&](std::string_view w, std::vector<int32_t>& out) {
          merge_word(w, symbols, out);
        });
    }
  }

  void merge_word(std::string_view word, std::vector<uint32_t>& symbols,
                  std::vector<int32_t>& ids) const {
    if (ignore_merges_) {
      const int32_t whole = find(to_byte_alphabet(word));
      if (whole >= 0) {
        ids.push_back(whole);
        return;
      }
    }
    symbols.clear();
    for (const char byte : word) symbols.push_back(byte_symbols_[static_cast<uint8_t>(byte)]);
    merges_.apply(symbols);
    for (const uint32_t symbol : symbols) append_ids(symbol, ids);
  }

  // A symbol that is no token falls apart into the tokens of its characters' bytes; those that the
  // vocabulary lacks vanish, as in llama.cpp.
  void append_ids(uint32_t symbol, std::vector<int32_t>& ids) const {
    const auto n_tokens = static_cast<uint32_t>(size());
    if (symbol < n_tokens) {
      ids.push_back(static_cast<int32_t>(symbol));
      return;
    }
    for (const char byte : other_symbols_[symbol - n_tokens]) {
      const int32_t id = single_bytes_[static_cast<uint8_t>(byte)];
      if (id >= 0) ids.push_back(id);
    }
  }

  std::string bytes_of_token(int32_t id) const {
    const std::string& text = token(id);
    switch (type(id)) {
      case TokenType::normal:
        return from_byte_alphabet(text);
      case TokenType::user_defined:
        return text;
      case TokenType::byte:
        return byte_of_token(text, id);
      default:
        return {};
    }
  }

  // Symbols are token ids, then numbers for the texts that merge rules speak of but that are no
  // tokens.
  void build_symbols(const std::vector<std::string>& lines) {
    std::unordered_map<std::string, uint32_t> others;
    const auto symbol = [&](std::string text) {
      const int32_t id = find(text);
      if (id >= 0) return static_cast<uint32_t>(id);
      const auto next = static_cast<uint32_t>(size() + static_cast<int64_t>(others.size()));
      const auto [it, is_new] = others.emplace(std::move(text), next);
      if (is_new) other_symbols_.push_back(it->first);
      return it->second;
    };
    for (int byte = 0; byte < 256; ++byte) {
      byte_symbols_[byte] = symbol(std::string(byte_character(static_cast<uint8_t>(byte))));
      single_bytes_[byte] = find(std::string(1, static_cast<char>(byte)));
    }
    std::vector<BpeMerges::Merge> merges;
    merges.reserve(lines.size());
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string& line = lines[i];
      // A first character that is a space belongs to the left side.
      const size_t space = line.find(' ', 1);
      CHECK_USER(space != std::string::npos && space + 1 < line.size(), "tokenizer: merge ", i,
                 " is no pair; got '", printable(line, 60),
                 "'; want two texts and a space between");
      const std::string left = line.substr(0, space), right = line.substr(space + 1);
      merges.push_back({symbol(left), symbol(right), symbol(left + right)});
    }
    merges_ = BpeMerges(std::move(merges));
  }

  PreTokenizer pre_tokenizer_;
  bool ignore_merges_ = false;
  BpeMerges merges_;
  std::array<uint32_t, 256> byte_symbols_{};
  std::array<int32_t, 256> single_bytes_{};  // the token whose whole text is this byte; or -1
  std::vector<std::string> other_symbols_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_bpe_tokenizer(Vocabulary vocabulary) {
  const PreTokenizerRow& row = pre_tokenizer(vocabulary.pre);
  const std::vector<std::string> merges = std::exchange(vocabulary.merges, {});
  return std::make_unique<BpeTokenizer>(std::move(vocabulary), merges, row);
}

}  // namespace lamella
