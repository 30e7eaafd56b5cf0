// Asking for more than the machine has: threads, memory, instruction sets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/cli/run_cli.h"
#include "tests/cli/tiny_llama.h"
#include "tests/support/golden.h"
#include "tests/support/sanitizer.h"

namespace lamella::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string tiny_model() {
  const std::string path = (fs::path(testing::TempDir()) / "limits.gguf").string();
  TinyLlama().writer().write(path);
  return path;
}

CliResult run_tiny(std::vector<std::string> more) {
  std::vector<std::string> arguments{"run", tiny_model(), "-p", "a", "-n", "3"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_cli(arguments);
}

TEST(Limits, ThreadCountsThatMeanNothingAreRefused) {
  const std::string model = tiny_model();
  for (const char* threads : {"-3", "-1", "1025", "99999999999999999999", "two", "1.5", ""}) {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"run", model, "-p", "a"}, {"bench", model}, {"chat", model}}) {
      std::vector<std::string> arguments = command;
      arguments.insert(arguments.end(), {"--threads", threads});
      const CliResult r = run_cli(arguments);
      EXPECT_EQ(r.status, 2) << command[0] << " " << threads << ": " << r.err;
      EXPECT_THAT(r.err, AllOf(HasSubstr(std::string("--threads: got '") + threads + "'"),
                               HasSubstr("want a whole number from 0 to 1024")));
    }
  }
}

TEST(Limits, MoreThreadsThanCoresGiveTheSameAnswerAndANote) {
  const CliResult one = run_tiny({"--threads", "1"}), core = run_tiny({"--threads", "0"});
  const CliResult many = run_tiny({"--threads", "1000"});
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_EQ(core.status, 0) << core.err;
  EXPECT_EQ(many.status, 0) << many.err;
  EXPECT_EQ(core.out, one.out);
  EXPECT_EQ(many.out, one.out);
  EXPECT_THAT(many.err, HasSubstr("note: 1000 threads on "));
  EXPECT_THAT(one.err, Not(HasSubstr("note")));
  EXPECT_THAT(core.err, Not(HasSubstr("note: 0")));
}

TEST(Limits, ScalarKernelsRunAndSaySo) {
  const CliResult best = run_tiny({"--exact"}), scalar = run_tiny({"--exact", "--isa", "scalar"});
  EXPECT_EQ(scalar.status, 0) << scalar.err;
  EXPECT_EQ(scalar.out, best.out);
  EXPECT_THAT(scalar.err, HasSubstr("note: scalar kernels"));
  const CliResult unknown = run_tiny({"--isa", "mmx"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("--isa"), HasSubstr("mmx"), HasSubstr("scalar")));
}

// An emulated processor of 2008: no AVX, so nothing but the scalar kernels may run.
TEST(Limits, AProcessorWithoutAvx2RunsTheScalarKernels) {
  if (std::system("command -v qemu-x86_64 >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "no qemu-x86_64; on Debian install qemu-user";
  if (kSanitizerSlack > 1) GTEST_SKIP() << "sanitizers do not run emulated";
  const std::string err = (fs::path(testing::TempDir()) / "nehalem.txt").string();
  const std::string command = "qemu-x86_64 -cpu Nehalem " + lamella_program().string() + " run " +
                              tiny_model() + " -p a -n 2 --ctx 64 >/dev/null 2>" + err;
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ifstream file(err);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(text, HasSubstr("which this processor lacks"));
}

TEST(Limits, AContextBeyondTheMemorySaysWhatIsNeededAndWhatWouldFit) {
  const std::string model = (fs::path(testing::TempDir()) / "limits_kv.gguf").string();
  TinyLlama{.kv_heads = 4, .layers = 16}.writer().write(model);  // 2 KiB of KV cache a position
  for (const char* backend : {"cpu", "reference"}) {
    const CliResult r =
        run_cli({"run", model, "-p", "a", "-n", "3", "--ctx", "1000000000", "--backend", backend});
    EXPECT_EQ(r.status, 71) << r.err;
    EXPECT_THAT(r.err, AllOf(HasSubstr("positions need "), HasSubstr("of KV cache"),
                             HasSubstr("of free memory; want at most "), HasSubstr("--ctx")));
    EXPECT_LT(r.peak_rss_kib, 256 * 1024 * kSanitizerSlack);
  }
  for (const char* context : {"-1", "1073741825", "99999999999999999999", "all"}) {
    const CliResult r = run_tiny({"--ctx", context});
    EXPECT_EQ(r.status, 2) << r.err;
    EXPECT_THAT(r.err, HasSubstr("--ctx: got"));
  }
}

}  // namespace
}  // namespace lamella::test
