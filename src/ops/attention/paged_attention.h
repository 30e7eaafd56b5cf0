#pragma once

#include <numbers>

#include "lamella/ops/attention/key_range.h"
#include "lamella/ops/attention/paged_rows.h"
#include "lamella/ops/linalg/matmul.h"

namespace lamella {

struct PagedAttention {
  static constexpr Info info{
      .name = "paged_attention",
      .inputs = "q, k_pages, v_pages, q_start, page_table, kv_len, sinks?",
      .outputs = "y",
      .doc =
          "attention, sequence by sequence, over keys and values that lie in pages: q [tokens, "
          "heads, dk], k_pages [pages, page, kv_heads, dk], v_pages [pages, page, kv_heads, dv], "
          "sinks [heads], y [tokens, heads, dv]. Sequence s has the queries q_start[s] to "
          "q_start[s + 1], the last of its kv_len[s] positions; key j of it is page page_table[s, "
          "j / page], at j % page. Entries of the table whose keys no query sees are not read. An "
          "encoded cache has no gradient.",
      .ulps = 16,
      .ulps_per_length = 0.5};
  struct Attrs {
    std::optional<double> scale = {};  // 1 / sqrt(dk)
    bool causal = true;
    int64_t window = 0;   // keys further away than window - 1 are not seen; 0: all are
    double soft_cap = 0;  // score = soft_cap * tanh(score / soft_cap); 0: none
    Compute compute = Compute::exact;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("scale", &Attrs::scale), f("causal", &Attrs::causal), f("window", &Attrs::window),
          f("soft_cap", &Attrs::soft_cap), f("compute", &Attrs::compute);
    }
  };

  static void type(TypeCx& cx, const Attrs& a) {
    cx.require_float(0), require_real(cx, 1), require_real(cx, 2);
    cx.require_rank(0, 3), cx.require_rank(1, 4), cx.require_rank(2, 4);
    const Shape &q = cx.shape(0), &k = cx.shape(1), &v = cx.shape(2);
    cx.require_equal(q[2], k[3], "sizes of a query and a key");
    cx.require_equal(k[0], v[0], "pages of keys and values");
    cx.require_equal(k[1], v[1], "page sizes of keys and values");
    cx.require_equal(k[2], v[2], "heads of keys and values");
    cx.check(!k[1].is(0), "a page holds no rows; got k_pages ", cx.in(1));
    check_attention(cx, a, q[1], k[2]);
    check_sequences(cx, 3);
    if (cx.has(6)) {
      cx.require_float(6), cx.require_rank(6, 1);
      cx.require_equal(cx.shape(6)[0], q[1], "sinks and query heads");
    }
    cx.out(cx.in(0).dtype, {q[0], q[1], v[3]});
  }

  // One sequence whose queries are its last positions: on average they see half of each other.
  static Dim flops(const Graph& g, const Node& n) {
    const Shape &q = g.type(n.inputs[0]).shape, &k = g.type(n.inputs[1]).shape,
                &v = g.type(n.inputs[2]).shape;
    const Dim keys = dim_max(k[0] * k[1] - floordiv(q[0], 2), 1);
    return q[0] * q[1] * keys * (k[3] + v[3]) * 2;
  }

