// Gradients of recurrent networks in f32. The states are known (y), so the gates of all steps are
// two products; then the steps from the last one on, each a product with the recurrent matrix.
#pragma once

#include "lamella/kernels/cpu/matmul.h"
#include "lamella/kernels/cpu/recurrent.h"

namespace lamella::cpu {

struct RecurrentGrad {
  Phase phase = Phase::bulk;                                   // of the products for all steps
  Recurrent rule;                                              // its y is read
  const float *d_y = nullptr, *d_h = nullptr, *d_c = nullptr;  // as y, h and c
  // [steps, directions, batch, gates * hidden]: of what w's product gives, and r's.
  float *d_gates = nullptr, *d_parts = nullptr;
  // [steps, directions, batch, hidden]: what r multiplies; gru_reset_before: [.., 2 * hidden], h
  // and r * h.
  float* seen = nullptr;
  float *d_h0 = nullptr, *d_c0 = nullptr;  // [directions, batch, hidden]

  int64_t n_seen() const { return rule.cell == Recurrent::Cell::gru_reset_before ? 2 : 1; }
};
// Keeps the gates, their parts from the state, and cells of all steps.
Status recurrent_grad(const RecurrentGrad& job, ThreadPool& pool, Isa isa);

}  // namespace lamella::cpu
