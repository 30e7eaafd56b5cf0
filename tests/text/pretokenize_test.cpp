#include "lamella/text/pretokenize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace lamella {
namespace {

// By tokenizers 0.23.3: Split(Regex(p), "isolated") for each pattern p as its makers publish it.
TEST(PreTokenizer, RewrittenPatternsCutAsThePublishedOnes) {
  struct Case {
    const char* name;
    const char* text;
    std::vector<std::string_view> words;
  };
  const Case cases[] = {
      {"superbpe",
       "1234567 12345 it's 123abc 1234abc,½12345½ ٣٤٥٦ x1",
       {"1", "234", "567", " ", "12", "345", " it's ", "123", "abc ", "1", "234", "abc,", "½12",
        "345½", " ", "٣", "٤٥٦", " x", "1"}},
      {"superbpe",
       "I'LL go  to the école now / ok/\n12 한국어와 中文、テスト…“ok” Ab",
       {"I'LL go  to the école now / ok/\n", "12", " 한국어와 中文、テスト…“ok” Ab"}},
      {"superbpe",
       "a       b             c\n \n  \t9876543210",
       {"a       b             c\n \n  \t", "9", "876", "543", "210"}},
      {"tiny_aya",
       "1234567 12345 it's 123abc 1234abc,½12345½ ٣٤٥٦ x1",
       {"1", "234", "567", " ",   "12",  "345", " it's", " ", "123", "abc", " ", "123",
        "4", "abc", ",",   "½12", "345", "½",   " ",     "٣", "٤٥٦", " x",  "1"}},
      {"tiny_aya",
       "I'LL go  to the école now / ok/\n12 한국어와 中文、テスト…“ok” Ab",
       {"I'LL", " go", " ", " to", " the", " école", " now", " /", " ok", "/\n", "12", " 한국어와",
        " 中文", "、テスト", "…“", "ok", "”", " Ab"}},
      {"tiny_aya",
       "a       b             c\n \n  \t9876543210",
       {"a", "      ", " b", "            ", " c", "\n \n", "  \t", "9", "876", "543", "210"}},
      {"exaone-moe",
       "1234567 12345 it's 123abc 1234abc,½12345½ ٣٤٥٦ x1",
       {"1",  "2", "3", "4", "5", "6",   "7", " ", "1", "2", "3", "4",   "5", " it",
        "'s", " ", "1", "2", "3", "abc", " ", "1", "2", "3", "4", "abc", ",", "½",
        "1",  "2", "3", "4", "5", "½",   " ", "٣", "٤", "٥", "٦", " x",  "1"}},
      {"exaone-moe",
       "I'LL go  to the école now / ok/\n12 한국어와 中文、テスト…“ok” Ab",
       {"I", "'LL", " go", " ", " to the école now", " /", " ok", "/\n", "1", "2", " 한국어와 中文",
        "、テスト", "…“", "ok", "”", " Ab"}},
      {"exaone-moe",
       "a       b             c\n \n  \t9876543210",
       {"a", "      ", " b", "            ", " c", "\n \n", "  ", "\t", "9", "8", "7", "6", "5",
        "4", "3", "2", "1", "0"}},
      {"youtu",
       "1234567 12345 it's 123abc 1234abc,½12345½ ٣٤٥٦ x1",
       {"1", "2", "3", "4", "5",   "6", "7", " ", "1", "2", "3",   "4", "5", " it's",
        " ", "1", "2", "3", "abc", " ", "1", "2", "3", "4", "abc", ",", "½", "1",
        "2", "3", "4", "5", "½",   " ", "٣", "٤", "٥", "٦", " x",  "1"}},
      {"youtu",
       "I'LL go  to the école now / ok/\n12 한국어와 中文、テスト…“ok” Ab",
       {"I'LL", " go", " ",        " to", " the", " école", " now",   " /", " ok", "/\n", "1",
        "2",    " ",   "한국어와", " ",   "中文", "、",     "テスト", "…“", "ok",  "”",   " Ab"}},
      {"youtu",
       "a       b             c\n \n  \t9876543210",
       {"a", "      ", " b", "            ", " c", "\n \n", "  ", "\t", "9", "8", "7", "6", "5",
        "4", "3", "2", "1", "0"}},
      {"jais-2",
       "1234567 12345 it's 123abc 1234abc,½12345½ ٣٤٥٦ x1",
       {"123", "456", "7",   " ", "123", "45",  " it", "'s", " ",   "123", "abc", " ",
        "123", "4",   "abc", ",", "½12", "345", "½",   " ",  "٣٤٥", "٦",   " x",  "1"}},
      {"jais-2",
       "I'LL go  to the école now / ok/\n12 한국어와 中文、テスト…“ok” Ab",
       {"I",   "'LL", " go", " ",         " to",   " the",     " e", "́cole", " now", " /",
        " ok", "/\n", "12",  " 한국어와", " 中文", "、テスト", "…“", "ok",   "”",    " Ab"}},
      {"jais-2",
       "a       b             c\n \n  \t9876543210",
       {"a", "    ", "  ", " b", "        ", "    ", " c", "\n \n", "  ", "\t", "987", "654", "321",
        "0"}},
  };
  for (const Case& c : cases)
    EXPECT_EQ(PreTokenizer(pre_tokenizer(c.name)).split(c.text), c.words)
        << c.name << ": " << c.text;
}

// Far more than the stack of a matcher that goes back over what it has read.
TEST(PreTokenizer, TakesLongRunsOfOneCharacter) {
  std::set<const std::string_view*> seen;
  for (const PreTokenizerRow& row : pre_tokenizers()) {
    if (!seen.insert(row.patterns.data()).second) continue;
    const PreTokenizer split(row);
    for (const char* c : {"a", "7", " ", "\n", ".", "é", "中", "a ", "A"}) {
      std::string text;
      while (text.size() < (1 << 18)) text += c;
      size_t n = 0;
      for (const std::string_view word : split.split(text)) n += word.size();
      ASSERT_EQ(n, text.size()) << row.name << " " << c;
    }
  }
}

}  // namespace
}  // namespace lamella
