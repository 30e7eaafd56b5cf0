// Sizes: canonical forms, three-valued comparison, bounds, text, and what is refused.
#include "lamella/ir/dim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "lamella/base/error.h"
#include "lamella/ir/type.h"

namespace lamella {
namespace {

using testing::HasSubstr;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

class DimTest : public testing::Test {
 protected:
  DimTable table;
  Dim n = table.symbol("n"), m = table.symbol("m");  // 0 and more
  Dim t = table.symbol("t", {1, 4096}, 64);          // a multiple of 64
  Dim b = table.symbol("b", {2, 8});                 // never 1
  Dim any = table.symbol("any", {kMin, kMax});
};

TEST_F(DimTest, WhatSimplifiesAlikeIsOneExpression) {
  EXPECT_EQ(n + m, m + n);
  EXPECT_EQ((n + m) + 1, n + (1 + m));
  EXPECT_EQ((n + 1) * (n - 1), n * n - 1);
  EXPECT_EQ(n * m * 2 - m * n, n * m);
  EXPECT_EQ(n - n, Dim(0));
  EXPECT_EQ(0 * n, Dim(0));
  EXPECT_EQ((n + m) * (n + m), n * n + 2 * n * m + m * m);
  EXPECT_EQ(dim_min(n, m), dim_min(m, n));
  EXPECT_EQ(dim_equal(n, 3), dim_equal(3, n));
  EXPECT_NE(n + 1, n);
  EXPECT_NE(floordiv(n, 2), ceildiv(n, 2));
}

TEST_F(DimTest, FormDoesNotDependOnTheOrderOfMaking) {
  DimTable other;
  // The same sizes made the other way round, from symbols declared in another order.
  const Dim m2 = other.symbol("m"), n2 = other.symbol("n");
  const Dim big2 = m2 * floordiv(n2, 3) + dim_max(m2, n2) * 2 + n2;
  const Dim big = n + 2 * dim_max(n, m) + floordiv(n, 3) * m;
  EXPECT_EQ(big.text(), big2.text());
}

TEST_F(DimTest, Division) {
  EXPECT_EQ(floordiv(6 * n + 4, 2), 3 * n + 2);
  EXPECT_EQ(floordiv(6 * n + 7, 6), n + 1);
  EXPECT_EQ(floordiv(n * 4 + m, 4), n + floordiv(m, 4));
  EXPECT_EQ(floordiv(n * b, b), n);
  EXPECT_EQ(floordiv(2 * n * b, 2 * b), n);
  EXPECT_EQ(floordiv(floordiv(n, 3), 5), floordiv(n, 15));
  EXPECT_EQ(floordiv(b, 9), Dim(0));
  EXPECT_EQ(ceildiv(b, 8), Dim(1));
  EXPECT_EQ(ceildiv(6 * n, 3), 2 * n);
  EXPECT_EQ(ceildiv(t, 64), floordiv(t, 64));
  EXPECT_EQ(floordiv(t, 64) * 64 - t, floordiv(t, 64) * 64 - t);
  EXPECT_EQ(floordiv(n + 63, 64), ceildiv(n, 64)) << "one way to write a round-up";
  EXPECT_EQ(ceildiv(n + 3, 4), floordiv(n + 2, 4) + 1);
  EXPECT_EQ(floordiv(n - 1, 2) + 1, floordiv(n + 1, 2));
  EXPECT_EQ(floordiv(Dim(-7), 2), Dim(-4));
  EXPECT_EQ(ceildiv(Dim(-7), 2), Dim(-3));
  EXPECT_EQ(floordiv(n, m).expr()->kind, DimKind::floordiv) << "m may be 0";
}

TEST_F(DimTest, Remainder) {
  EXPECT_EQ(dim_mod(t, 64), Dim(0));
  EXPECT_EQ(dim_mod(t, 32), Dim(0));
  EXPECT_EQ(dim_mod(8 * n + 3, 4), Dim(3));
  EXPECT_EQ(dim_mod(b, 9), b);
  EXPECT_EQ(dim_mod(n * b, b), Dim(0));
  EXPECT_EQ(dim_mod(Dim(-7), 4), Dim(1));
  EXPECT_EQ(dim_mod(n, 1), Dim(0));
  EXPECT_EQ(dim_mod(n, 6).range(), (DimRange{0, 5}));
}

TEST_F(DimTest, MinMaxAndComparisons) {
  EXPECT_EQ(dim_min(n, n + 1), n);
  EXPECT_EQ(dim_max(n + 1, n), n + 1);
  EXPECT_EQ(dim_min(b, 8), b);
  EXPECT_EQ(dim_max(b, 1), b);
  EXPECT_EQ(dim_min(n, kMax), n) << "how slices say 'to the end'";
  EXPECT_EQ(dim_max(any, kMin), any);
  EXPECT_EQ(dim_max(n, kMin), n);
  EXPECT_EQ(dim_less(n, n + 1), Dim(1));
  EXPECT_EQ(dim_less(n, 0), Dim(0));
  EXPECT_EQ(dim_less(b, 9), Dim(1));
  EXPECT_EQ(dim_less(n, m).range(), (DimRange{0, 1}));
  EXPECT_EQ(dim_equal(n, n), Dim(1));
  EXPECT_EQ(dim_equal(b, 9), Dim(0));
  EXPECT_EQ(dim_select(dim_less(n, m), m, m), m);
  EXPECT_EQ(dim_select(Dim(1), n, m), n);
  EXPECT_EQ(dim_select(Dim(0), n, m), m);
  EXPECT_EQ(dim_select(b, n, m), n) << "never 0";
}

TEST_F(DimTest, ThreeAnswersToEqual) {
  EXPECT_EQ(compare(n, n), Equal::yes);
  EXPECT_EQ(compare(4, 4), Equal::yes);
  EXPECT_EQ(compare(4, 5), Equal::no);
  EXPECT_EQ(compare(n, n + 1), Equal::no);
  EXPECT_EQ(compare(b, 9), Equal::no) << "by range";
  EXPECT_EQ(compare(t, 65), Equal::no) << "by divisor";
  EXPECT_EQ(compare(2 * n, 2 * m + 1), Equal::no) << "even and odd";
  EXPECT_EQ(compare(n, m), Equal::unknown);
  EXPECT_EQ(compare(t, 128), Equal::unknown);
  EXPECT_EQ(compare(kMin * n, kMax * m + kMin), Equal::unknown) << "coefficients that overflow";
}

TEST_F(DimTest, Broadcast) {
  EXPECT_EQ(dim_broadcast(n, 1), n);
  EXPECT_EQ(dim_broadcast(1, n), n);
  EXPECT_EQ(dim_broadcast(n, n), n);
  EXPECT_EQ(dim_broadcast(b, n), b) << "b is never 1, so n is b or 1";
  EXPECT_EQ(dim_broadcast(n, 4), Dim(4));
  EXPECT_EQ(dim_broadcast(n, 0), Dim(0));
  EXPECT_EQ(dim_broadcast(n, m), dim_broadcast(m, n));
  EXPECT_EQ(dim_broadcast(dim_broadcast(n, m), n), dim_broadcast(n, m));
  EXPECT_EQ(broadcastable(3, 4), Equal::no);
  EXPECT_EQ(broadcastable(b, 9), Equal::no);
  EXPECT_EQ(broadcastable(n, 4), Equal::unknown);
  EXPECT_EQ(broadcastable(n, n + 1), Equal::unknown) << "n may be 0 or 1";
  EXPECT_EQ(broadcastable(b, 1), Equal::yes);
  EXPECT_THAT(error_of([] { dim_broadcast(3, 4); }), HasSubstr("3 and 4 do not broadcast"));
}

TEST_F(DimTest, RangesAndDivisors) {
  EXPECT_EQ((2 * b + 1).range(), (DimRange{5, 17}));
  EXPECT_EQ((b - 3).range(), (DimRange{-1, 5}));
  EXPECT_EQ((0 - b).range(), (DimRange{-8, -2}));
  EXPECT_EQ((b * b).range(), (DimRange{4, 64}));
  EXPECT_EQ(floordiv(b - 3, 2).range(), (DimRange{-1, 2}));
  EXPECT_EQ(ceildiv(b - 5, 2).range(), (DimRange{-1, 2}));
  EXPECT_EQ(n.range().high, kMax);
  EXPECT_EQ((n + 5).range(), (DimRange{5, kMax}));
  EXPECT_EQ(dim_max(b, n).range().low, 2);
  EXPECT_EQ(floordiv(kMax, b).range(), (DimRange{kMax / 8, kMax})) << "no tighter above";
  EXPECT_EQ(t.divisor(), 64);
  EXPECT_EQ((3 * t).divisor(), 192);
  EXPECT_EQ((t * n).divisor(), 64);
  EXPECT_EQ((t + 32).divisor(), 32);
  EXPECT_EQ(floordiv(t, 16).divisor(), 4);
  EXPECT_EQ(dim_mod(t, 96).divisor(), 32);
  EXPECT_EQ(Dim(-12).divisor(), 12);
  EXPECT_EQ(Dim(kMin).divisor(), int64_t{1} << 62);
  // 2^62 * 64 overflows: what divides it for certain is less, and never a saturated bound.
  EXPECT_EQ(((int64_t{1} << 62) * t).divisor() & (((int64_t{1} << 62) * t).divisor() - 1), 0);
}

TEST_F(DimTest, OverflowIsAUserError) {
  EXPECT_THAT(error_of([] { Dim(kMax) + 1; }), HasSubstr("overflows 64 bits"));
  EXPECT_THAT(error_of([] { Dim(kMin) - 1; }), HasSubstr("overflows 64 bits"));
  EXPECT_THAT(error_of([] { Dim(kMax) * 2; }), HasSubstr("overflows 64 bits"));
  EXPECT_THAT(error_of([&] { n* kMax + n; }), HasSubstr("overflows 64 bits"));
  EXPECT_THAT(error_of([] { floordiv(Dim(kMin), -1); }), HasSubstr("overflows 64 bits"));
  EXPECT_THAT(error_of([] { floordiv(Dim(1), 0); }), HasSubstr("division by zero; got 1 over 0"));
  EXPECT_THAT(error_of([] { floor_mul(Dim(kMax), 4); }), HasSubstr("overflows 64 bits"));
  EXPECT_THAT(error_of([] { floor_mul(Dim(1), NAN); }), HasSubstr("overflows 64 bits"));
  EXPECT_EQ(floordiv(floordiv(n, int64_t{1} << 40), int64_t{1} << 40).expr()->kind,
            DimKind::floordiv)
      << "no error where only the simpler form would overflow";
  EXPECT_EQ(dim_min(n, kMin), Dim(kMin));
}

TEST_F(DimTest, GrowthIsBounded) {
  EXPECT_THAT(error_of([&] {
                Dim d = n + m + 1;
                for (int i = 0; i < 40; ++i) d = d * d;
              }),
              HasSubstr("want at most"));
  EXPECT_THAT(error_of([&] {
                Dim d = n;
                for (int i = 0; i < 100; ++i) d = floordiv(d + 1, 2 + d);
              }),
              HasSubstr("want at most"));
}

TEST_F(DimTest, Evaluate) {
  const DimBinding binding{7, 5, 128, 3, -9};
  EXPECT_EQ(evaluate(n * m - 2 * n + 1, binding), 22);
  EXPECT_EQ(evaluate(ceildiv(n, 2), binding), 4);
  EXPECT_EQ(evaluate(dim_mod(any, 4), binding), 3);
  EXPECT_EQ(evaluate(floordiv(any, 2), binding), -5);
  EXPECT_EQ(evaluate(floor_mul(n, 2.5), binding), 17);
  EXPECT_EQ(evaluate(ceil_mul(n, 2.5), binding), 18);
  EXPECT_EQ(evaluate(dim_select(dim_less(n, m), n, m), binding), 5);
  EXPECT_THAT(error_of([&] { evaluate(n + m, {7}); }), HasSubstr("symbol 'm' is not bound"));
  EXPECT_THAT(error_of([&] { evaluate(floordiv(n, m), {7, 0}); }), HasSubstr("division by zero"));
  EXPECT_THAT(error_of([&] { evaluate(n * m, {kMax, 2}); }), HasSubstr("overflows 64 bits"));
  EXPECT_THAT(error_of([&] {
                evaluate(dim_broadcast(n, m), {3, 4});
              }),
              HasSubstr("do not broadcast"));
  EXPECT_EQ(evaluate(dim_broadcast(n, m), {1, 4}), 4);
  EXPECT_EQ(evaluate(dim_broadcast(n, m), {0, 1}), 0);
}

TEST_F(DimTest, TextReadsBack) {
  const Dim odd = table.symbol("batch size-1 \"x\"\n\xff"), digit = table.symbol("2x");
  for (const Dim d :
       {Dim(0), Dim(kMin), n, 0 - n, n - m, 2 * n * m - 3, kMin * n, floordiv(n + 5, 7),
        ceildiv(n, m), dim_mod(any, 5), dim_min(n, m) * 2 + 1, dim_max(3, n), dim_broadcast(n, m),
        dim_less(n, m), dim_equal(n, 4), dim_select(dim_less(n, m), n, m * m), floor_mul(n, 0.1),
        ceil_mul(n, 1e-300), odd * digit + odd}) {
    EXPECT_EQ(table.parse(d.text()), d) << d.text();
  }
  EXPECT_EQ((2 * n + 1).text(), "2*n+1");
  EXPECT_EQ((1 - n).text(), "-n+1");
  EXPECT_EQ(odd.text(), R"("batch size-1 \"x\"\n\xff")");
  EXPECT_EQ(table.parse(" ( n + 1 ) * ( m - 2 ) - 3 "), (n + 1) * (m - 2) - 3);
  EXPECT_EQ(table.parse("fresh_one").text(), "fresh_one");
}

TEST_F(DimTest, BadText) {
  for (const char* text :
       {"", "n+", "n n", "(n", "n)", "min(n)", "min(n, m", "floor_mul(n)", "9223372036854775808",
        "n*", "--n", "\"x", "\"\\q\"", "1x", "$", "floor_mul(n, x)"})
    EXPECT_THAT(error_of([&] { table.parse(text); }), HasSubstr("size: cannot read")) << text;
  EXPECT_THAT(error_of([&] { table.parse("cieldiv(n, 2)"); }),
              HasSubstr("unknown function 'cieldiv'; did you mean 'ceildiv'?"));
  EXPECT_THAT(error_of([&] { table.parse(std::string(100000, '(')); }), HasSubstr("nested deeper"));
  EXPECT_THAT(error_of([&] { table.parse("n - 9223372036854775808"); }), HasSubstr("n"));
}

TEST_F(DimTest, Symbols) {
  EXPECT_EQ(table.symbol("n"), n);
  EXPECT_EQ(table.symbol("t"), t) << "asked for without bounds";
  EXPECT_THAT(error_of([&] {
                table.symbol("t", {1, 7});
              }),
              HasSubstr("declared twice with other bounds"));
  EXPECT_THAT(error_of([&] { table.symbol(""); }), HasSubstr("needs a name"));
  EXPECT_THAT(error_of([&] { table.symbol("x", {2, 1}); }), HasSubstr("empty range"));
  EXPECT_THAT(error_of([&] { table.symbol("x", {}, 0); }), HasSubstr("bad divisor"));
  const Dim first = table.fresh("found"), second = table.fresh("found");
  EXPECT_NE(first, second);
  EXPECT_EQ(first.text(), "found");
  EXPECT_FALSE(table.find_symbol("no such").has_value());
  EXPECT_EQ(table.find_symbol("found"), first);
  SymbolsUsed used;
  used.add(floordiv(m * n + 1, 3));
  used.add(n);
  used.add(7);
  EXPECT_EQ(used.symbols().size(), 2u);
}

}  // namespace
}  // namespace lamella
