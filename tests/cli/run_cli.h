// Runs the built `lamella` as a person would, and keeps what it said.
#pragma once

#include <string>
#include <vector>

namespace lamella::test {

struct CliResult {
  int status = -1;  // exit code; 128 + the signal where one ended it
  std::string out, err;
  double cpu_seconds = 0;
  long peak_rss_kib = 0;
};

// `input` is its standard input.
CliResult run_cli(const std::vector<std::string>& arguments, const std::string& input = "");

}  // namespace lamella::test
