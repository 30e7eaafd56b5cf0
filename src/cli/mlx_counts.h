// What the mlx back end did, in lines for people: counts, and on a GPU a line a node that crossed.
#pragma once

#include <string>

#include "lamella/backends/mlx/mlx.h"
#include "lamella/base/text.h"

namespace lamella::cli {

inline std::string mlx_counts_text(const Backend& backend) {
  const auto bytes = [](int64_t n) { return human_bytes(static_cast<uint64_t>(n)); };
  const MlxCounts c = mlx_counts(backend);
  std::string out = str("mlx      ", c.traces, " traces, ", c.retraces, " again; ", c.lazy_runs,
                        " regions run lazily; ", c.host_steps, " steps on the host\n", "         ",
                        c.crossings, " crossings, ", bytes(c.uploaded_bytes), " to the device, ",
                        bytes(c.downloaded_bytes), " back; ", bytes(c.copied_bytes), " copied\n");
  if (c.peak_bytes > 0)
    out += str("         at most ", bytes(c.peak_bytes), " at once; ", bytes(c.unpacked_bytes),
               " unpacked for products\n");
  for (const MlxCrossing& crossing : mlx_crossings(backend))
    out += str("         ", crossing.node, ": ", crossing.n, " crossings, ", bytes(crossing.bytes),
               "\n");
  return out;
}

}  // namespace lamella::cli
