// How fast the rows of a back end are, beside the machine's limits. A measurement: nothing fails.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lamella/backends/backend.h"
#include "lamella/check/report.h"

namespace lamella::check {

struct PerfLimits {
  double flops = 0;  // f32, a second
  double int8_ops = 0;
  double read_bytes = 0;
};

struct PerfOptions {
  const Backend* backend = nullptr;
  PerfLimits limits;
  std::string op_pattern = "*";
  uint64_t seed = 1;
};

// Each op x its largest sample, made taller until it is worth timing (where the op takes that) x
// the sample's first two types x rows of the back end. An entry says microseconds, operations and
// bytes a second, and the share of the roofline.
Report measure_perf(const PerfOptions& options);

}  // namespace lamella::check
