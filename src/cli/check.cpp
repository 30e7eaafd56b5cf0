#include "lamella/cli/check.h"

#include <cstdio>

namespace lamella::cli {

int finish_check(const check::Report& report, const CheckOutput& output) {
  std::fputs(output.json ? (report.json() + "\n").c_str() : report.text(output.all).c_str(),
             stdout);
  return report.ok() ? kDone : kCheckFailed;
}

void add_check(Command command) {
  add_kernel_checks(command);
  add_op_checks(command);
  add_property_check(command);
  add_file_checks(command);
  command.examples("A check prints a line an entry, then its counts; exit code 1 when one failed.");
}

}  // namespace lamella::cli
