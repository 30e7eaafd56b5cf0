// The model's own graph with one more output a product: the sum of squares of its input.
#include "lamella/lm/imatrix.h"

#include <algorithm>
#include <numeric>

#include "lamella/base/error.h"
#include "lamella/lm/kv_pool.h"
#include "lamella/ops/index/scatter_nd.h"
#include "lamella/ops/linalg/grouped_matmul.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/math/mul.h"
#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/unsqueeze.h"
#include "lamella/runtime/program.h"

namespace lamella {
namespace {

// A product's matrix and where its sums come out.
struct Probe {
  std::string matrix;
  size_t sums = 0;
  size_t counts = 0;  // of an expert each; 0: all rows count
  int64_t experts = 1, k = 0;
};

class ProbedGraph {
 public:
  explicit ProbedGraph(const Graph& graph) : graph_(graph) {
    const size_t n = graph_.nodes().size();
    for (uint32_t i = 0; i < n; ++i) {
      const Op* op_of_node = graph_.nodes()[i].op;  // (what is added moves the nodes)
      if (op_of_node == &op<Matmul>) add_product(i);
      if (op_of_node == &op<GroupedMatmul>) add_grouped(i);
    }
  }
  const Graph& graph() const { return graph_; }
  const std::vector<Probe>& probes() const { return probes_; }

 private:
  // The parameter's name, or nothing for a product of two activations.
  std::string matrix_of(uint32_t node) const {
    const ValueId w = graph_.nodes()[node].inputs[1];
    const auto& parameters = graph_.parameters();
    const auto is_it = [&](const ValueId& p) { return p.node == w.node && p.out == w.out; };
    if (!std::any_of(parameters.begin(), parameters.end(), is_it)) return "";
    return graph_.input_name(w);
  }
  size_t add_output(Value value) {
    graph_.output(str("probe.", graph_.outputs().size()), value);
    return graph_.outputs().size() - 1;
  }

  void add_product(uint32_t node) {
    const std::string matrix = matrix_of(node);
    if (matrix.empty()) return;
    const Value x = wide(graph_.value(graph_.nodes()[node].inputs[0]));
    const int64_t rank = static_cast<int64_t>(x.shape().rank());
    std::vector<int64_t> axes(static_cast<size_t>(rank - 1));
    std::iota(axes.begin(), axes.end(), int64_t{0});
    Probe probe{.matrix = matrix, .k = x.shape().last().value()};
    probe.sums = add_output(sum(x * x, {.axes = axes}));
    probes_.push_back(std::move(probe));
  }

  // Each token's squares go to the experts that it chose.
  void add_grouped(uint32_t node) {
    const std::string matrix = matrix_of(node);
    if (matrix.empty()) return;
    const std::vector<ValueId> inputs = graph_.nodes()[node].inputs;
    Value x = wide(graph_.value(inputs[0]));
    const Value w = graph_.value(inputs[1]), expert = graph_.value(inputs[2]);
    Probe probe{.matrix = matrix, .experts = w.shape()[0].value(), .k = x.shape().last().value()};
    const Shape all{expert.shape()[0], expert.shape()[1], x.shape().last()};
    if (x.shape().rank() == 2) x = unsqueeze(x, {.axes = {1}});
    const Value squares = expand(x * x, graph_.sizes(all.dims));
    const Value chosen = unsqueeze(expert, {.axes = {-1}});
    const Value ones = expand(graph_.scalar(kF32, 1), graph_.sizes(expert.shape().dims));
    probe.sums = add_output(
        scatter_nd(zeros({probe.experts, probe.k}), chosen, squares, {.mode = Scatter::add}));
    probe.counts =
        add_output(scatter_nd(zeros({probe.experts}), chosen, ones, {.mode = Scatter::add}));
    probes_.push_back(std::move(probe));
  }
  Value zeros(std::vector<int64_t> shape) {
    return graph_.constant(Tensor(kF32, std::move(shape)));
  }

  Graph graph_;
  std::vector<Probe> probes_;
};

// Sums over all steps.
struct Total {
  std::vector<double> sums, counts;
};

class Runner {
 public:
  Runner(const Model& model, const Backend& backend, int64_t positions)
      : probed_(model.graph),
        page_(model.info.page),
        n_pages_((positions + page_ - 1) / page_),
        pool_(model.graph, n_pages_, kSlots) {
    for (const auto& [name, tensor] : model.weights) weights_.set(name, tensor);
    execution_ = std::make_unique<Execution>(compile(probed_.graph(), backend), weights_);
    for (int64_t i = 0; i < n_pages_; ++i) pages_.push_back(pool_.pages().take());
    for (const Probe& p : probed_.probes())
      totals_.push_back({std::vector<double>(static_cast<size_t>(p.experts * p.k)),
                         std::vector<double>(static_cast<size_t>(p.experts))});
  }

