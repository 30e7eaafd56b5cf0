// Every op's samples through the reference: literal cases give their values, bad ones their
// message, and random ones the same result whether sizes are known when the graph is built or only
// when it runs.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "lamella/ops/evaluate.h"
#include "lamella/ops/op.h"

namespace lamella {
namespace {

RefTensor make_input(const In& in, DType type, std::mt19937& random) {
  RefTensor t(in.dtype.is_none() ? type : in.dtype, in.shape);
  std::uniform_real_distribution<double> floats(in.domain.low, in.domain.high);
  const auto low = static_cast<int64_t>(std::ceil(in.domain.low));
  std::uniform_int_distribution<int64_t> ints(low, static_cast<int64_t>(in.domain.high));
  for (size_t i = 0; i < t.f.size(); ++i) {
    t.f[i] = in.values.empty() ? floats(random) : in.values[i];
    if (in.domain.nonfinite && i % 3 == 1) t.f[i] = i % 2 ? NAN : INFINITY;
  }
  for (size_t i = 0; i < t.i.size(); ++i)
    t.i[i] =
        wrap_int(t.dtype, in.values.empty() ? ints(random) : static_cast<int64_t>(in.values[i]));
  if (t.dtype.is_block() && t.dtype.info().format->encode)
    t.f = encode_decode(*t.dtype.info().format, t.shape.back(), t.f);
  return t;
}

// Runs one sample. Literal integers become constants, whose values shape rules see, or inputs like
// the others.
std::vector<RefTensor> run(const Op& op, const Sample& sample, DType type,
                           bool literals_are_constants) {
  std::mt19937 random(7);
  Graph g;
  Values inputs;
  RefTensors given;
  for (const In& in : sample.inputs) {
    if (in.is_absent) {
      inputs.push_back({});
      continue;
    }
    RefTensor t = make_input(in, type, random);
    const bool is_literal = t.dtype.is_int() && in.values.size() == t.i.size();
    if (is_literal && literals_are_constants) {
      inputs.push_back(g.constant(t.to_tensor()));
      continue;
    }
    Shape shape;
    for (int64_t d : in.shape) shape.dims.push_back(d);
    const std::string name = "x" + std::to_string(inputs.size());
    inputs.push_back(g.input(name, Type(t.dtype, shape)));
    given[name] = std::move(t);
  }
  const Values outputs = g.add(op, inputs, sample.attrs);
  for (size_t i = 0; i < outputs.size(); ++i) g.output("y" + std::to_string(i), outputs[i]);
  return evaluate_graph(g, given).outputs;
}

bool is_close(double got, double want, double tolerance) {
  if (std::isnan(want) || std::isinf(want)) return std::isnan(want) ? std::isnan(got) : got == want;
  return std::abs(got - want) <= tolerance * std::max(1.0, std::abs(want));
}

void expect_values(const std::vector<RefTensor>& got, const std::vector<Expect>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t o = 0; o < want.size(); ++o) {
    ASSERT_EQ(got[o].shape, want[o].shape) << "output " << o;
    ASSERT_EQ(static_cast<size_t>(got[o].numel()), want[o].values.size()) << "output " << o;
    for (size_t i = 0; i < want[o].values.size(); ++i)
      EXPECT_TRUE(
          is_close(got[o].number(static_cast<int64_t>(i)), want[o].values[i], want[o].tolerance))
          << "output " << o << " element " << i << ": got "
          << got[o].number(static_cast<int64_t>(i)) << ", want " << want[o].values[i];
  }
}

void expect_same(const std::vector<RefTensor>& a, const std::vector<RefTensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t o = 0; o < a.size(); ++o) {
    EXPECT_EQ(a[o].shape, b[o].shape);
    EXPECT_EQ(a[o].i, b[o].i);
    ASSERT_EQ(a[o].f.size(), b[o].f.size());
    for (size_t i = 0; i < a[o].f.size(); ++i) EXPECT_TRUE(is_close(a[o].f[i], b[o].f[i], 0)) << i;
  }
}

void expect_error(const Op& op, const Sample& sample, DType type) {
  try {
    run(op, sample, type, true);
    ADD_FAILURE() << "no error; want '" << sample.error << "'";
  } catch (const UserError& e) {
    EXPECT_NE(std::string_view(e.what()).find(sample.error), std::string_view::npos)
        << "got '" << e.what() << "', want '" << sample.error << "'";
    EXPECT_NE(std::string_view(e.what()).find(op.info.name), std::string_view::npos) << e.what();
  }
  // With unknown values the refusal may come late or not at all, but nothing else may happen.
  try {
    run(op, sample, type, false);
  } catch (const UserError&) {
  }
}

class OpSamples : public testing::TestWithParam<const Op*> {};

TEST_P(OpSamples, Hold) {
  const Op& op = *GetParam();
  ASSERT_NE(op.samples, nullptr) << "an op without samples";
  Samples samples;
  op.samples(samples);
  for (DType type : samples.types())
    for (size_t i = 0; i < samples.list.size(); ++i) {
      const Sample& sample = samples.list[i];
      SCOPED_TRACE(str(op.info.name, " sample ", i, " at ", type, " ", sample.source));
      try {
        if (!sample.error.empty()) {
          expect_error(op, sample, type);
          continue;
        }
        const std::vector<RefTensor> got = run(op, sample, type, true);
        expect_same(got, run(op, sample, type, false));
        if (!sample.expect.empty()) expect_values(got, sample.expect);
      } catch (const std::exception& e) {
        ADD_FAILURE() << e.what();
      }
    }
}

std::vector<const Op*> computing_ops() {
  std::vector<const Op*> ops;
  for (const Op* op : all_ops())
    if (!op->has(kStructural)) ops.push_back(op);
  return ops;
}

INSTANTIATE_TEST_SUITE_P(All, OpSamples, testing::ValuesIn(computing_ops()),
                         [](const auto& info) { return std::string(info.param->info.name); });

}  // namespace
}  // namespace lamella
