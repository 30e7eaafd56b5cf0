// Every op's samples through the text form and the verifier, as the op's own files give them.
#include <gtest/gtest.h>

#include "lamella/ir/parse.h"
#include "lamella/ir/print.h"
#include "lamella/ir/rewrite.h"
#include "lamella/ir/verify.h"
#include "lamella/ops/op.h"

namespace lamella {
namespace {

// The op alone on the sample's inputs; literal integers are constants, whose values shape rules
// see. With `symbolic`, sizes of 2 and more are symbols, the same for the same size.
Graph graph_of_sample(const Op& op, const Sample& sample, DType dtype, bool symbolic, bool save) {
  Graph g("sample");
  Values inputs;
  for (const In& in : sample.inputs) {
    if (in.is_absent) {
      inputs.push_back({});
      continue;
    }
    const DType type = in.dtype.is_none() ? dtype : in.dtype;
    if (type.is_int() && type.bytes() > 0 && !in.values.empty()) {
      inputs.push_back(g.constant(Tensor::from(type, in.shape, in.values)));
      continue;
    }
    Shape shape;
    for (int64_t d : in.shape)
      shape.dims.push_back(symbolic && d > 1 ? g.symbol(str("n", d), {2, 4096}) : Dim(d));
    inputs.push_back(g.input(str("x", inputs.size()), Type(type, std::move(shape))));
  }
  const auto origin = g.origin(str("sample of ", op.info.name));
  const Values outputs = g.add(op, inputs, sample.attrs, save);
  for (const Value& y : outputs) g.output(str("y", y.id.out), y);
  return g;
}

// The formula of a composite on the sample's inputs.
Graph expanded(const Graph& g) {
  return rewrite(g, [&](GraphRewriter& r, uint32_t i) -> std::optional<Values> {
    const Node& n = g.nodes()[i];
    if (!n.op->is_composite() || n.n_saved > 0) return std::nullopt;
    return n.op->expand(Args(r.to(), r.map(n.inputs)), n.attrs.data());
  });
}

void expect_round_trip(const Graph& g) {
  const std::string text = print(g);
  try {
    const Graph back = parse_graph(text, builtin_ops());
    EXPECT_TRUE(same_graph(g, back)) << text;
    EXPECT_EQ(print(back), text);
    verify(back);
    EXPECT_TRUE(same_graph(prune(back), prune(g))) << text;
  } catch (const Error& e) {
    ADD_FAILURE() << e.what() << "\n" << text;
  }
}

TEST(IrText, EverySampleOfEveryOpReadsBack) {
  int n_graphs = 0;
  for (const Op* op : all_ops()) {
    if (!op->samples) continue;
    Samples samples;
    op->samples(samples);
    for (size_t i = 0; i < samples.list.size(); ++i) {
      const Sample& sample = samples.list[i];
      if (!sample.error.empty()) continue;
      for (bool symbolic : {false, true})
        for (bool save : {false, true}) {
          if (save && op->saved.size == 0) continue;
          SCOPED_TRACE(str(op->info.name, " sample ", i, symbolic ? ", symbolic" : ""));
          std::optional<Graph> g, formula;
          try {
            g = graph_of_sample(*op, sample, samples.types()[i % samples.types().size()], symbolic,
                                save);
            formula = expanded(*g);
          } catch (const UserError& e) {
            // Not every attribute goes with sizes that are not known.
            EXPECT_TRUE(symbolic) << e.what();
          }
          for (const auto& graph : {g, formula})
            if (graph) expect_round_trip(*graph), ++n_graphs;
        }
    }
  }
  std::printf("%d graphs\n", n_graphs);
  EXPECT_GT(n_graphs, 100);
}

}  // namespace
}  // namespace lamella
