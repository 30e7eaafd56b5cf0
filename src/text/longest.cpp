// Implements text/longest.h.
#include "lamella/text/longest.h"

#include "lamella/base/error.h"
#include "lamella/text/byte_tokens.h"
#include "lamella/text/trie.h"
#include "lamella/text/word_model.h"

namespace lamella {
namespace {

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    uint8_t byte = 0;
    if (c == 'x' && i + 2 < text.size() &&
        parse_byte_token("<0x" + std::string(text.substr(i + 1, 2)) + ">", byte)) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
    }
  }
  return out;
}

class LongestTokenizer final : public Tokenizer {
 public:
  explicit LongestTokenizer(Vocabulary v) : Tokenizer(std::move(v), {}) {
    for (int32_t id = 0; id < size(); ++id) {
      const std::string text = unescaped(token(id));
      CHECK_USER(text.size() <= kLongestToken, "tokenizer: token ", id, " is too long; got ",
                 text.size(), " bytes; want at most ", kLongestToken);
      if (!text.empty()) trie_.add(text, id);
    }
    set_pieces([this](int32_t id) { return unescaped(token(id)); });
  }

 private:
  void encode_fragments(std::span<const Fragment> fragments,
                        std::vector<int32_t>& ids) const override {
    for (const Fragment& fragment : fragments) {
      if (fragment.id >= 0) {
        ids.push_back(fragment.id);
        continue;
      }
      for (std::string_view rest = fragment.text; !rest.empty();) {
        const Trie::Match match = trie_.longest(rest);
        // A byte that begins no token is unknown: the first token, as these files have it.
        ids.push_back(match.length > 0 ? match.value : 0);
        rest.remove_prefix(match.length > 0 ? match.length : 1);
      }
    }
  }

  Trie trie_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_longest_tokenizer(Vocabulary vocabulary) {
  return std::make_unique<LongestTokenizer>(std::move(vocabulary));
}

}  // namespace lamella
