// How `--help` reads.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace lamella::cli {

class HelpFormatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

}  // namespace lamella::cli
