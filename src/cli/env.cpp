// lamella env: the one table of environment variables.
#include <cstdio>
#include <cstdlib>

#include "lamella/base/text.h"
#include "lamella/cli/command.h"
#include "lamella/cli/table.h"

namespace lamella::cli {
namespace {

struct Variable {
  const char* name;
  const char* doc;
};
constexpr Variable kVariables[] = {
    {"PATH",
     "where python3 is looked for, when a model path is py:PACKAGE; and g++, when MLX compiles"},
};

int run() {
  Table table({"variable", "value", "what it is read for"});
  for (const Variable& v : kVariables) {
    const char* value = std::getenv(v.name);
    table.add({v.name, value ? printable(value, 40) : "(not set)", v.doc});
  }
  std::printf("No environment variable changes what a command means or computes.\n\n%s",
              table.text().c_str());
  return kDone;
}

}  // namespace

void add_env(Command command) { command.action(run); }

}  // namespace lamella::cli
