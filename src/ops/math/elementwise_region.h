#pragma once

#include "lamella/ops/math/add.h"
#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/mul.h"

namespace lamella {

// Made by a pass, never by a user.
struct ElementwiseRegion {
  static constexpr Info info{.name = "elementwise_region",
                             .inputs = "inputs...",
                             .outputs = "y",
                             .doc =
                                 "A chain of elementwise ops in one step: `body`, a graph over "
                                 "rank-0 values, applied at every element of "
                                 "the inputs' broadcast.",
                             .ulps = 64};
  struct Attrs {
    GraphPtr body = {};
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("body", &Attrs::body); }
  };
  static constexpr size_t kMaxSteps = 32, kMaxInputs = 16;

  static void type(TypeCx& cx, const Attrs& a) {
    cx.check(a.body != nullptr && a.body->outputs().size() == 1, "wants a body with one output");
    const Graph& body = *a.body;
    cx.check(body.inputs().size() == cx.n_inputs(), "the body has another number of inputs; got ",
             cx.n_inputs(), "; want ", body.inputs().size());
    Shape shape;
    for (size_t i = 0; i < cx.n_inputs(); ++i) {
      cx.check(body.type(body.inputs()[i]) == Type(cx.in(i).dtype, Shape{}), "input ", i,
               " differs from the body's; got ", cx.in(i), "; want ", body.type(body.inputs()[i]));
      shape = cx.broadcast(shape, cx.shape(i));
    }
    for (const Node& n : body.nodes())
      cx.check(n.op->has(kElementwise) || n.is(op<Input>) || n.is(op<Constant>),
               "the body has a node that is not "
               "elementwise; got ",
               n.op->info.name);
    cx.out(body.type(body.outputs()[0].id).dtype, std::move(shape));
  }

  static Value expand(const Args& x, const Attrs& a) {
    const Graph& body = *a.body;
    std::vector<Value> value(body.nodes().size());
    size_t next = 0;
    for (size_t i = 0; i < body.nodes().size(); ++i) {
      const Node& n = body.nodes()[i];
      if (n.is(op<Input>))
        value[i] = x[next++];
      else if (n.is(op<Constant>))
        value[i] = x.graph().constant(n.attrs.as<Constant::Attrs>().value);
      else {
        Values inputs;
        for (ValueId id : n.inputs) inputs.push_back(value[id.node]);
        value[i] = x.graph().add(*n.op, inputs, n.attrs)[0];
      }
    }
    return value[body.outputs()[0].id.node];
  }

  static void samples(Samples& s) {
    s.types(std::array{kF32});
    // a * b + 0.5
    auto body = std::make_shared<Graph>("body");
    const Value a = body->input("a", Type(kF32, {})), b = body->input("b", Type(kF32, {}));
    body->output("y", add(mul(a, b), body->scalar(kF32, 0.5)));
    const Attrs attrs{body};
    s.add({In{.shape = {3, 70}, .dtype = kF32}, In{.shape = {3, 70}, .dtype = kF32}}, attrs);
    s.add({In{.shape = {4, 1, 3}, .dtype = kF32}, In{.shape = {5, 1}, .dtype = kF32}}, attrs);
    s.add({In{.shape = {}, .dtype = kF32}, In{.shape = {0, 2}, .dtype = kF32}}, attrs);
    std::vector<double> x, y, z;
    for (int i = 0; i < 16; ++i) x.push_back(i - 3), y.push_back(2), z.push_back((i - 3) * 2 + 0.5);
    s.expect("by hand",
             {In{.shape = {2, 8}, .dtype = kF32, .values = x},
              In{.shape = {1}, .dtype = kF32, .values = {2}}},
             attrs, {Expect{{2, 8}, z}});
    s.expect("by hand",
             {In{.shape = {16}, .dtype = kF32, .values = x},
              In{.shape = {16}, .dtype = kF32, .values = y}},
             attrs, {Expect{{16}, z}});
    s.bad({In{.shape = {3}, .dtype = kF32}}, attrs, "another number of inputs");
    s.bad({In{.shape = {3}, .dtype = kF32}, In{.shape = {4}, .dtype = kF32}}, attrs,
          "do not broadcast");
  }
};
inline constexpr Call<ElementwiseRegion> elementwise_region;

}  // namespace lamella