  // A formula over ops would need one node a sequence; this is the formula of `attention`, row by
  // row.
  static void eval(EvalCx& cx, const Attrs& a) {
    RefTensor& y = cx.out(0);
    const std::vector<int64_t>&ks = cx.shape(1), &vs = cx.shape(2);
    cx.check(ks[1] > 0, "a page holds no rows");
    const PagedRows rows(cx, 3, cx.shape(0)[0], ks[0], ks[1]);
    const int64_t heads = cx.shape(0)[1], group = heads / ks[2], dk = ks[3], dv = vs[3];
    const Rounded round{a.compute};
    std::vector<double> p;
    std::vector<int64_t> at;
    for (int64_t s = 0; s < rows.n(); ++s)
      for (int64_t i = 0; i < rows.n_new(s); ++i) {
        const KeyRange keys = visible_keys(rows.position(s, i), rows.n_keys(s), a.causal, a.window);
        at.clear();
        for (int64_t j = keys.begin; j < keys.end; ++j) at.push_back(rows.row(s, j) * ks[2]);
        for (int64_t h = 0; h < heads; ++h) {
          const int64_t row = (rows.start(s) + i) * heads + h;
          p.clear();
          for (int64_t key : at)
            p.push_back(score(a, round, cx.in(0).f.data() + row * dk,
                              cx.in(1).f.data() + (key + h / group) * dk, dk));
          const double total = to_weights(p, round, cx.has(6) ? cx.in(6).f.data() + h : nullptr);
          for (size_t j = 0; j < p.size(); ++j)
            for (int64_t c = 0; c < dv; ++c)
              y.f[static_cast<size_t>(row * dv + c)] +=
                  p[j] / total *
                  round(cx.in(2).f[static_cast<size_t>((at[j] + h / group) * dv + c)]);
        }
      }
  }

  static void vjp(VjpCx& cx, const Attrs& a);
  static void samples(Samples& s) {
    const auto ints = [](std::vector<int64_t> shape, std::vector<double> values) {
      return In{.shape = std::move(shape), .dtype = kI32, .values = std::move(values)};
    };
    const In starts = ints({4}, {0, 3, 3, 5}), lengths = ints({3}, {5, 2, 3});
    const In table = ints({3, 3}, {4, 0, 2, 1, -1, -1, 3, 5, -1});
    const auto with = [&](int64_t heads, int64_t kv_heads, DType cache, Attrs a) {
      Sample& sample =
          s.add({In{.shape = {5, heads, 32}}, In{.shape = {6, 2, kv_heads, 32}, .dtype = cache},
                 In{.shape = {6, 2, kv_heads, 32}, .dtype = cache}, starts, table, lengths},
                a);
      sample.length = 32;
      // Differences see the steps of the rounding.
      sample.grad = a.compute == Compute::exact;
    };
    with(2, 2, {}, {});
    with(6, 2, kF16, {.scale = 0.5, .window = 2});
    with(6, 3, kBF16, {.soft_cap = 2});
    with(4, 1, find_dtype("q8_0"), {.causal = false});
    with(8, 2, find_dtype("q8_0"), {.compute = Compute::bf16});
    with(2, 2, find_dtype("q4_0"), {.window = 2, .soft_cap = 2, .compute = Compute::bf16});
    with(6, 3, kF16, {.scale = -0.5, .causal = false, .compute = Compute::bf16});
    const In q{.shape = {3, 4, 6}}, k{.shape = {5, 4, 2, 6}}, v{.shape = {5, 4, 2, 3}};
    const In start = ints({3}, {0, 1, 3}), pages = ints({2, 2}, {2, 4, 0, 1}),
             n = ints({2}, {7, 8});
    s.add({q, k, v, start, pages, n, In{.shape = {4}}}, Attrs{.window = 3}).length = 6;
    s.add({q, k, v, start, pages, n}, Attrs{.causal = false, .window = 2}).length = 6;
    Sample& rounded =
        s.add({q, k, v, start, pages, n, In{.shape = {4}}}, Attrs{.compute = Compute::bf16});
    rounded.length = 6;
    rounded.grad = false;
    s.add({In{.shape = {0, 4, 6}}, k, v, ints({3}, {0, 0, 0}), pages, n}, Attrs{});
    add_literal_samples(s);
    s.bad({q, k, v, start, pages, ints({2}, {7, 9})}, Attrs{}, "longer than its pages");
    s.bad({q, k, v, start, ints({2, 2}, {2, 5, 0, 1}), n}, Attrs{}, "page_table[0, 1]");
    s.bad({q, k, v, start, pages, ints({2}, {7, 1})}, Attrs{}, "less than its new tokens");
    s.bad({q, k, v, ints({3}, {1, 1, 3}), pages, n}, Attrs{}, "q_start does not begin");
    s.bad({In{.shape = {3, 3, 6}}, k, v, start, pages, n}, Attrs{}, "query heads");
    s.bad({In{.shape = {3, 4, 5}}, k, v, start, pages, n}, Attrs{}, "sizes of a query and a key");
    s.bad({q, k, v, start, pages, n}, Attrs{.window = -1}, "window");
    s.bad({q, k, v, start, pages, n, In{.shape = {2}}}, Attrs{}, "sinks");
  }

