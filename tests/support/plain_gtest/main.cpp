// Runs the cases whose name contains the argument (all without one), says how long each took, and
// ends with the count.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <string_view>

int main(int n_arguments, char** arguments) {
  const std::string_view wanted = n_arguments > 1 ? arguments[1] : "";
  int passed = 0, failed = 0;
  for (const testing::Case& test : testing::cases()) {
    if (test.name.find(wanted) == std::string::npos) continue;
    testing::state() = {};
    const auto start = std::chrono::steady_clock::now();
    test.run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const bool ok = !testing::state().failed;
    ++(ok ? passed : failed);
    std::printf("%s %s (%.1f s)\n", ok ? "ok    " : "FAILED", test.name.c_str(), seconds.count());
    std::fflush(stdout);
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed > 0 || passed == 0;
}
