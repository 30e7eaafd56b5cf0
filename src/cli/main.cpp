// lamella: the command line. Exit codes: 0 done, 1 a check failed, 2 bad use or input, 70 our bug,
// 71 device.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/base/version.h"
#include "lamella/cli/command.h"
#include "lamella/cli/help.h"

namespace lamella::cli {
namespace {

const auto kAll = [](const CLI::App*) { return true; };

// The innermost command that was named.
const CLI::App& chosen(const CLI::App& app) {
  for (const CLI::App* sub : app.get_subcommands(kAll))
    if (sub->parsed()) return chosen(*sub);
  return app;
}

std::string full_name(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent ? full_name(*parent) + " " + app.get_name() : app.get_name();
}

// "unknown flag '--thread'; did you mean '--threads'?" for the first word that nothing took.
std::string unknown_word(const CLI::App& command, const std::string& word) {
  const bool is_flag = word.size() > 1 && word[0] == '-';
  std::vector<std::string> names;
  if (is_flag) {
    for (const CLI::Option* o : command.get_options()) {
      for (const std::string& l : o->get_lnames()) names.push_back("--" + l);
      for (const std::string& s : o->get_snames()) names.push_back("-" + s);
    }
  } else {
    for (const CLI::App* sub : command.get_subcommands(kAll)) names.push_back(sub->get_name());
  }
  const std::string_view what = is_flag         ? "unknown flag"
                                : names.empty() ? "unexpected argument"
                                                : "unknown command";
  const std::string name = word.substr(0, word.find('='));
  const std::vector<std::string_view> views(names.begin(), names.end());
  return str(what, " '", printable(name), "'", did_you_mean(name, views));
}

std::string parse_problem(const CLI::App& app, const CLI::ParseError& e) {
  const CLI::App& command = chosen(app);
  // A word that nothing took explains more than what is missing for want of it.
  const std::vector<std::string> left = app.remaining(true);
  for (const std::string& word : left)
    if (word.size() > 1 && word[0] == '-') return unknown_word(command, word);
  if (!left.empty()) return unknown_word(command, left[0]);
  if (e.get_name() == "RequiredError" && !command.get_subcommands(kAll).empty())
    return "which command? see " + full_name(command) + " --help";
  const std::string what = e.what();
  if (e.get_name() == "ArgumentMismatch") return what.substr(0, what.find(':')) + ": needs a value";
  return what;
}

int report(const std::string& where, const std::string& message, int status) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %s\n", where.c_str(), message.c_str());
  return status;
}

// `lamella help run` is `lamella run --help`.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    words.push_back("--help");
  }
  return words;
}

int run(int argc, char** argv) {
  CLI::App app{"Runs machine-learning models on this machine, packed, and says what ran and why."};
  app.name("lamella");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h,--help", "show this help");
  app.set_version_flag("--version", std::string(version()), "show the version");
  app.require_subcommand(0, 1);
  int status = kDone;
  for (const CommandRow& row : commands())
    row.add({*app.add_subcommand(std::string(row.name), std::string(row.doc)), status});
  app.footer("`lamella COMMAND --help` says more of each.");  // behind the others, who inherit it
  try {
    std::vector<std::string> words = words_of(argc, argv);
    std::reverse(words.begin(), words.end());  // as the parser wants them
    app.parse(words);
    if (app.get_subcommands().empty()) std::fputs(app.help().c_str(), stdout);
    return status;
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return report(full_name(chosen(app)), parse_problem(app, e), kBadUse);
  } catch (const UserError& e) {
    return report(full_name(chosen(app)), e.what(), kBadUse);
  } catch (const DeviceError& e) {
    return report(full_name(chosen(app)), e.what(), kDeviceFailed);
  } catch (const std::bad_alloc&) {
    return report(full_name(chosen(app)), "out of memory", kDeviceFailed);
  } catch (const std::exception& e) {
    return report(
        full_name(chosen(app)),
        str("internal error: ", e.what(), "\nThis is a bug of lamella; please report it."),
        kInternalBug);
  }
}

}  // namespace
}  // namespace lamella::cli

int main(int argc, char** argv) { return lamella::cli::run(argc, argv); }
