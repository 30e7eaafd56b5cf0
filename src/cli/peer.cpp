#include "lamella/cli/peer.h"

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "lamella/base/error.h"
#include "lamella/base/text.h"

namespace lamella::cli {
namespace {

// The argument as a shell reads it back.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  CHECK_USER(pipe, "--peer: cannot start a shell");
  std::string out;
  std::array<char, 4096> part;
  while (const size_t n = fread(part.data(), 1, part.size(), pipe)) out.append(part.data(), n);
  const int status = pclose(pipe);
  CHECK_USER(status == 0, "--peer: '", printable(command), "' failed with status ",
             WIFEXITED(status) ? WEXITSTATUS(status) : status);
  return out;
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

PeerRates run_peer(const std::string& command, const PeerSizes& sizes) {
  const std::string line =
      last_line(output_of(str(command, ' ', quoted(sizes.model), " --threads ", sizes.threads,
                              " --prefill ", sizes.prefill, " --decode ", sizes.decode)));
  const auto json = nlohmann::json::parse(line, nullptr, false);
  const auto rate = [&](const std::string& key) {
    CHECK_USER(json.is_object() && json.contains(key) && json[key].is_number(),
               "--peer: its last line is '", printable(line),
               "'; want a JSON object with the number '", key, "'");
    return json[key].get<double>();
  };
  return {rate(str("pp", sizes.prefill)), rate(str("tg", sizes.decode))};
}

}  // namespace lamella::cli
