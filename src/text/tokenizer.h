// Text to token ids and back. A Tokenizer is immutable and shared by threads; `make_tokenizer`
// picks the kind that the vocabulary's model name asks for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lamella/text/special_tokens.h"
#include "lamella/text/utf8.h"
#include "lamella/text/vocabulary.h"

namespace lamella {

struct EncodeOptions {
  bool add_special = true;     // bos and eos, where the vocabulary wants them
  bool parse_special = false;  // control tokens in the text are tokens, not letters
};

struct DecodeOptions {
  bool remove_special = false;  // drop a leading bos and a trailing eos that encoding had added
  bool show_special = false;    // write control tokens as their text
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Any bytes are a text: what is not UTF-8 is tokenised byte by byte as U+FFFD.
  std::vector<int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const;

  // Bytes, which are UTF-8 only if the ids end at a character's end. UserError for an id out of
  // range.
  std::string decode(std::span<const int32_t> ids, const DecodeOptions& options = {}) const;

  // The bytes one token stands for; empty for a control token unless `show_special`.
  std::string_view piece(int32_t id, bool show_special = false) const;

  int64_t size() const { return static_cast<int64_t>(vocabulary_.tokens.size()); }
  const std::string& token(int32_t id) const;  // as the file has it
  TokenType type(int32_t id) const;
  // The id of a token by its text in the file; -1 if there is none.
  int32_t find(std::string_view token) const;
  bool ends_generation(int32_t id) const;
  std::span<const int32_t> end_tokens() const { return end_tokens_; }
  bool adds_bos() const { return add_bos_; }
  bool adds_eos() const { return add_eos_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }  // without its merges

 protected:
  // What a kind of tokenizer does where the file says nothing.
  struct Defaults {
    bool add_bos = false;
    bool add_eos = false;
    bool add_space_prefix = false;
    bool clean_spaces = false;
    // Decoding drops a space at the start of the first token that shows, not only of the first.
    bool drop_first_shown_space = false;
  };

  // `vocabulary` is normalised. Derived constructors call set_pieces.
  Tokenizer(Vocabulary vocabulary, const Defaults& defaults);

  // Keeps, for every id, the bytes that `bytes_of_token` gives for it; of control and unknown
  // tokens only the text is kept.
  void set_pieces(const std::function<std::string(int32_t)>& bytes_of_token);

  // The same for all tokens.
  void set_all_pieces(const std::function<std::string(int32_t)>& bytes_of_token);

  // Appends the ids of `fragments`; those with an id stand for themselves.
  virtual void encode_fragments(std::span<const Fragment> fragments,
                                std::vector<int32_t>& ids) const = 0;

  // The bytes of a token of a vocabulary that marks spaces and writes bytes as <0x0A>.
  std::string plain_piece(int32_t id) const;

  bool add_space_prefix() const { return add_space_prefix_; }

  // What stands before and after a text: bos and eos unless set.
  void set_affixes(std::vector<int32_t> before, std::vector<int32_t> after);

  // The text in pieces: tokens that stand for themselves, and what lies between them.
  virtual std::vector<Fragment> split_special(std::string_view text, bool parse_special) const {
    return special_tokens_.split(text, parse_special);
  }

 private:
  void strip_beside(std::vector<Fragment>& fragments) const;
  bool is_hidden(int32_t id) const;
  void check_id(int32_t id) const;
  size_t slot(std::string_view token) const;
  void index_tokens();

  Vocabulary vocabulary_;
  bool add_bos_ = false, add_eos_ = false, add_space_prefix_ = false, clean_spaces_ = false;
  bool drop_first_shown_space_ = false;
  std::vector<int32_t> before_, after_;  // what encoding adds
  std::vector<int32_t> end_tokens_;
  SpecialTokens special_tokens_;
  std::string piece_bytes_;            // all pieces, one after the other
  std::vector<size_t> piece_offsets_;  // size() + 1 of them
  std::vector<int32_t> slots_;         // open-addressed: ids by the hash of their text, -1 free
};

// Checks `vocabulary` and makes the tokenizer its model name asks for. UserError names what is
// wrong.
std::unique_ptr<Tokenizer> make_tokenizer(Vocabulary vocabulary);

// Names that make_tokenizer knows.
std::vector<std::string_view> tokenizer_models();

// Turns a stream of ids to text that can be shown as it comes: bytes of a character that is not
// complete yet are held back.
class TokenStream {
 public:
  explicit TokenStream(const Tokenizer& tokenizer, bool show_special = false)
      : tokenizer_(&tokenizer), show_special_(show_special) {}

  std::string push(int32_t id) { return utf8_.push(tokenizer_->piece(id, show_special_)); }
  std::string finish() { return utf8_.finish(); }

 private:
  const Tokenizer* tokenizer_;
  bool show_special_;
  Utf8Stream utf8_;
};

}  // namespace lamella
