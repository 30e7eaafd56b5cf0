// Regular expressions over UTF-8, for cutting texts: PCRE2 with \s and \S as Unicode's White_Space
// and Oniguruma's intersections of classes.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace lamella {

// A compiled pattern. Immutable and shared by threads.
class Regex {
 public:
  struct Options {
    // For patterns known to take linear time; others are stopped with an error where they do not.
    bool is_linear = false;
  };
  // UserError when `source` is no pattern.
  explicit Regex(std::string_view source) : Regex(source, Options()) {}
  Regex(std::string_view source, const Options& options);
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  // Scratch memory of one thread.
  class Scratch {
   public:
    Scratch();
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

   private:
    friend class Regex;
    void* data_;
  };

  // The next match that is not empty in `text`, which is UTF-8, at or after `from`. False if there
  // is none; UserError if looking for one takes too long.
  bool match(std::string_view text, size_t from, Scratch& scratch, size_t& begin,
             size_t& end) const;

 private:
  struct Code;
  std::unique_ptr<Code> code_;
};

}  // namespace lamella