  // Tokens at positions from `first` on, behind what ran before them.
  void step(std::span<const int32_t> tokens, int64_t first) {
    const auto n = static_cast<int64_t>(tokens.size());
    std::vector<int32_t> positions(tokens.size()), rows(tokens.size());
    std::iota(positions.begin(), positions.end(), static_cast<int32_t>(first));
    std::iota(rows.begin(), rows.end(), 0);
    const auto ints = [](std::span<const int32_t> v, std::vector<int64_t> shape) {
      return Tensor::copy_of(kI32, std::move(shape), v.data());
    };
    const int32_t q_start[] = {0, static_cast<int32_t>(n)},
                  kv_len[] = {static_cast<int32_t>(first + n)};
    std::vector<Tensor> inputs{ints(tokens, {n}), ints(positions, {n}),        ints(q_start, {2}),
                               ints(kv_len, {1}), ints(pages_, {1, n_pages_}), ints(rows, {n})};
    if (pool_.has_slots()) {
      // From one slot into the other; a text begins with zeros.
      const int32_t from[] = {first == 0 ? KvPool::kZeroSlot : slot_}, to[] = {3 - slot_};
      inputs.insert(inputs.end(), {ints(from, {1}), ints(to, {1, 1})});
      slot_ = to[0];
    }
    std::vector<Tensor> outputs(probed_.graph().outputs().size());
    execution_->run(inputs, pool_.states(), outputs);
    for (size_t i = 0; i < totals_.size(); ++i) add(outputs, i, n);
  }

  void store(gguf::Importance& to) const {
    for (size_t i = 0; i < totals_.size(); ++i) {
      const Probe& probe = probed_.probes()[i];
      gguf::ColumnSums& c = to.of_matrix[probe.matrix];
      c.experts = probe.experts;
      c.k = probe.k;
      // A matrix may stand in several products.
      c.sums.resize(totals_[i].sums.size());
      c.counts.resize(totals_[i].counts.size());
      for (size_t j = 0; j < c.sums.size(); ++j)
        c.sums[j] += static_cast<float>(totals_[i].sums[j]);
      for (size_t j = 0; j < c.counts.size(); ++j)
        c.counts[j] += static_cast<float>(totals_[i].counts[j]);
    }
  }

 private:
  void add(const std::vector<Tensor>& outputs, size_t i, int64_t rows) {
    const Probe& probe = probed_.probes()[i];
    const float* sums = outputs[probe.sums].as<const float>();
    for (size_t j = 0; j < totals_[i].sums.size(); ++j) totals_[i].sums[j] += sums[j];
    for (size_t j = 0; j < totals_[i].counts.size(); ++j)
      totals_[i].counts[j] += probe.counts == 0
                                  ? static_cast<double>(rows)
                                  : double{outputs[probe.counts].as<const float>()[j]};
  }

  ProbedGraph probed_;
  int64_t page_, n_pages_;
  KvPool pool_;
  Weights weights_;
  std::unique_ptr<Execution> execution_;
  std::vector<int32_t> pages_;
  static constexpr int64_t kSlots = 3;
  int32_t slot_ = 1;  // of the state: 1 or 2
  std::vector<Total> totals_;
};

}  // namespace

gguf::Importance importance_of(const Model& model, const Backend& backend,
                               std::span<const int32_t> start, std::span<const int32_t> tokens,
                               const ImatrixOptions& options) {
  CHECK_USER(!tokens.empty(), "imatrix: the text has no tokens");
  for (int32_t t : tokens)
    CHECK_USER(t >= 0 && t < model.info.vocabulary, "imatrix: token outside the vocabulary; got ",
               t, "; want 0 to ", model.info.vocabulary - 1);
  const auto window = static_cast<size_t>(options.window), step = static_cast<size_t>(options.step);
  Runner runner(model, backend, options.window + static_cast<int64_t>(start.size()));
  gguf::Importance result;
  const auto n_windows = static_cast<int64_t>((tokens.size() + window - 1) / window);
  for (size_t at = 0; at < tokens.size(); at += window) {
    std::vector<int32_t> part(start.begin(), start.end());
    const auto from = tokens.begin() + static_cast<int64_t>(at);
    part.insert(part.end(), from,
                from + static_cast<int64_t>(std::min(window, tokens.size() - at)));
    for (size_t i = 0; i < part.size(); i += step)
      runner.step(std::span(part).subspan(i, std::min(step, part.size() - i)),
                  static_cast<int64_t>(i));
    ++result.n_windows;
    if (options.progress) options.progress(result.n_windows, n_windows);
  }
  result.window = options.window;
  runner.store(result);
  return result;
}

}  // namespace lamella
