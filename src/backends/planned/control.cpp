#include "lamella/backends/planned/control.h"

#include <cstring>

#include "lamella/base/error.h"
#include "lamella/ops/control/if.h"
#include "lamella/ops/control/loop.h"
#include "lamella/ops/control/scan.h"

namespace lamella::planned {
namespace {

using Bodies = std::span<const RunBody>;

// Entry i along the first axis of a dense tensor.
Tensor entry_of(const Tensor& t, int64_t i) {
  std::vector<int64_t> shape(t.shape().begin() + 1, t.shape().end());
  const size_t bytes = tensor_bytes(t.dtype(), shape);
  return Tensor(t.dtype(), std::move(shape), t.storage(),
                t.byte_offset() + static_cast<size_t>(i) * bytes);
}

// Values of one output, stacked along a new first axis. Without any, sizes that nothing outside the
// body decides are 0.
Tensor stacked(const Type& type, const std::vector<Tensor>& parts, const DimBinding& binding) {
  std::vector<int64_t> shape{static_cast<int64_t>(parts.size())};
  if (!parts.empty()) {
    shape.insert(shape.end(), parts[0].shape().begin(), parts[0].shape().end());
  } else {
    for (Dim d : type.shape) {
      try {
        shape.push_back(evaluate(d, binding));
      } catch (const UserError&) {
        shape.push_back(0);
      }
    }
  }
  Tensor all(type.dtype, std::move(shape));
  std::byte* to = all.data();
  for (const Tensor& part : parts) {
    CHECK_USER(part.shape() == parts[0].shape(),
               "loop: a stacked output changes its size from step to step");
    if (part.bytes() > 0) std::memcpy(to, part.data(), part.bytes());
    to += part.bytes();
  }
  return all;
}

std::vector<Tensor> run_if(const Node&, std::vector<Tensor> inputs, Bodies bodies,
                           const DimBinding& outer) {
  const bool condition = load_int(kBool, inputs[0].data()) != 0;
  inputs.erase(inputs.begin());
  return bodies[condition ? 0 : 1](std::move(inputs), outer);
}

std::vector<Tensor> run_loop(const Node& node, std::vector<Tensor> inputs, Bodies bodies,
                             const DimBinding& outer) {
  const auto& a = node.attrs.as<Loop::Attrs>();
  const size_t n_carried = static_cast<size_t>(a.n_carried);
  const bool counted = !inputs[0].empty_handle();
  const int64_t trips = counted ? load_int(inputs[0].dtype(), inputs[0].data()) : 0;
  bool go_on = inputs[1].empty_handle() || load_int(kBool, inputs[1].data()) != 0;
  std::vector<Tensor> carried(inputs.begin() + 2, inputs.begin() + 2 + a.n_carried);
  const std::vector<Tensor> captures(inputs.begin() + 2 + a.n_carried, inputs.end());
  const size_t n_stacked = a.body->outputs().size() - 1 - n_carried;
  std::vector<std::vector<Tensor>> parts(n_stacked);
  for (int64_t i = 0; go_on && (!counted || i < trips); ++i) {
    std::vector<Tensor> args{Tensor::from(kI64, {}, std::span<const int64_t>(&i, 1))};
    args.insert(args.end(), carried.begin(), carried.end());
    args.insert(args.end(), captures.begin(), captures.end());
    std::vector<Tensor> results = bodies[0](std::move(args), outer);
    go_on = load_int(kBool, results[0].data()) != 0;
    for (size_t k = 0; k < n_carried; ++k) carried[k] = results[1 + k];
    for (size_t k = 0; k < n_stacked; ++k) parts[k].push_back(results[1 + n_carried + k]);
  }
  for (size_t k = 0; k < n_stacked; ++k)
    carried.push_back(stacked(output_type(*a.body, 1 + n_carried + k), parts[k], outer));
  return carried;
}

std::vector<Tensor> run_scan(const Node& node, std::vector<Tensor> inputs, Bodies bodies,
                             const DimBinding& outer) {
  const auto& a = node.attrs.as<Scan::Attrs>();
  const size_t n_carried = static_cast<size_t>(a.n_carried),
               n_scanned = static_cast<size_t>(a.n_scanned);
  std::vector<Tensor> carried(inputs.begin(), inputs.begin() + a.n_carried);
  const std::vector<Tensor> captures(inputs.begin() + a.n_carried + a.n_scanned, inputs.end());
  const int64_t length = inputs[n_carried].shape()[0];
  const size_t n_stacked = a.body->outputs().size() - n_carried;
  std::vector<std::vector<Tensor>> parts(n_stacked,
                                         std::vector<Tensor>(static_cast<size_t>(length)));
  for (int64_t step = 0; step < length; ++step) {
    const int64_t i = a.reverse ? length - 1 - step : step;
    std::vector<Tensor> args = carried;
    for (size_t k = 0; k < n_scanned; ++k) args.push_back(entry_of(inputs[n_carried + k], i));
    args.insert(args.end(), captures.begin(), captures.end());
    std::vector<Tensor> results = bodies[0](std::move(args), outer);
    for (size_t k = 0; k < n_carried; ++k) carried[k] = results[k];
    for (size_t k = 0; k < n_stacked; ++k)
      parts[k][static_cast<size_t>(i)] = results[n_carried + k];
  }
  for (size_t k = 0; k < n_stacked; ++k)
    carried.push_back(stacked(output_type(*a.body, n_carried + k), parts[k], outer));
  return carried;
}

struct ControlRow {
  const Op* op;
  std::vector<Tensor> (*run)(const Node&, std::vector<Tensor>, Bodies, const DimBinding&);
};
constexpr ControlRow kControl[] = {{&op<If>, run_if}, {&op<Loop>, run_loop}, {&op<Scan>, run_scan}};

const ControlRow* control_row(const Node& node) {
  for (const ControlRow& row : kControl)
    if (row.op == node.op) return &row;
  return nullptr;
}

}  // namespace

bool is_control(const Node& node) { return control_row(node) != nullptr; }

std::vector<Tensor> run_control(const Node& node, std::vector<Tensor> inputs, Bodies bodies,
                                const DimBinding& outer) {
  return control_row(node)->run(node, std::move(inputs), bodies, outer);
}

}  // namespace lamella::planned
