#include "lamella/text/special_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "lamella/base/error.h"

namespace lamella {
namespace {

std::string show(const std::vector<Fragment>& fragments) {
  std::string out;
  for (const Fragment& f : fragments) out += f.id < 0 ? str("(", f.text, ")") : str("[", f.id, "]");
  return out;
}

TEST(SpecialTokens, LongestWinsThenLowestId) {
  const SpecialTokens tokens({{"ab", 0, false}, {"abc", 1, false}, {"cd", 2, true}});
  EXPECT_EQ(show(tokens.split("xabcdab", true)), "(x)[1](d)[0]");
  EXPECT_EQ(show(tokens.split("cdab", true)), "[2][0]");
  EXPECT_EQ(show(tokens.split("cdab", false)), "(cd)[0]");
  EXPECT_EQ(show(tokens.split("", true)), "");
}

TEST(SpecialTokens, EqualsSearchingForOneTokenAfterTheOther) {
  std::mt19937 rng(11);
  for (int round = 0; round < 300; ++round) {
    const auto word = [&](size_t longest) {
      std::string text;
      for (size_t i = 0, n = 1 + rng() % longest; i < n; ++i) text += "ab"[rng() % 2];
      return text;
    };
    std::vector<SpecialTokens::Entry> entries;
    for (int32_t id = 0; id < 4; ++id) {
      const std::string text = word(4);
      bool is_new = true;
      for (const auto& e : entries) is_new = is_new && e.text != text;
      if (is_new) entries.push_back({text, id, false});
    }
    const std::string text = word(30);
    // By definition: tokens from the longest to the shortest, each at all its free places.
    std::vector<Fragment> want{{text, -1}};
    auto order = entries;
    std::stable_sort(order.begin(), order.end(),
                     [](auto& a, auto& b) { return a.text.size() > b.text.size(); });
    for (const auto& entry : order) {
      std::vector<Fragment> finer;
      for (const Fragment& f : want) {
        if (f.id >= 0) {
          finer.push_back(f);
          continue;
        }
        std::string_view rest = f.text;
        for (size_t at; (at = rest.find(entry.text)) != rest.npos;) {
          if (at > 0) finer.push_back({rest.substr(0, at), -1});
          finer.push_back({entry.text, entry.id});
          rest.remove_prefix(at + entry.text.size());
        }
        if (!rest.empty()) finer.push_back({rest, -1});
      }
      want = finer;
    }
    EXPECT_EQ(show(SpecialTokens(entries).split(text, true)), show(want)) << text;
  }
}

}  // namespace
}  // namespace lamella
