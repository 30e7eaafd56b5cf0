// Uses the installed library from outside.
#include <cstdio>
#include <string>

#include "lamella/base/error.h"
#include "lamella/base/version.h"

int main() {
  const std::string version(lamella::version());
  std::printf("lamella %s\n", version.c_str());
  try {
    CHECK_USER(version.empty(), "user: a message; got ", version);
  } catch (const lamella::UserError&) {
    return 0;
  }
  return 1;
}
