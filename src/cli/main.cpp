// lamella: the command line. Exit codes: 0 done, 1 a check failed, 2 bad use or input, 70 our bug, 71 device.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/base/version.h"
#include "lamella/cli/command.h"

namespace lamella::cli {
namespace {

constexpr AddCommand kCommands[] = {add_run,      add_inspect, add_explain, add_bench,
                                    add_tokenize, add_check,   add_ops,     add_env};

constexpr int kBadUse = 2, kInternal = 70, kDevice = 71;

// Every name that may stand where `word` stands: commands, and options of the chosen command.
std::vector<std::string> known_names(const CLI::App& app, bool options) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!options) names.push_back(sub->get_name());
    else if (sub->parsed())
      for (const std::string& n : known_names(*sub, true)) names.push_back(n);
  }
  if (options)
    for (const CLI::Option* o : app.get_options())
      for (const std::string& l : o->get_lnames()) names.push_back("--" + l);
  return names;
}

std::string suggestion(const CLI::App& app, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const auto near = nearest(word, known_names(app, word.substr(0, 1) == "-"));
    if (!near.empty()) return "; did you mean '" + std::string(near) + "'?";
  }
  return "";
}

int run(int argc, char** argv) {
  CLI::App app{"Runs machine-learning models on this machine, packed, and says what ran and why."};
  app.name("lamella");
  app.set_version_flag("--version", std::string(version()));
  app.require_subcommand(0, 1);
  int status = 0;
  for (AddCommand add : kCommands) add(app, status);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) std::fputs(app.help().c_str(), stdout);
    return status;
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ExtrasError& e) {
    std::fprintf(stderr, "lamella: %s%s\n", e.what(), suggestion(app, app.remaining(true)).c_str());
  } catch (const CLI::ParseError& e) {
    std::fprintf(stderr, "lamella: %s; see lamella --help\n", e.what());
  } catch (const UserError& e) {
    std::fprintf(stderr, "lamella: %s\n", e.what());
  } catch (const DeviceError& e) {
    std::fprintf(stderr, "lamella: %s\n", e.what());
    return kDevice;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "lamella: out of memory\n");
    return kDevice;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "lamella: internal error: %s\nThis is a bug of lamella; please report it.\n", e.what());
    return kInternal;
  }
  return kBadUse;
}

}  // namespace
}  // namespace lamella::cli

int main(int argc, char** argv) { return lamella::cli::run(argc, argv); }
