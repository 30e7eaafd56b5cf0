// The two forms of attention agree, whatever the pages.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "lamella/ops/attention/attention.h"
#include "lamella/ops/attention/kv_append.h"
#include "lamella/ops/attention/paged_attention.h"
#include "lamella/ops/evaluate.h"

namespace lamella {
namespace {

constexpr int64_t kSeqs = 3, kQueries = 4, kKeys = 7, kHeads = 6, kKvHeads = 2, kDk = 5, kDv = 3,
                  kPage = 2, kPages = 14, kSlots = 5;

RefTensor random_tensor(std::vector<int64_t> shape, unsigned seed) {
  RefTensor t(kF64, std::move(shape));
  std::mt19937 random(seed);
  std::normal_distribution<double> draw;
  for (double& v : t.f) v = draw(random);
  return t;
}

RefTensor ints(std::vector<int64_t> shape, std::vector<int64_t> values) {
  RefTensor t(kI32, std::move(shape));
  t.i = std::move(values);
  return t;
}

// Runs one op on literal inputs.
template <class T, class Attrs>
RefTensor run(const Call<T>& call, const std::vector<RefTensor>& inputs, const Attrs& attrs) {
  Graph g;
  Values values;
  RefTensors given;
  for (const RefTensor& t : inputs) {
    const std::string name = "x" + std::to_string(values.size());
    Shape shape;
    for (int64_t d : t.shape) shape.dims.push_back(d);
    values.push_back(g.input(name, Type(t.dtype, shape)));
    given[name] = t;
  }
  g.output("y", call(values, attrs));
  return evaluate_graph(g, given).outputs[0];
}

// [seqs, heads, rows, d] as [seqs * rows, heads, d].
RefTensor by_token(const RefTensor& x) {
  RefTensor y(x.dtype, {x.shape[0] * x.shape[2], x.shape[1], x.shape[3]});
  for (Index at(x.shape); !at.done(); at.next()) {
    const int64_t token = at[0] * x.shape[2] + at[2];
    const int64_t to = (token * x.shape[1] + at[1]) * x.shape[3] + at[3];
    y.f[static_cast<size_t>(to)] = x.f[at.flat()];
  }
  return y;
}

// Sequences of equal lengths, in pages that are not in order.
struct Batch {
  RefTensor q = random_tensor({kSeqs, kHeads, kQueries, kDk}, 1),
            k = random_tensor({kSeqs, kKvHeads, kKeys, kDk}, 2),
            v = random_tensor({kSeqs, kKvHeads, kKeys, kDv}, 3), sinks = random_tensor({kHeads}, 4);
  RefTensor table{kI32, {kSeqs, kSlots}};

  Batch() {
    std::vector<int64_t> pages(kPages);
    std::iota(pages.begin(), pages.end(), 0);
    std::shuffle(pages.begin(), pages.end(), std::mt19937(5));
    for (int64_t s = 0; s < kSeqs; ++s)
      for (int64_t i = 0; i < kSlots; ++i)
        table.i[static_cast<size_t>(s * kSlots + i)] =
            i < 4 ? pages[static_cast<size_t>(s * 4 + i)] : -1;
  }
  static RefTensor starts(int64_t n) { return ints({kSeqs + 1}, {0, n, 2 * n, 3 * n}); }
  // All of x appended to an empty cache.
  RefTensor cache(const RefTensor& x) const {
    RefTensor empty(kF64, {kPages, kPage, kKvHeads, x.shape[3]});
    for (double& v : empty.f) v = NAN;
    return run(kv_append,
               {empty, by_token(x), starts(kKeys), table, ints({kSeqs}, {kKeys, kKeys, kKeys})},
               NoAttrs{});
  }
};

struct Variant {
  Attention::Attrs attrs;
  bool with_sinks = false;
};

TEST(Attention, PagedAndDenseAgree) {
  const Batch b;
  const RefTensor keys = b.cache(b.k), values = b.cache(b.v);
  const Variant variants[] = {
      {{}},
      {{.causal = true}},
      {{.scale = 0.3, .causal = true, .window = 3}, true},
      {{.window = 2}},
      {{.causal = true, .window = 100, .soft_cap = 1.5}},
      {{.soft_cap = 0.5}, true},
      {{.causal = true, .compute = Compute::bf16}},
  };
  for (const Variant& variant : variants) {
    const Attention::Attrs& a = variant.attrs;
    std::vector<RefTensor> paged{by_token(b.q), keys,
                                 values,        Batch::starts(kQueries),
                                 b.table,       ints({kSeqs}, {kKeys, kKeys, kKeys})};
    if (variant.with_sinks) paged.push_back(b.sinks);
    const RefTensor got = run(paged_attention, paged,
                              PagedAttention::Attrs{.scale = a.scale,
                                                    .causal = a.causal,
                                                    .window = a.window,
                                                    .soft_cap = a.soft_cap,
                                                    .compute = a.compute});
    // Without a bias the sinks still come last.
    const RefTensor no_bias(kF64, {1, 1});
    std::vector<RefTensor> dense{b.q, b.k, b.v};
    if (variant.with_sinks) dense.insert(dense.end(), {no_bias, b.sinks});
    const RefTensor want = by_token(run(attention, dense, a));
    ASSERT_EQ(got.shape, want.shape);
    for (size_t i = 0; i < got.f.size(); ++i)
      ASSERT_NEAR(got.f[i], want.f[i], 1e-12) << "causal " << a.causal << " window " << a.window;
  }
}

TEST(Attention, HugeWindowsAreNoWindow) {
  const Batch b;
  for (bool causal : {false, true}) {
    const RefTensor all = run(attention, {b.q, b.k, b.v}, Attention::Attrs{.causal = causal});
    const int64_t huge = std::numeric_limits<int64_t>::max();
    const RefTensor wide =
        run(attention, {b.q, b.k, b.v}, Attention::Attrs{.causal = causal, .window = huge});
    for (size_t i = 0; i < all.f.size(); ++i) ASSERT_DOUBLE_EQ(all.f[i], wide.f[i]);
  }
}

}  // namespace
}  // namespace lamella
