// Another program that measures the same model, run in turn with ours.
#pragma once

#include <cstdint>
#include <string>

namespace lamella::cli {

struct PeerSizes {
  std::string model;
  int threads = 0;
  int64_t prefill = 0, decode = 0;
};

struct PeerRates {
  double prefill = 0, decode = 0;  // tokens a second
};

// Runs `command MODEL --threads T --prefill N --decode M` in a shell. The last line that it prints
// is a JSON object with the tokens a second: "ppN" of the prompt, "tgM" of the answer. UserError
// when it fails or prints something else.
PeerRates run_peer(const std::string& command, const PeerSizes& sizes);

}  // namespace lamella::cli
