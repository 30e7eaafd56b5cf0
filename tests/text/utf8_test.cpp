#include "lamella/text/utf8.h"

#include <gtest/gtest.h>

#include <random>

namespace lamella {
namespace {

TEST(Utf8, RepairsAsLlamaCppReads) {
  EXPECT_EQ(repair_utf8("abc"), "abc");
  EXPECT_EQ(repair_utf8("\xC3\x9F\xF0\x9F\x99\x82"), "ß🙂");
  EXPECT_EQ(repair_utf8("\xFF"), "\uFFFD");
  EXPECT_EQ(repair_utf8("\xF0\x9F\x98"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(repair_utf8("\xE2(\xA1"), "\uFFFD(\uFFFD");
  EXPECT_EQ(repair_utf8("\xC0\xAF"), "/");                                 // overlong
  EXPECT_EQ(repair_utf8("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");  // too high
  EXPECT_EQ(repair_utf8("\xED\xA0\x80"), "\xED\xA0\x80");                  // a surrogate stays
}

TEST(Utf8, StreamHoldsBackIncompleteCharacters) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("a\xF0\x9F"), "a");
  EXPECT_EQ(stream.push("\x99"), "");
  EXPECT_EQ(stream.push("\x82!"), "🙂!");
  EXPECT_EQ(stream.push("\xC3"), "");
  EXPECT_EQ(stream.push("x"), "\xC3x");  // will never be one
  EXPECT_EQ(stream.push("\xE4\xB8"), "");
  EXPECT_EQ(stream.finish(), "\xE4\xB8");
  EXPECT_EQ(stream.finish(), "");
  Utf8Stream replacing(true);
  EXPECT_EQ(replacing.push("\xC3x\x80\xE4"), "\uFFFDx\uFFFD");
  EXPECT_EQ(replacing.finish(), "\uFFFD");
}

TEST(Utf8, StreamLosesNothingHoweverItIsCut) {
  std::mt19937 rng(3);
  for (int round = 0; round < 500; ++round) {
    std::string bytes;
    for (size_t i = 0, n = rng() % 40; i < n; ++i)
      bytes += static_cast<char>(rng() % 3 == 0 ? rng() % 256 : 0x80 + rng() % 0x78);
    Utf8Stream stream;
    std::string out;
    for (size_t at = 0; at < bytes.size();) {
      const size_t n = 1 + rng() % 4;
      out += stream.push(std::string_view(bytes).substr(at, n));
      at += n;
    }
    EXPECT_EQ(out + stream.finish(), bytes);
  }
}

}  // namespace
}  // namespace lamella
