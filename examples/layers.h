// Layers for the examples: ops together with their weights, which are parameters of the graph by
// the names that PyTorch would give them.
#pragma once

#include <string>

#include "lamella/ops/spatial/conv.h"
#include "lamella/ops/spatial/conv_transpose.h"

namespace lamella::examples {

class Layers {
 public:
  explicit Layers(Graph& graph) : g_(graph) {}

  Value weight(const std::string& name, Shape shape);
  // x W^T + bias over the last axis.
  Value linear(Value x, const std::string& name, int64_t out);
  // x [batch, channels, ...], with `taps` along each axis behind the channels.
  Value conv(Value x, const std::string& name, int64_t out, const std::vector<int64_t>& taps,
             ConvAttrs attrs = {});
  Value conv_transpose(Value x, const std::string& name, int64_t out, int64_t taps,
                       ConvTranspose::Attrs attrs);
  // Over the last axis.
  Value layer_norm(Value x, const std::string& name);
  // x [steps, batch, in] through a recurrence of both directions: [steps, batch, 2 * hidden].
  Value lstm_both_ways(Value x, const std::string& name, int64_t hidden);
  // Matrices and bias of a recurrence with four gates.
  struct Recurrence {
    Value w, r, bias;
  };
  Recurrence recurrence(const std::string& name, int64_t directions, Dim in, int64_t hidden);

 private:
  Graph& g_;
};

// The periodic Hann window 1/2 - 1/2 cos(2 pi i / n).
Value hann(Graph& graph, int64_t n);

// [batch, channels, time] <-> [batch, time, channels].
Value swap_last_axes(Value x);

}  // namespace lamella::examples