 private:
  static void add_literal_samples(Samples& s) {
    // golden:begin
    // clang-format off
    const std::string numpy = "NumPy 2.2.6, tools/golden/op_samples.py";
    s.expect(numpy, {In{.shape = {4, 4, 3}, .dtype = kF32, .values = {-1.5, -2, 1.125, 1.75, 2,
      -1.5, -1.5, -0.625, 0.875, 1.75, 1.375, -0.5, 1.75, -1, -1.5, -0.25, -1.625, 0.75, 2, -1.625,
      -1.625, -1.375, -1.375, 0.125, 0.25, 1.875, -0.25, 1.75, 1, 1.5, -1.25, -0.25, 1.75, 1,
      -1.125, 1.375, 1.125, -1.5, -1.75, -1, -0.125, -1.375, -1.875, -1.625, -0.75, -0.5, -0.75,
      -0.25}}, In{.shape = {6, 2, 2, 3}, .dtype = kF16, .values = {0.875, -1, -0.125, 1, -1.875,
      1.875, 2, -0.875, 1.625, -1, 1.75, 0.625, -1, -1.75, -0.375, 1, -1.125, 0, -1.5, -0.25,
      -1.875, 2, 0, 1.375, -1.5, -1.375, -1.375, 0.25, 1.5, 0.5, -0.125, 1.875, -1.25, -1.375, 0.75,
      1.5, -1, -1, 0.125, 1.125, -0.875, 1.375, 0.125, 0.875, 0.5, -0.125, 0.125, 2, -0.375, 1.875,
      1.25, -1.25, 1.5, -0.5, -1.375, -1, -1.5, -0.625, -1.625, 0.125, 2, 1.875, 1.875, -1, -1.125,
      0.75, 2, 1.375, -1.25, 1, 0, -0.25}}, In{.shape = {6, 2, 2, 2}, .dtype = kF16, .values = {0,
      0.25, 1.75, 1.25, -1.875, 1.125, -0.75, -0.625, 0.375, 2, -1.75, 0, -1.125, 1.75, -0.125, 1.5,
      1.625, -1.625, 1.125, 1.25, 1.375, 2, 1.125, 1.375, 0.875, -0.875, 1.5, 0.875, 0.75, 2, 1,
      -0.625, -0.875, -0.75, -1.375, -1.75, 1, 1.125, -1.375, -0.375, 1.75, 1.375, 0.375, 2, -0.75,
      1.375, 1.75, 0.375}}, In{.shape = {4}, .dtype = kI32, .values = {0, 1, 1, 4}}, In{.shape = {3,
      3}, .dtype = kI32, .values = {4, 0, 2, 1, 9, 9, 5, 3, -1}}, In{.shape = {3}, .dtype = kI32,
      .values = {5, 2, 3}}}, Attrs{.window = 2, .soft_cap = 2}, {Expect{{4, 4, 2}, {0.808471313,
      -0.983441746, -0.996567783, 0.434803258, -0.257267304, -0.132267304, 0.600156976, 0.725156976,
      1.75, 1.375, 1.75, 1.375, 0.375, 2, 0.375, 2, 0.523630728, 1.375, 0.844716154, 1.375,
      0.505510564, 1.84576024, 0.946334466, 1.32478654, -0.344218478, 0.813148661, 0.370143755,
      -0.175968276, 1.62589363, 0.623212737, 1.61830836, 0.63838329}}});
    s.expect(numpy, {In{.shape = {4, 4, 3}, .dtype = kF32, .values = {-1.5, -2, 1.125, 1.75, 2,
      -1.5, -1.5, -0.625, 0.875, 1.75, 1.375, -0.5, 1.75, -1, -1.5, -0.25, -1.625, 0.75, 2, -1.625,
      -1.625, -1.375, -1.375, 0.125, 0.25, 1.875, -0.25, 1.75, 1, 1.5, -1.25, -0.25, 1.75, 1,
      -1.125, 1.375, 1.125, -1.5, -1.75, -1, -0.125, -1.375, -1.875, -1.625, -0.75, -0.5, -0.75,
      -0.25}}, In{.shape = {6, 2, 2, 3}, .dtype = kF16, .values = {0.875, -1, -0.125, 1, -1.875,
      1.875, 2, -0.875, 1.625, -1, 1.75, 0.625, -1, -1.75, -0.375, 1, -1.125, 0, -1.5, -0.25,
      -1.875, 2, 0, 1.375, -1.5, -1.375, -1.375, 0.25, 1.5, 0.5, -0.125, 1.875, -1.25, -1.375, 0.75,
      1.5, -1, -1, 0.125, 1.125, -0.875, 1.375, 0.125, 0.875, 0.5, -0.125, 0.125, 2, -0.375, 1.875,
      1.25, -1.25, 1.5, -0.5, -1.375, -1, -1.5, -0.625, -1.625, 0.125, 2, 1.875, 1.875, -1, -1.125,
      0.75, 2, 1.375, -1.25, 1, 0, -0.25}}, In{.shape = {6, 2, 2, 2}, .dtype = kF16, .values = {0,
      0.25, 1.75, 1.25, -1.875, 1.125, -0.75, -0.625, 0.375, 2, -1.75, 0, -1.125, 1.75, -0.125, 1.5,
      1.625, -1.625, 1.125, 1.25, 1.375, 2, 1.125, 1.375, 0.875, -0.875, 1.5, 0.875, 0.75, 2, 1,
      -0.625, -0.875, -0.75, -1.375, -1.75, 1, 1.125, -1.375, -0.375, 1.75, 1.375, 0.375, 2, -0.75,
      1.375, 1.75, 0.375}}, In{.shape = {4}, .dtype = kI32, .values = {0, 1, 1, 4}}, In{.shape = {3,
      3}, .dtype = kI32, .values = {4, 0, 2, 1, 9, 9, 5, 3, -1}}, In{.shape = {3}, .dtype = kI32,
      .values = {5, 2, 3}}, In{.shape = {4}, .dtype = kF32, .values = {-1.375, -0.875, 0, -0.875}}},
      Attrs{.scale = 0.75}, {Expect{{4, 4, 2}, {1.07189603, -0.572164772, -0.645270933,
      -0.197567718, -0.381313421, -0.128426458, 0.462436132, 0.505810326, 1.08286576, 0.850823096,
      0.568910776, 0.447001324, 0.0977165917, 0.521155156, 0.359393326, 1.9167644, 0.567844076,
      1.3622508, 1.69844716, 1.37379138, 0.376320548, 1.74709949, 0.820541549, 1.25664975,
      -0.457396731, 0.984601986, 0.40686669, -0.241376422, 0.401676777, 1.77122554, 0.781479281,
      1.32430406}}});
    s.expect(numpy, {In{.shape = {4, 4, 3}, .dtype = kF32, .values = {-1.5, -2, 1.125, 1.75, 2,
      -1.5, -1.5, -0.625, 0.875, 1.75, 1.375, -0.5, 1.75, -1, -1.5, -0.25, -1.625, 0.75, 2, -1.625,
      -1.625, -1.375, -1.375, 0.125, 0.25, 1.875, -0.25, 1.75, 1, 1.5, -1.25, -0.25, 1.75, 1,
      -1.125, 1.375, 1.125, -1.5, -1.75, -1, -0.125, -1.375, -1.875, -1.625, -0.75, -0.5, -0.75,
      -0.25}}, In{.shape = {6, 2, 2, 3}, .dtype = kF16, .values = {0.875, -1, -0.125, 1, -1.875,
      1.875, 2, -0.875, 1.625, -1, 1.75, 0.625, -1, -1.75, -0.375, 1, -1.125, 0, -1.5, -0.25,
      -1.875, 2, 0, 1.375, -1.5, -1.375, -1.375, 0.25, 1.5, 0.5, -0.125, 1.875, -1.25, -1.375, 0.75,
      1.5, -1, -1, 0.125, 1.125, -0.875, 1.375, 0.125, 0.875, 0.5, -0.125, 0.125, 2, -0.375, 1.875,
      1.25, -1.25, 1.5, -0.5, -1.375, -1, -1.5, -0.625, -1.625, 0.125, 2, 1.875, 1.875, -1, -1.125,
      0.75, 2, 1.375, -1.25, 1, 0, -0.25}}, In{.shape = {6, 2, 2, 2}, .dtype = kF16, .values = {0,
      0.25, 1.75, 1.25, -1.875, 1.125, -0.75, -0.625, 0.375, 2, -1.75, 0, -1.125, 1.75, -0.125, 1.5,
      1.625, -1.625, 1.125, 1.25, 1.375, 2, 1.125, 1.375, 0.875, -0.875, 1.5, 0.875, 0.75, 2, 1,
      -0.625, -0.875, -0.75, -1.375, -1.75, 1, 1.125, -1.375, -0.375, 1.75, 1.375, 0.375, 2, -0.75,
      1.375, 1.75, 0.375}}, In{.shape = {4}, .dtype = kI32, .values = {0, 1, 1, 4}}, In{.shape = {3,
      3}, .dtype = kI32, .values = {4, 0, 2, 1, 9, 9, 5, 3, -1}}, In{.shape = {3}, .dtype = kI32,
      .values = {5, 2, 3}}}, Attrs{.causal = false}, {Expect{{4, 4, 2}, {0.89818383, -0.406268859,
      -0.628550217, -0.116338674, -0.35693039, -0.135429206, 0.335603925, 0.361661777, -0.552295524,
      1.25759794, 0.891783437, -0.613051756, 1.5738801, 0.652600641, 0.606000068, 1.75326145,
      0.562412245, 1.33215032, 1.62942122, 1.37068789, 0.744254659, 1.61826839, 1.35242041,
      0.995814704, -0.351386489, 0.896230161, 0.408624614, -0.145423567, 0.511086905, 1.85019402,
      0.943473211, 1.37746106}}});
    // clang-format on
    // golden:end
  }
  // Operands of products, as `compute` wants them.
  struct Rounded {
    Compute compute;
    double operator()(double v) const {
      return compute == Compute::bf16 ? round_float(kBF16, v) : v;
    }
  };
  static double score(const Attrs& a, Rounded round, const double* q, const double* k, int64_t d) {
    double sum = 0;
    for (int64_t c = 0; c < d; ++c) sum += round(q[c]) * round(k[c]);
    sum *= a.scale.value_or(1 / std::sqrt(static_cast<double>(d)));
    return a.soft_cap > 0 ? a.soft_cap * std::tanh(sum / a.soft_cap) : sum;
  }
  // Scores become weights, by powers of two too small; gives what they are divided by.
  static double to_weights(std::vector<double>& scores, Rounded round, const double* sink) {
    const double none = -std::numeric_limits<double>::infinity();
    double top = sink ? *sink : none, sum = 0;
    for (double v : scores) top = std::max(top, v);
    top = std::ceil(top / std::numbers::ln2) * std::numbers::ln2;
    for (double& v : scores) sum += v = v == none ? 0 : round(std::exp(v - top));
    if (sink) sum += std::exp(*sink - top);
    return sum == 0 ? 1 : sum;
  }
};
inline constexpr Call<PagedAttention> paged_attention;

}  // namespace lamella
