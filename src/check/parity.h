// Parity: every op x sample x type x layout x row of a back end against the f64 meaning.
//
// Bound: |y - ref| <= ulps * eps(type) * max(|ref|, scale), where scale is the op's value on
// absolute inputs and ulps may grow with the reduced length; integers and bools are equal. Outputs
// are pre-filled with NaN and lie between guard bytes, inputs are compared afterwards, each case
// runs twice, independent rows give the same bits alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lamella/backends/backend.h"
#include "lamella/check/report.h"

namespace lamella::check {

// A back end under test: one a instruction set, say.
struct Subject {
  std::string name;  // "cpu avx512"
  std::shared_ptr<const Backend> backend;
};

struct ParityOptions {
  std::vector<Subject> subjects;
  std::string op_pattern = "*";
  uint64_t seed = 1;
  int64_t samples_per_op = 0;  // 0: all of them
  // Called behind each op with what was found of it, if it is set.
  std::function<void(const Op&, std::span<const Entry>)> done = nullptr;
};

Report check_parity(const ParityOptions& options);

// The samples' own words: literal values in the reference, and bad samples refused with the message
// they name.
Report check_samples(const std::string& op_pattern);

// For each op and type: the row that runs it, "formula" (composite, expanded), "view", or none.
Report check_support(const Backend& backend, const std::string& op_pattern);

}  // namespace lamella::check
