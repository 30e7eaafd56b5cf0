#include "lamella/base/python_package.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "lamella/base/error.h"

extern char** environ;

namespace lamella {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "py:";
constexpr std::array<std::string_view, 3> kModelExtensions = {".gguf", ".onnx", ".safetensors"};

// Prints the folders of package argv[1] without importing it. The working directory leaves the
// search path first, so that files lying there cannot stand in for modules.
constexpr const char* kFindPackage =
    "import sys; sys.path = [p for p in sys.path if p]\n"
    "import importlib.util\n"
    "spec = importlib.util.find_spec(sys.argv[1])\n"
    "print('\\n'.join((spec and spec.submodule_search_locations) or []), end='')\n";

bool is_identifier(std::string_view name) {
  auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
         std::all_of(name.begin(), name.end(), is_word);
}

// Runs a program found by PATH and returns what it prints; nullopt when it cannot run or fails.
std::optional<std::string> output_of(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  pid_t child = 0;
  const bool started = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; started && (n = read(ends[0], buffer, sizeof buffer)) != 0;) {
    if (n > 0) text.append(buffer, static_cast<size_t>(n));
    if (n < 0 && errno != EINTR) break;
  }
  close(ends[0]);
  int status = -1;
  if (!started) return std::nullopt;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return text;
}

std::optional<fs::path> folder_in_python(const std::string& package) {
  const std::optional<std::string> text = output_of({"python3", "-c", kFindPackage, package});
  if (!text) return std::nullopt;
  const fs::path folder = text->substr(0, text->find('\n'));
  std::error_code ec;
  if (folder.empty() || !fs::is_directory(folder, ec)) return std::nullopt;
  return folder;
}

// The package in `.venv/lib/python3.*/site-packages` of `start` or the nearest folder above it.
std::optional<fs::path> folder_in_venv(fs::path start, const std::string& package) {
  for (std::error_code ec; !start.empty(); start = start.parent_path()) {
    for (const auto& entry : fs::directory_iterator(start / ".venv" / "lib", ec)) {
      fs::path folder = entry.path() / "site-packages" / package;
      if (fs::is_directory(folder, ec)) return folder;
    }
    if (start == start.root_path()) break;
  }
  return std::nullopt;
}

fs::path package_folder(const std::string& package) {
  std::error_code ec;
  if (auto folder = folder_in_python(package)) return *folder;
  if (auto folder = folder_in_venv(fs::current_path(ec), package)) return *folder;
  // Where this program lies; empty on systems without /proc.
  if (auto folder = folder_in_venv(fs::read_symlink("/proc/self/exe", ec), package)) return *folder;
  throw UserError(str("model path: no Python package '", package,
                      "' in the active python3 or a .venv; got py:", package,
                      "; want an installed package; try: ./x setup, or pip install it"));
}

std::vector<fs::path> model_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code ec;
  for (auto it = fs::recursive_directory_iterator(folder, ec);
       !ec && it != fs::recursive_directory_iterator(); it.increment(ec)) {
    const std::string extension = it->path().extension().string();
    if (std::find(kModelExtensions.begin(), kModelExtensions.end(), extension) !=
        kModelExtensions.end())
      files.push_back(fs::relative(it->path(), folder, ec));
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string listed(const std::vector<fs::path>& files) {
  if (files.empty()) return "no model file";
  std::string text;
  for (const fs::path& file : files) text += (text.empty() ? "" : ", ") + file.string();
  return text;
}

}  // namespace

fs::path model_path(std::string_view path) {
  if (path.substr(0, kPrefix.size()) != kPrefix) return fs::path(path);
  const std::string_view rest = path.substr(kPrefix.size());
  const size_t slash = rest.find('/');
  const std::string package(rest.substr(0, slash));
  const fs::path file(slash == std::string_view::npos ? "" : rest.substr(slash + 1));
  CHECK_USER(is_identifier(package), "model path: not a Python package name; got '", package,
             "'; want py:PACKAGE or py:PACKAGE/FILE with a name of letters, digits and _");
  const bool leaves = std::find(file.begin(), file.end(), fs::path("..")) != file.end();
  CHECK_USER(file.is_relative() && !leaves, "model path: the file must lie in the package; got '",
             file.string(), "'; want a path below the folder of ", package);
  const fs::path folder = package_folder(package);
  const std::vector<fs::path> files = model_files(folder);
  if (file.empty()) {
    CHECK_USER(files.size() == 1, "model path: py:", package, " does not name one model; got ",
               listed(files), "; want py:", package, "/FILE");
    return folder / files[0];
  }
  std::error_code ec;
  CHECK_USER(fs::is_regular_file(folder / file, ec), "model path: no file '", file.string(),
             "' in package ", package, "; got ", listed(files), "; want one of these");
  return folder / file;
}

}  // namespace lamella
