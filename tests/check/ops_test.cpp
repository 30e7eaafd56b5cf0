// The engines over every op: what `lamella check parity | samples | grad` run.
#include <gtest/gtest.h>

#include "lamella/backends/cpu/cpu.h"
#include "lamella/check/grad_check.h"
#include "lamella/check/parity.h"

namespace lamella::check {
namespace {

void expect_ok(const Report& report, int at_least) {
  EXPECT_TRUE(report.ok()) << report.text(false).substr(0, 4000);
  EXPECT_GE(report.count(Outcome::passed), at_least);
}

TEST(Ops, SamplesHold) { expect_ok(check_samples("*"), 3000); }

TEST(Ops, GradientsMatchDifferences) { expect_ok(check_grad("*", 1), 250); }

TEST(Ops, CpuMatchesTheMeaningOnEveryInstructionSet) {
  ParityOptions options;
  for (cpu::Isa isa : cpu::usable_isas())
    options.subjects.push_back(
        {std::string(cpu::name(isa)), make_cpu_backend({.threads = 2, .isa = isa})});
  // The scalar rows alone give ten thousand cases.
  expect_ok(check_parity(options), 10000);
}

}  // namespace
}  // namespace lamella::check
