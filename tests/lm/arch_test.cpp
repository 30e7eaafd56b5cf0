// Every architecture that we have, on tiny models with reference logits, on every back end.
#include <gtest/gtest.h>

#include "lamella/lm/check_arch.h"
#include "lamella/lm/language_model.h"
#include "tests/support/golden.h"

namespace lamella {
namespace {

void expect_logits(const std::string& backend, bool exact) {
  std::vector<std::filesystem::path> folders{test::golden_dir()};
  if (const auto full = test::full_golden_dir()) folders.push_back(*full);
  for (const auto& folder : folders) {
    const check::Report report =
        check_arch(folder / "arch", {.backend = backend, .threads = 2, .exact = exact});
    int n_passed = 0;
    for (const check::Entry& e : report.entries) {
      EXPECT_NE(e.outcome, check::Outcome::failed) << e.name << ": " << e.detail;
      n_passed += e.outcome == check::Outcome::passed;
    }
    EXPECT_GE(n_passed, 9);
  }
}

TEST(Architectures, GiveTheReferenceLogitsOnCpu) { expect_logits("cpu", false); }
TEST(Architectures, GiveTheReferenceLogitsOnCpuExactly) { expect_logits("cpu", true); }
TEST(Architectures, GiveTheReferenceLogitsOnReference) { expect_logits("reference", true); }

}  // namespace
}  // namespace lamella
