#include "lamella/text/stop_strings.h"

#include <gtest/gtest.h>

#include <random>

#include "lamella/base/error.h"

namespace lamella {
namespace {

TEST(StopStrings, HoldsBackWhatCouldBecomeOne) {
  StopStrings stop({"\nUser:", "END"});
  EXPECT_EQ(stop.push("Hello\nUs"), "Hello");
  EXPECT_EQ(stop.push("age E"), "\nUsage ");
  EXPECT_EQ(stop.push("N"), "");
  EXPECT_EQ(stop.push("EN"), "EN");  // EN of ENEN can no longer become END
  EXPECT_EQ(stop.push("D and more"), "");
  EXPECT_EQ(stop.found(), "END");
  EXPECT_EQ(stop.push("more"), "");
  EXPECT_EQ(stop.finish(), "");
}

TEST(StopStrings, GivesTheRestAtTheEnd) {
  StopStrings stop({"</s>"});
  EXPECT_EQ(stop.push("a</"), "a");
  EXPECT_EQ(stop.finish(), "</");
  EXPECT_TRUE(stop.found().empty());
  EXPECT_EQ(StopStrings().push("anything"), "anything");
  EXPECT_THROW(StopStrings({"x", ""}), UserError);
}

// However the text is cut, the same comes out: what stands before the first end of a stop string.
TEST(StopStrings, EqualsSearchingTheWholeText) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 rng(seed);
    const auto random = [&](size_t n) {
      std::string text;
      for (size_t i = 0; i < n; ++i) text += static_cast<char>('a' + rng() % 2);
      return text;
    };
    const std::vector<std::string> strings{random(2 + rng() % 5), random(3 + rng() % 4)};
    const std::string text = random(40);
    size_t end = text.npos, length = 0;
    for (const std::string& s : strings) {
      const size_t at = text.find(s);
      if (at == text.npos) continue;
      const size_t own = at + s.size();
      if (end == text.npos || own < end || (own == end && s.size() > length)) {
        end = own;
        length = s.size();
      }
    }
    StopStrings stop(strings);
    std::string shown;
    for (size_t at = 0; at < text.size();) {
      const size_t n = std::min<size_t>(1 + rng() % 4, text.size() - at);
      shown += stop.push(text.substr(at, n));
      at += n;
    }
    shown += stop.finish();
    EXPECT_EQ(shown, end == text.npos ? text : text.substr(0, end - length));
    EXPECT_EQ(stop.found().empty(), end == text.npos);
  }
}

}  // namespace
}  // namespace lamella
