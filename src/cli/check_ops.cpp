// lamella check samples|grad: the ops against their own samples.
#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/check/grad_check.h"
#include "lamella/check/parity.h"
#include "lamella/cli/check.h"

namespace lamella::cli {
namespace {

struct Options {
  std::string op = "*";
  int64_t seed = 1;
  CheckOutput output;
};

}  // namespace

int finish_op_check(const check::Report& report, const std::string& pattern,
                    const CheckOutput& output) {
  CHECK_USER(!report.entries.empty(), "--op: no op matches; got '", printable(pattern),
             "'; hint: lamella ops lists them");
  return finish_check(report, output);
}

void add_op_checks(Command& check) {
  auto samples = std::make_shared<Options>();
  Command c =
      check.command("samples", "the ops' literal values, and the messages of their bad inputs");
  c.text("--op", "GLOB", samples->op, "only the ops whose names match");
  c.flag("--json", samples->output.json, "one JSON object");
  c.flag("--all", samples->output.all, "a line for what passed, too");
  c.action(
      [o = samples] { return finish_op_check(check::check_samples(o->op), o->op, o->output); });

  auto grad = std::make_shared<Options>();
  c = check.command("grad", "gradients against central differences");
  c.text("--op", "GLOB", grad->op, "only the ops whose names match");
  c.integer("--seed", "N", grad->seed, {}, "seed of the random inputs");
  c.flag("--json", grad->output.json, "one JSON object");
  c.flag("--all", grad->output.all, "a line for what passed, too");
  c.action([o = grad] {
    return finish_op_check(check::check_grad(o->op, static_cast<uint64_t>(o->seed)), o->op,
                           o->output);
  });
}

}  // namespace lamella::cli
