// Element types, types, their text and their bytes.
#include "lamella/ir/type.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "lamella/base/error.h"
#include "lamella/ir/tensor.h"

namespace lamella {
namespace {

using testing::HasSubstr;

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

Layout permuted(std::vector<int64_t> order) {
  Layout l;
  l.kind = Layout::Kind::permuted;
  l.order = std::move(order);
  return l;
}
Layout blocked(int64_t axis, int64_t block) {
  Layout l;
  l.kind = Layout::Kind::blocked;
  l.axis = axis;
  l.block = block;
  return l;
}

TEST(DType, TableIsFoundByName) {
  for (const DTypeInfo& row : kPlainTypes) EXPECT_EQ(find_dtype(row.name), DType(row));
  for (const DTypeInfo& row : block_dtypes()) {
    EXPECT_EQ(find_dtype(row.name), DType(row));
    EXPECT_EQ(dtype_of(*row.format), DType(row));
    EXPECT_TRUE(DType(row).is_block());
  }
  EXPECT_TRUE(find_dtype("f33").is_none());
  EXPECT_EQ(DType().name(), "none");
}

TEST(DType, Kinds) {
  EXPECT_TRUE(kBF16.is_float());
  EXPECT_TRUE(kU4.is_int());
  EXPECT_FALSE(kBool.is_int());
  EXPECT_FALSE(kComplex64.is_float());
  EXPECT_EQ(kI4.bytes(), 0);
  EXPECT_EQ(kComplex128.bytes(), 16);
}

TEST(Type, Text) {
  DimTable table;
  const Dim n = table.symbol("n");
  EXPECT_EQ(Type(kF32, {n, 64}).text(), "f32[n, 64]");
  EXPECT_EQ(Type(kI64, {}).text(), "i64[]");
  EXPECT_EQ(Type(kF16, {n, 2 * n + 1}, permuted({1, 0})).text(), "f16[n, 2*n+1]@perm(1, 0)");
  EXPECT_EQ(Type(kF16, {n, 64}, blocked(1, 16)).text(), "f16[n, 64]@block(1, 16)");
  EXPECT_EQ(Type::sequence(Type::optional(Type(kF32, {n}))).text(), "seq(optional(f32[n]))");
}

TEST(Type, Equality) {
  EXPECT_EQ(Type(kF32, {2}), Type(kF32, {2}));
  EXPECT_FALSE(Type(kF32, {2}) == Type(kF16, {2}));
  EXPECT_FALSE(Type(kF32, {2}) == Type(kF32, {2}, permuted({0})));
  EXPECT_EQ(Type::sequence(Type(kF32, {2})), Type::sequence(Type(kF32, {2})));
  EXPECT_FALSE(Type::sequence(Type(kF32, {2})) == Type::sequence(Type(kF32, {3})));
  EXPECT_FALSE(Type::sequence(Type(kF32, {2})) == Type::optional(Type(kF32, {2})));
}

TEST(Type, Bytes) {
  DimTable table;
  const Dim n = table.symbol("n");
  EXPECT_EQ(Type(kF32, {2, 3}).bytes(), Dim(24));
  EXPECT_EQ(Type(kF16, {n, 64}).bytes(), 128 * n);
  EXPECT_EQ(Type(kI4, {3}).bytes(), Dim(2)) << "12 bits";
  EXPECT_EQ(Type(kBool, {}).bytes(), Dim(1));
  // q4_0: 18 bytes for 32 elements; a partial last block counts whole.
  EXPECT_EQ(Type(find_dtype("q4_0"), {n, 64}).bytes(), 36 * n);
  EXPECT_EQ(Type(find_dtype("q4_0"), {3, 33}).bytes(), Dim(3 * 36));
  // q6_k: 210 bytes for 256 elements.
  EXPECT_EQ(Type(find_dtype("q6_k"), {n, 512}).bytes(), 420 * n);
  EXPECT_THAT(error_of([] { Type(kString, {2}).bytes(); }), HasSubstr("no fixed size"));
  EXPECT_THAT(error_of([] { Type::sequence(Type(kF32, {2})).bytes(); }),
              HasSubstr("no fixed size"));
  EXPECT_THAT(error_of([] {
                Type(kF32, {int64_t{1} << 40, int64_t{1} << 40}).bytes();
              }),
              HasSubstr("overflows"));
}

TEST(Type, BytesAgreeWithTensors) {
  std::vector<DType> types;
  for (const DTypeInfo& row : kPlainTypes)
    if (row.kind != DTypeKind::string) types.push_back(DType(row));
  for (const DTypeInfo& row : block_dtypes()) types.push_back(DType(row));
  for (DType t : types)
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{3, 300}, {1, 1}, {5, 0}, {2, 3, 256}}) {
      Shape dims;
      for (int64_t d : shape) dims.dims.push_back(d);
      EXPECT_EQ(Type(t, dims).bytes(), Dim(static_cast<int64_t>(tensor_bytes(t, shape))))
          << Type(t, dims);
    }
}

TEST(Type, CheckRefusesWhatNoValueCanHave) {
  EXPECT_THAT(error_of([] { Type().check(); }), HasSubstr("no element type"));
  EXPECT_THAT(error_of([] { Type(kF32, {-1}).check(); }), HasSubstr("a size below 0; got f32[-1]"));
  EXPECT_THAT(error_of([] { Type(find_dtype("q4_0"), {}).check(); }), HasSubstr("needs an axis"));
  for (const auto& order : {std::vector<int64_t>{0}, {0, 0}, {1, 2}, {-1, 0}})
    EXPECT_THAT(error_of([&] {
                  Type(kF32, {2, 3}, permuted(order)).check();
                }),
                HasSubstr("each axis once"));
  EXPECT_THAT(error_of([] { Type(kF32, {2}, blocked(1, 4)).check(); }), HasSubstr("no axis"));
  EXPECT_THAT(error_of([] { Type(kF32, {2}, blocked(0, 0)).check(); }), HasSubstr("no size"));
  EXPECT_THAT(error_of([] { Type::sequence(Type(kF32, {-2})).check(); }), HasSubstr("below 0"));
  Type(kF32, {2, 3}, permuted({1, 0})).check();
  Type(kString, {}).check();
}

TEST(Shape, AxesCountFromTheEndToo) {
  const Shape s{2, 3, 5};
  EXPECT_EQ(s[-1], Dim(5));
  EXPECT_EQ(s[0], Dim(2));
  EXPECT_EQ(s.numel(), Dim(30));
  EXPECT_EQ(Shape{}.numel(), Dim(1));
  EXPECT_TRUE(s.is_static());
  EXPECT_EQ(s.text(), "[2, 3, 5]");
}

}  // namespace
}  // namespace lamella
