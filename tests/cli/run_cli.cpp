#include "tests/cli/run_cli.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "gtest/gtest.h"
#include "tests/support/golden.h"

extern char** environ;

namespace lamella::test {
namespace {

namespace fs = std::filesystem;

std::string read_all(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
}

}  // namespace

CliResult run_cli(const std::vector<std::string>& arguments, const std::string& input) {
  const std::string base =
      (fs::path(testing::TempDir()) / ("cli_" + std::to_string(getpid()))).string();
  std::ofstream(base + ".in", std::ios::binary) << input;
  const std::string program = lamella_program().string();
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, 0, (base + ".in").c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, (base + ".out").c_str(), kWrite, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, (base + ".err").c_str(), kWrite, 0600);
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) throw std::runtime_error("cannot run " + program);
  int status = 0;
  rusage usage{};
  wait4(pid, &status, 0, &usage);
  CliResult result;
  result.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  result.peak_rss_kib = usage.ru_maxrss;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = read_all(base + ".out");
  result.err = read_all(base + ".err");
  for (const char* ending : {".in", ".out", ".err"}) fs::remove(base + ending);
  return result;
}

}  // namespace lamella::test
