// The parts of `lamella check`, and how they all report.
#pragma once

#include "lamella/check/report.h"
#include "lamella/cli/command.h"

namespace lamella::cli {

// What every check takes.
struct CheckOutput {
  bool json = false;
  bool all = false;        // a line for each entry, not only for those that failed
  bool by_family = false;  // of ops: counts a family of ops
};

// Prints the report; the exit code.
int finish_check(const check::Report& report, const CheckOutput& output);

// The same for checks of ops; UserError when no op matched `pattern`.
int finish_op_check(const check::Report& report, const std::string& pattern,
                    const CheckOutput& output);

// samples, grad: the ops' own samples.
void add_op_checks(Command& check);
// properties: random graphs of the ops' samples.
void add_property_check(Command& check);
// parity, support: what a back end runs, and how well.
void add_kernel_checks(Command& check);
// quant, arch, tokenizer, greedy: against reference files.
void add_file_checks(Command& check);

}  // namespace lamella::cli
