// Help, mistakes in the words of a command, exit codes, and the commands that need no model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/run_cli.h"

namespace lamella::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(Command, WithoutWordsShowsTheCommands) {
  const CliResult r = run_cli({});
  EXPECT_EQ(r.status, 0);
  for (const char* name : {"run", "inspect", "explain", "bench", "tokenize", "check", "ops", "env"})
    EXPECT_THAT(r.out, HasSubstr(std::string("\n  ") + name + " "));
}

TEST(Command, EveryCommandHasHelpWithItsUsage) {
  for (const char* name :
       {"run", "inspect", "explain", "bench", "tokenize", "check", "ops", "env"}) {
    const CliResult r = run_cli({name, "--help"});
    EXPECT_EQ(r.status, 0) << name;
    EXPECT_THAT(r.out, HasSubstr(std::string("usage: lamella ") + name));
    EXPECT_EQ(run_cli({"help", name}).out, r.out);
  }
  EXPECT_THAT(run_cli({"check", "quant", "--help"}).out,
              HasSubstr("usage: lamella check quant DIR [options]"));
}

struct Mistake {
  std::vector<std::string> words;
  std::string message;
};

TEST(Command, MistakesExitWithTwoAndSayWhatWasMeant) {
  const Mistake mistakes[] = {
      {{"inspcet", "x"}, "lamella: unknown command 'inspcet'; did you mean 'inspect'?\n"},
      {{"bench", "--machin"},
       "lamella bench: unknown flag '--machin'; did you mean '--machine'?\n"},
      {{"tokenize", "--promt", "x"},
       "lamella tokenize: unknown flag '--promt'; did you mean '--prompt'?\n"},
      {{"tokenize"}, "lamella tokenize: MODEL is required\n"},
      {{"bench", "--threads"}, "lamella bench: --threads: needs a value\n"},
      {{"bench", "--threads", "-1"},
       "lamella bench: --threads: got '-1'; want a whole number from 0 to 1024\n"},
      {{"bench", "--threads", "two"},
       "lamella bench: --threads: got 'two'; want a whole number from 0 to 1024\n"},
      {{"check"}, "lamella check: which command? see lamella check --help\n"},
      {{"check", "grda"}, "lamella check: unknown command 'grda'; did you mean 'grad'?\n"},
      {{"check", "grad", "--op", "nothing*"},
       "lamella check grad: --op: no op matches; got 'nothing*'; hint: lamella ops lists them\n"},
      {{"ops", "addd"},
       "lamella ops: no op 'addd'; did you mean 'add'?; hint: lamella ops lists them\n"},
  };
  for (const Mistake& m : mistakes) {
    const CliResult r = run_cli(m.words);
    EXPECT_EQ(r.status, 2) << m.message;
    EXPECT_EQ(r.err, m.message);
    EXPECT_THAT(r.out, IsEmpty());
  }
}

TEST(Command, OpsComeFromTheirOwnFiles) {
  EXPECT_THAT(run_cli({"ops"}).out, HasSubstr("\nadd(a, b) -> y"));
  const CliResult one = run_cli({"ops", "matmul"});
  EXPECT_EQ(one.status, 0);
  EXPECT_THAT(one.out, StartsWith("matmul(x, w) -> y\n"));
  EXPECT_THAT(one.out, HasSubstr(".transpose_w"));
  EXPECT_THAT(run_cli({"ops", "--markdown"}).out, HasSubstr("\n## matmul\n"));
}

TEST(Command, EnvSaysThatNothingChangesMeaning) {
  const CliResult r = run_cli({"env"});
  EXPECT_EQ(r.status, 0);
  EXPECT_THAT(r.out, HasSubstr("No environment variable changes"));
}

TEST(Command, BenchMeasuresTheMachine) {
  const CliResult r = run_cli({"bench", "--machine", "--threads", "1", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const auto j = nlohmann::json::parse(r.out);
  EXPECT_EQ(j.at("threads"), 1);
  for (const char* key : {"read_bytes_per_s", "f32_flops_per_s", "int8_ops_per_s"})
    EXPECT_GT(j.at(key).get<double>(), 1e8) << key;
}

TEST(Command, ChecksOfOpsReport) {
  const CliResult r = run_cli({"check", "grad", "--op", "a[d", "--seed", "7"});
  EXPECT_EQ(r.status, 2);
  const CliResult grad = run_cli({"check", "grad", "--op", "add", "--all"});
  EXPECT_EQ(grad.status, 0);
  EXPECT_THAT(grad.out, HasSubstr(" passed, 0 failed\n"));
  EXPECT_THAT(grad.out, HasSubstr("add #0"));
  const auto j = nlohmann::json::parse(run_cli({"check", "samples", "--op", "add", "--json"}).out);
  EXPECT_GT(j.at("passed").get<int>(), 0);
  EXPECT_EQ(j.at("failed"), 0);
}

}  // namespace
}  // namespace lamella::test
