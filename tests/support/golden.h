// Where tests find their data: reference data in the tree, the full set where it exists, files of
// Python packages.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace lamella::test {

// The command line that was built with these tests.
std::filesystem::path lamella_program();

// tests/golden: the reference data that every clone has.
std::filesystem::path golden_dir();

// The whole reference set beside the source tree (../shared/golden); nullopt for people who do not
// have it. Tests that use it take what golden_dir() holds too, so that they still check something
// without it.
std::optional<std::filesystem::path> full_golden_dir();

// The file that model_path("py:PACKAGE/FILE") names; nullopt when the package is not installed.
std::optional<std::filesystem::path> package_file(std::string_view package, std::string_view file);

// The small language model that ./x setup installs (SmolLM2 135M Instruct, q4_1).
std::optional<std::filesystem::path> smollm2();

}  // namespace lamella::test
