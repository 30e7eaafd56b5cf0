#include "lamella/text/unicode.h"

#include <gtest/gtest.h>

#include <string>

namespace lamella {
namespace {

std::string utf8(const std::u8string& text) { return {text.begin(), text.end()}; }

// Values of Python 3.11's unicodedata (Unicode 14).
TEST(Unicode, NormalForms) {
  const struct {
    std::u8string text, c, d, kc, kd;
  } cases[] = {
      {u8"e\u0301\u0323", u8"\u1EB9\u0301", u8"e\u0323\u0301", u8"\u1EB9\u0301", u8"e\u0323\u0301"},
      {u8"\u212B", u8"\u00C5", u8"A\u030A", u8"\u00C5", u8"A\u030A"},
      {u8"\uFB01", u8"\uFB01", u8"\uFB01", u8"fi", u8"fi"},
      {u8"\u1E9B\u0323", u8"\u1E9B\u0323", u8"\u017F\u0323\u0307", u8"\u1E69", u8"s\u0323\u0307"},
      {u8"\uAC01", u8"\uAC01", u8"\u1100\u1161\u11A8", u8"\uAC01", u8"\u1100\u1161\u11A8"},
      {u8"\u0344", u8"\u0308\u0301", u8"\u0308\u0301", u8"\u0308\u0301", u8"\u0308\u0301"},
      {u8"\u00BD\u2167", u8"\u00BD\u2167", u8"\u00BD\u2167", u8"1\u20442VIII", u8"1\u20442VIII"},
      {u8"\u0958", u8"\u0915\u093C", u8"\u0915\u093C", u8"\u0915\u093C", u8"\u0915\u093C"},
      {u8"a\u0315\u0300\u05AEb", u8"\u00E0\u05AE\u0315b", u8"a\u05AE\u0300\u0315b",
       u8"\u00E0\u05AE\u0315b", u8"a\u05AE\u0300\u0315b"},
  };
  for (const auto& c : cases) {
    const std::string text = utf8(c.text);
    EXPECT_EQ(normal_form(text, NormalForm::c), utf8(c.c)) << text;
    EXPECT_EQ(normal_form(text, NormalForm::d), utf8(c.d)) << text;
    EXPECT_EQ(normal_form(text, NormalForm::kc), utf8(c.kc)) << text;
    EXPECT_EQ(normal_form(text, NormalForm::kd), utf8(c.kd)) << text;
  }
}

TEST(Unicode, CategoriesAndCase) {
  EXPECT_TRUE(is_accent(0x301) && is_mark(0x903) && !is_accent(0x903) && !is_mark('a'));
  EXPECT_TRUE(is_punctuation(0x3002) && is_punctuation('!') && !is_punctuation('$'));
  EXPECT_TRUE(is_numeric('7') && is_numeric(0xBD) && is_numeric(0x2167) && !is_numeric('a'));
  EXPECT_TRUE(is_other(0xAD) && is_other(0x7F) && is_other(0xE000) && !is_other(0x378));
  EXPECT_EQ(lower_case("AÄΣПİǅ"), "aäσпi\u0307ǆ");
}

}  // namespace
}  // namespace lamella
