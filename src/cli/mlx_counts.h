// What the mlx back end did, in two lines for people.
#pragma once

#include <string>

#include "lamella/backends/mlx/mlx.h"
#include "lamella/base/text.h"

namespace lamella::cli {

inline std::string mlx_counts_text(const MlxCounts& c) {
  const auto bytes = [](int64_t n) { return human_bytes(static_cast<uint64_t>(n)); };
  return str("mlx      ", c.traces, " traces, ", c.retraces, " again; ", c.lazy_runs,
             " regions run lazily; ", c.host_steps, " steps on the host\n", "         ",
             c.crossings, " crossings, ", bytes(c.uploaded_bytes), " to the device, ",
             bytes(c.downloaded_bytes), " back; ", bytes(c.copied_bytes), " copied\n");
}

}  // namespace lamella::cli
