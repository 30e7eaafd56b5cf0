// A grammar of any bytes, and a text that goes through it: both are read or refused with UserError.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "lamella/base/error.h"
#include "lamella/text/grammar/grammar_matcher.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lamella;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  // The text stands behind a NUL.
  const size_t end = all.find('\0');
  const std::string_view text = end == all.npos ? all : all.substr(end + 1);
  try {
    GrammarMatcher matcher(std::make_shared<const Grammar>(all.substr(0, end)));
    uint32_t state = matcher.start();
    for (size_t i = 0; i < text.size() && state != GrammarMatcher::kNowhere; ++i) {
      state = matcher.step(state, static_cast<uint8_t>(text[i]));
      const bool accepts = matcher.accepts(state);
      if (i % 7 == 6) matcher.forget_all_but({&state, 1});
      if (matcher.accepts(state) != accepts) __builtin_trap();
    }
  } catch (const UserError&) {
    // Any other exception is a bug and ends the process.
  }
  return 0;
}
