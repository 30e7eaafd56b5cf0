#include "lamella/ops/control/gradient.h"

#include "lamella/ir/rewrite.h"
#include "lamella/ops/control/scan.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/expand.h"

namespace lamella {
namespace {

bool is_smooth(const Type& t) { return t.is_tensor() && t.dtype.is_float(); }

// Builds the scan that goes back. Its values, and the inputs of its body, are in three groups: the
// gradients of the carried values and the sums for captures; what the forward step saw and the
// gradients of what it gave; captures.
class BackwardScan {
 public:
  BackwardScan(VjpCx& cx, const Steps& s)
      : cx_(cx), s_(s), back_(cx.graph().sub_graph("backward")), seen_(s.roles.size()) {}

  Values build() {
    const Graph gradient = cx_.gradient_of(s_.body);
    for (size_t i = 0; i < s_.roles.size(); ++i)
      if (is_smooth(inner(i)) && s_.roles[i] != Role::entry) carry(i);
    const size_t n_carried = values_.size();
    for (size_t i = 0; i < s_.roles.size(); ++i)
      if (s_.roles[i] != Role::capture) seen_[i] = enter(inner(i), s_.values[i]);
    Values args = seeds();
    const size_t n_scanned = values_.size() - n_carried;
    for (size_t i = 0; i < s_.roles.size(); ++i)
      if (s_.roles[i] == Role::capture) seen_[i] = enter(inner(i), s_.values[i]);
    args.insert(args.begin(), seen_.begin(), seen_.end());
    finish(append_graph(back_, gradient, args));
    const Values results = scan(values_, {.body = std::make_shared<Graph>(std::move(back_)),
                                          .n_carried = static_cast<int64_t>(n_carried),
                                          .n_scanned = static_cast<int64_t>(n_scanned),
                                          .reverse = !s_.reverse});
    Values out(s_.roles.size());
    size_t next_carried = 0, next_entry = n_carried;
    for (size_t i = 0; i < s_.roles.size(); ++i)
      if (is_smooth(inner(i)))
        out[i] = results[s_.roles[i] == Role::entry ? next_entry++ : next_carried++];
    return out;
  }

 private:
  const Type& inner(size_t i) const { return s_.body.type(s_.body.inputs()[i]); }
  Value enter(const Type& type, Value outer) {
    values_.push_back(outer);
    return back_.input("x" + std::to_string(values_.size()), type);
  }
  Value zeros(Graph& graph, const Type& t) { return full(graph, t.shape, t.dtype, 0); }

  // The n-th carried input's output.
  size_t next_of(size_t input) const {
    size_t n = s_.first_carried;
    for (size_t i = 0; i < input; ++i) n += s_.roles[i] == Role::carried;
    return n;
  }
  void carry(size_t i) {
    Value start;
    if (s_.roles[i] == Role::carried) {
      start = s_.output_grads[next_of(i)];
      if (start.absent()) start = zeros(cx_.graph(), cx_.in(s_.node_inputs[i]).type());
    } else {
      start = zeros(cx_.graph(), s_.values[i].type());
    }
    carried_.push_back(enter(inner(i), start));
  }
  // The gradient of each smooth output of the body at a step.
  Values seeds() {
    Values out;
    std::vector<Value> of_output(s_.body.outputs().size());
    size_t next = 0;
    for (size_t i = 0; i < s_.roles.size(); ++i)
      if (is_smooth(inner(i)) && s_.roles[i] != Role::entry) {
        if (s_.roles[i] == Role::carried) of_output[next_of(i)] = carried_[next];
        ++next;
      }
    for (size_t o = 0; o < of_output.size(); ++o) {
      const Type& t = output_type(s_.body, o);
      if (!is_smooth(t)) continue;
      if (of_output[o].absent())
        of_output[o] = s_.output_grads[o].absent() ? zeros(back_, t) : enter(t, s_.output_grads[o]);
      out.push_back(of_output[o]);
    }
    return out;
  }
  // `grads` has one for each smooth input of the body. Carried first, then what is stacked.
  void finish(const Values& grads) {
    size_t next = 0, sum = 0;
    Values stacked;
    for (size_t i = 0; i < s_.roles.size(); ++i) {
      if (!is_smooth(inner(i))) continue;
      const Value g = grads[next++];
      const std::string name = "y" + std::to_string(i);
      if (s_.roles[i] == Role::entry)
        stacked.push_back(g);
      else
        back_.output(name, s_.roles[i] == Role::carried ? g : carried_[sum] + g);
      sum += s_.roles[i] != Role::entry;
    }
    for (Value g : stacked) back_.output("entry" + std::to_string(back_.outputs().size()), g);
  }

  VjpCx& cx_;
  const Steps& s_;
  Graph back_;
  Values values_;   // of the scan
  Values carried_;  // inputs of the new body: gradients of carried values, sums for captures
  Values seen_;     // inputs of the new body for each input of the old one
};

}  // namespace

Values steps_gradient(VjpCx& cx, const Steps& steps) { return BackwardScan(cx, steps).build(); }

}  // namespace lamella
