// What a template may cost, and where it is: every step, every byte made and every level of depth
// is counted, so that no template can hang, fill the memory or overflow the stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "lamella/base/error.h"

namespace lamella::jinja {

class Meter {
 public:
  struct Limits {
    int64_t steps = 0;  // nodes evaluated, plus one for every 32 bytes looked at
    int64_t bytes = 0;  // made in all, whether still held or not
    int depth = 0;      // nested evaluations
  };

  explicit Meter(const Limits& limits) : limits_(limits) {}

  int line = 1;  // of the template, for messages

  // "chat template, line 3: <message>".
  template <class... Args>
  [[noreturn]] void fail(const Args&... message) const {
    throw UserError(str("chat template, line ", line, ": ", message...));
  }

  void step(int64_t n = 1) {
    steps_ += n;
    if (steps_ > limits_.steps) [[unlikely]]
      fail("it does not end; got more than ", limits_.steps, " steps");
  }
  // Before looking at `bytes` bytes.
  void scan(size_t bytes) { step(1 + static_cast<int64_t>(bytes / 32)); }
  // Before making `bytes` bytes.
  void make(size_t bytes) {
    if (bytes > static_cast<size_t>(limits_.bytes - bytes_)) [[unlikely]]
      fail("it makes too much text; got more than ", limits_.bytes, " bytes");
    bytes_ += static_cast<int64_t>(bytes);
    step(1 + static_cast<int64_t>(bytes / 32));
  }

  // Counts one level of evaluation while it lives.
  class Level {
   public:
    explicit Level(Meter& meter) : meter_(meter) {
      if (++meter_.depth_ > meter_.limits_.depth) [[unlikely]] {
        --meter_.depth_;
        meter_.fail("it is nested too deeply; got more than ", meter_.limits_.depth, " levels");
      }
    }
    ~Level() { --meter_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Meter& meter_;
  };

 private:
  Limits limits_;
  int64_t steps_ = 0, bytes_ = 0;
  int depth_ = 0;
};

}  // namespace lamella::jinja
