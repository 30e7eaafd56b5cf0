// The table of architectures.
#include <algorithm>

#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/models/decoder.h"
#include "lamella/models/decoder_family.h"
#include "lamella/models/hybrid.h"
#include "lamella/models/model.h"
#include "lamella/models/recurrent_family.h"
#include "lamella/models/state_space.h"

namespace lamella {

std::span<const Architecture> architectures() {
  static const std::vector<Architecture> all = [] {
    std::vector<Architecture> list;
    for (const DecoderFamily& f : decoder_families())
      list.push_back({f.name, f.doc, build_decoder});
    for (const HybridFamily& f : hybrid_families())
      list.push_back({f.decoder.name, f.decoder.doc, build_hybrid});
    for (const StateSpaceFamily& f : state_space_families())
      list.push_back({f.name, f.doc, build_state_space});
    std::sort(list.begin(), list.end(),
              [](const Architecture& a, const Architecture& b) { return a.name < b.name; });
    return list;
  }();
  return all;
}

Model build_model(const Checkpoint& checkpoint, const BuildOptions& options) {
  std::vector<std::string_view> names;
  for (const Architecture& a : architectures()) {
    if (a.name == checkpoint.architecture) return a.build(checkpoint, options);
    names.push_back(a.name);
  }
  throw UserError(str(checkpoint.source, ": unknown architecture; got '",
                      printable(checkpoint.architecture), "'; want one of ", join(names, ", "),
                      did_you_mean(checkpoint.architecture, names)));
}

}  // namespace lamella
