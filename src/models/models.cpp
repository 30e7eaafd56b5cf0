// The table of architectures.
#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/models/llama.h"
#include "lamella/models/model.h"

namespace lamella {
namespace {

constexpr Architecture kArchitectures[] = {
    // sorted:begin
    {"llama", "Llama 1-3, SmolLM2, TinyLlama and their like", build_llama},
    // sorted:end
};

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

Model build_model(const Checkpoint& checkpoint, const BuildOptions& options) {
  std::vector<std::string_view> names;
  for (const Architecture& a : kArchitectures) {
    if (a.name == checkpoint.architecture) return a.build(checkpoint, options);
    names.push_back(a.name);
  }
  throw UserError(str(checkpoint.source, ": unknown architecture; got '",
                      printable(checkpoint.architecture), "'; want one of ", join(names, ", "),
                      did_you_mean(checkpoint.architecture, names)));
}

}  // namespace lamella
