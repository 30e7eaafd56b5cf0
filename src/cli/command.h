// The commands of the command line, one a file; main.cpp has their table.
#pragma once

#include <CLI/CLI.hpp>

namespace lamella::cli {

// Adds a subcommand to `app`. What it does runs when it was chosen; it returns the exit code through `status`.
using AddCommand = void (*)(CLI::App& app, int& status);

void add_run(CLI::App& app, int& status);
void add_inspect(CLI::App& app, int& status);
void add_explain(CLI::App& app, int& status);
void add_bench(CLI::App& app, int& status);
void add_tokenize(CLI::App& app, int& status);
void add_ops(CLI::App& app, int& status);
void add_env(CLI::App& app, int& status);
void add_check(CLI::App& app, int& status);

}  // namespace lamella::cli
