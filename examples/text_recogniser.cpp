// A recogniser of lines of text, of any width: convolutions and pools bring the height down to
// one, a recurrence runs along what is left of the width, and the labels are read on the host.
#include <algorithm>

#include "examples/graphs.h"
#include "examples/layers.h"
#include "lamella/base/error.h"
#include "lamella/ops/math/relu.h"
#include "lamella/ops/nn/batch_norm.h"
#include "lamella/ops/nn/log_softmax.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/transpose.h"
#include "lamella/ops/spatial/max_pool.h"

namespace lamella::examples {
namespace {

constexpr int64_t kHeight = 32;

Value conv_3x3(Layers& l, Value x, const std::string& name, int64_t out) {
  return l.conv(x, name, out, {3, 3}, {.pads_begin = {1, 1}, .pads_end = {1, 1}});
}

Value halved(Value x, int64_t across) {
  return max_pool(x, {.kernel = {2, across}, .strides = {2, across}});
}

Value normed(Layers& l, Value x, const std::string& name) {
  const Shape channels{x.shape()[1]};
  return batch_norm(x, l.weight(name + ".weight", channels), l.weight(name + ".bias", channels),
                    l.weight(name + ".mean", channels), l.weight(name + ".variance", channels));
}

}  // namespace

Graph text_recogniser(const RecogniserSizes& s) {
  Graph g("text_recogniser");
  Layers l(g);
  const Dim batch = g.symbol("batch"), width = g.symbol("width", {.low = 4});
  Value x = g.input("image", Type(kF32, {batch, 1, kHeight, width}));
  x = halved(relu(conv_3x3(l, x, "conv1", s.channels)), 2);
  x = halved(relu(conv_3x3(l, x, "conv2", 2 * s.channels)), 2);
  x = halved(relu(normed(l, conv_3x3(l, x, "conv3", 3 * s.channels), "norm3")), 1);
  x = relu(l.conv(x, "conv4", 3 * s.channels, {kHeight / 8, 1}));  // the height is 1 now

  const Dim steps = x.shape()[3];
  x = reshape_to(x, {batch, 3 * s.channels, steps});
  x = transpose(x, {{2, 0, 1}});
  x = l.lstm_both_ways(x, "lstm1", s.lstm);
  x = l.lstm_both_ways(x, "lstm2", s.lstm);
  g.output("log_probs", log_softmax(l.linear(x, "head", s.classes)));
  return g;
}

std::vector<std::vector<int64_t>> collapse_ctc(const Tensor& log_probs) {
  CHECK_USER(log_probs.rank() == 3 && log_probs.shape()[2] > 0, "collapse_ctc: got rank ",
             log_probs.rank(), "; want [steps, batch, classes]");
  const std::vector<double> values = log_probs.to_doubles();
  const size_t steps = static_cast<size_t>(log_probs.shape()[0]);
  const size_t batch = static_cast<size_t>(log_probs.shape()[1]);
  const auto classes = log_probs.shape()[2];
  std::vector<std::vector<int64_t>> lines(batch);
  for (size_t line = 0; line < batch; ++line) {
    int64_t before = 0;
    for (size_t step = 0; step < steps; ++step) {
      const auto row = values.begin() + static_cast<int64_t>(step * batch + line) * classes;
      const int64_t best = std::max_element(row, row + classes) - row;
      if (best != 0 && best != before) lines[line].push_back(best);
      before = best;
    }
  }
  return lines;
}

}  // namespace lamella::examples
