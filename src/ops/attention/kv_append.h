#pragma once

#include "lamella/ops/attention/key_range.h"
#include "lamella/ops/attention/paged_rows.h"

namespace lamella {

struct KvAppend {
  static constexpr Info info{
      .name = "kv_append",
      .inputs = "cache, new, q_start, page_table, kv_len",
      .outputs = "y",
      .doc =
          "The cache [pages, page, kv_heads, d] with the rows new [tokens, kv_heads, d] written "
          "in, rounded to the cache's element type. Sequence s owns the tokens q_start[s] to "
          "q_start[s + 1]; kv_len[s] is its length with them; row j of it is page "
          "page_table[s, j / page], at j % page. Where two tokens have one place, the later one "
          "stays. Indices out of range are errors. The gradient is that of the values before "
          "rounding, right where no two tokens have one place.",
      .updates = "cache"};

  static void type(TypeCx& cx, const NoAttrs&) {
    require_real(cx, 0), cx.require_float(1);
    cx.require_rank(0, 4), cx.require_rank(1, 3);
    cx.require_equal(cx.shape(0)[2], cx.shape(1)[1], "kv heads of cache and new");
    cx.require_equal(cx.shape(0)[3], cx.shape(1)[2], "row sizes of cache and new");
    cx.check(!cx.shape(0)[1].is(0), "a page holds no rows; got cache ", cx.in(0));
    check_sequences(cx, 2);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }

  static void eval(EvalCx& cx, const NoAttrs&) {
    RefTensor& y = cx.out(0);
    const RefTensor &cache = cx.in(0), &added = cx.in(1);
    y.f = cache.f;
    cx.check(cache.shape[1] > 0, "a page holds no rows");
    const PagedRows rows(cx, 2, added.shape[0], cache.shape[0], cache.shape[1]);
    const int64_t width = cache.shape[2] * cache.shape[3];
    const std::vector<double> values = rounded(cache.dtype, cache.shape[3], added.f);
    for (int64_t s = 0; s < rows.n(); ++s)
      for (int64_t i = 0; i < rows.n_new(s); ++i)
        std::copy_n(values.begin() + (rows.start(s) + i) * width, width,
                    y.f.begin() + rows.row(s, rows.position(s, i)) * width);
  }

  static void vjp(VjpCx& cx, const NoAttrs&);
  static void samples(Samples& s) {
    const auto ints = [](std::vector<int64_t> shape, std::vector<double> values) {
      return In{.shape = std::move(shape), .dtype = kI32, .values = std::move(values)};
    };
    const In starts = ints({4}, {0, 3, 3, 5}), lengths = ints({3}, {5, 2, 3});
    const In table = ints({3, 3}, {4, 0, 2, 1, -1, -1, 3, 5, -1});
    for (DType t : {DType{}, kF16, find_dtype("q8_0")})
      s.add({In{.shape = {6, 2, 3, 32}, .dtype = t}, In{.shape = {5, 3, 32}}, starts, table,
             lengths})
          .grad = t == DType{};
    s.add({In{.shape = {2, 4, 1, 3}}, In{.shape = {0, 1, 3}}, ints({3}, {0, 0, 0}),
           ints({2, 1}, {0, 1}), ints({2}, {0, 0})});
    s.expect("placed by hand; f16 of 2049 and 0.1 by NumPy 2.2.6",
             {In{.shape = {3, 2, 1, 2},
                 .dtype = kF16,
                 .values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
              In{.shape = {3, 1, 2}, .dtype = kF32, .values = {-1, 2049, 0.1, -3, -4, -5}},
              ints({3}, {0, 1, 3}), ints({2, 2}, {2, 7, 1, 0}), ints({2}, {2, 3})},
             NoAttrs{},
             {Expect{{3, 2, 1, 2}, {-4, -5, 2, 3, 4, 5, 0.0999755859375, -3, 8, 9, -1, 2048}}})
        .grad = false;
    s.expect("placed by hand",
             {In{.shape = {2, 2, 2, 2},
                 .dtype = kF32,
                 .values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
              In{.shape = {2, 2, 2}, .dtype = kF32, .values = {-1, -2, -3, -4, -5, -6, -7, -8}},
              ints({3}, {0, 1, 2}), ints({2, 1}, {1, 0}), ints({2}, {1, 2})},
             NoAttrs{},
             {Expect{{2, 2, 2, 2}, {0, 1, 2, 3, -5, -6, -7, -8, -1, -2, -3, -4, 12, 13, 14, 15}}})
        .grad = false;
    // golden:begin
    // clang-format off
    const std::string numpy = "NumPy 2.2.6, tools/golden/op_samples.py";
    s.expect(numpy, {In{.shape = {6, 2, 1, 2}, .dtype = kF16, .values = {-1.73339844, -0.784179688,
      0.175292969, 0.392089844, -0.376953125, 1.02929688, 0.210449219, -1.21386719, -0.930664062,
      0.805664062, 0.463867188, -1.89941406, 1.34765625, 0.598144531, 1.34375, -0.383789062,
      -0.295654297, -1.12597656, 2.53710938, -0.175415039, 1.58789062, -0.647460938, 0.163818359,
      -1.67089844}}, In{.shape = {4, 1, 2}, .dtype = kF32, .values = {-0.382867157, 0.983754933,
      -1.25174379, 1.0722276, 0.337237805, -1.04395092, -0.501597285, -0.459065676}}, In{.shape =
      {4}, .dtype = kI32, .values = {0, 1, 1, 4}}, In{.shape = {3, 3}, .dtype = kI32, .values = {4,
      0, 2, 1, 9, 9, 5, 3, -1}}, In{.shape = {3}, .dtype = kI32, .values = {5, 2, 3}}}, NoAttrs{},
      {Expect{{6, 2, 1, 2}, {-1.73339844, -0.784179688, 0.175292969, 0.392089844, -0.376953125,
      1.02929688, 0.210449219, -1.21386719, -0.3828125, 0.983886719, 0.463867188, -1.89941406,
      -0.501464844, -0.458984375, 1.34375, -0.383789062, -0.295654297, -1.12597656, 2.53710938,
      -0.175415039, -1.25195312, 1.07226562, 0.337158203, -1.04394531}}}).grad = false;
    // clang-format on
    // golden:end
    const In cache{.shape = {2, 2, 1, 3}}, one{.shape = {1, 1, 3}}, start = ints({2}, {0, 1});
    const NoAttrs none;
    s.bad({cache, one, start, ints({1, 1}, {2}), ints({1}, {1})}, none, "page_table[0, 0]");
    s.bad({cache, one, start, ints({1, 1}, {0}), ints({1}, {3})}, none, "longer than its pages");
    s.bad({cache, one, start, ints({1, 1}, {0}), ints({1}, {0})}, none, "less than its new tokens");
    s.bad({cache, one, ints({2}, {0, 2}), ints({1, 1}, {0}), ints({1}, {2})}, none, "q_start");
    s.bad({cache, In{.shape = {1, 2, 3}}, start, ints({1, 1}, {0}), ints({1}, {1})}, none,
          "kv heads");
    s.bad({cache, one, start, ints({2, 1}, {0, 0}), ints({1}, {1})}, none,
          "sequences of page_table");
  }

 private:
  // What the cache can hold of rows of d values.
  static std::vector<double> rounded(DType type, int64_t d, const std::vector<double>& values) {
    if (const quant::Format* format = type.info().format) return encode_decode(*format, d, values);
    std::vector<double> out;
    for (double v : values) out.push_back(round_float(type, v));
    return out;
  }
};
inline constexpr Call<KvAppend> kv_append;

}  // namespace lamella
