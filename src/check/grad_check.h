// Gradients against central differences, in f64, over the ops' samples.
#pragma once

#include <cstdint>
#include <string>

#include "lamella/check/report.h"

namespace lamella::check {

// Every op that has a gradient (a rule, or a formula of ops that have one) x its samples. For up to
// 16 elements of each floating-point input: |analytic - central difference| <= 1e-6 *
// max(1, |gradient|, |L|), L a weighted sum of the outputs.
Report check_grad(const std::string& op_pattern, uint64_t seed);

}  // namespace lamella::check
