// Random graphs through the whole pipeline: the input decides which ops' samples make the graph.
// What holds of any graph must hold of it (src/check/properties.h).
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "lamella/backends/cpu/cpu.h"
#include "lamella/base/error.h"
#include "lamella/check/properties.h"
#include "lamella/ir/print.h"

namespace {

using namespace lamella;

// Numbers from the input's bytes; zeros behind its end.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  uint64_t below(uint64_t n) {
    uint64_t number = 0;
    for (uint64_t most = n - 1; most > 0; most >>= 8) number = number << 8 | next();
    return number % n;
  }

 private:
  uint8_t next() { return at_ < size_ ? data_[at_++] : 0; }

  const uint8_t* data_;
  size_t size_, at_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto cpu = make_cpu_backend({.threads = 1});
  Bytes bytes(data, size);
  const check::RandomGraph random =
      check::random_graph([&](uint64_t n) { return bytes.below(n); }, 1 + bytes.below(12));
  std::string problem;
  try {
    problem = check::broken_property(random, *cpu);
  } catch (const UserError&) {
    return 0;  // values that an op refuses; any other exception is a bug and ends the process
  }
  if (problem.empty()) return 0;
  std::fprintf(stderr, "%s%s\n", print(random.graph).c_str(), problem.c_str());
  __builtin_trap();
}
