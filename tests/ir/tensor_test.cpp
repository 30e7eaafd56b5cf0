// Tensors: conversion, views, strides, identity, and what is refused.
#include "lamella/ir/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "lamella/base/error.h"

namespace lamella {
namespace {

using testing::ElementsAre;
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

Tensor counting(DType dtype, std::vector<int64_t> shape) {
  Tensor t(dtype, shape);
  std::vector<double> values(static_cast<size_t>(t.numel()));
  std::iota(values.begin(), values.end(), 0);
  return Tensor::from(dtype, std::move(shape), values);
}

TEST(Tensor, NewOnesAreZeroAlignedAndContiguous) {
  const Tensor t(kF32, {3, 5});
  EXPECT_EQ(t.bytes(), 60u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t.data()) % 64, 0u);
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_THAT(t.strides(), ElementsAre(5, 1));
  for (double v : t.to_doubles()) EXPECT_EQ(v, 0);
  EXPECT_EQ(Tensor(kF32, {3, 0}).numel(), 0);
  EXPECT_EQ(Tensor(kF32, {}).numel(), 1);
}

TEST(Tensor, ConvertsToEachTypeAndBack) {
  const double values[] = {0, 1, -2, 100};
  for (DType t : {kF16, kBF16, kF32, kF64, kI8, kI16, kI32, kI64, kF8E5M2})
    EXPECT_THAT(Tensor::from(t, {4}, values).to_doubles(),
                ElementsAre(0, 1, -2, t == kF8E5M2 ? 96 : 100))
        << t.name();
  // Nearest even: 0.1 lies between two values of f16.
  const double tenth[] = {0.1};
  EXPECT_EQ(Tensor::from(kF16, {1}, tenth).to_doubles()[0], 0.0999755859375);
  EXPECT_EQ(Tensor::from(kF32, {1}, tenth).to_doubles()[0], static_cast<double>(0.1f));
  const int64_t big[] = {-1, 256, std::numeric_limits<int64_t>::min()};
  EXPECT_THAT(Tensor::from(kU8, {3}, big).to_ints(), ElementsAre(255, 0, 0)) << "integers wrap";
  EXPECT_EQ(Tensor::from(kU64, {3}, big).to_doubles()[0], 18446744073709551615.0);
  EXPECT_THAT(Tensor::from(kBool, {3}, big).to_ints(), ElementsAre(1, 1, 1));
  EXPECT_TRUE(std::isnan(Tensor::scalar(kBF16, NAN).to_doubles()[0]));
}

TEST(Tensor, StridedViews) {
  const Tensor t = counting(kF32, {3, 4});
  const Tensor columns = t.strided({4, 3}, {1, 4}, 0);
  EXPECT_FALSE(columns.is_contiguous());
  EXPECT_THAT(columns.to_doubles(), ElementsAre(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11));
  const Tensor copy = columns.contiguous();
  EXPECT_TRUE(copy.is_contiguous());
  EXPECT_EQ(copy.to_doubles(), columns.to_doubles());
  EXPECT_NE(copy.storage(), t.storage());
  EXPECT_EQ(t.contiguous().storage(), t.storage());
  EXPECT_THAT(t.strided({4}, {-1}, 3 * 4).to_doubles(), ElementsAre(3, 2, 1, 0)) << "backwards";
  EXPECT_THAT(t.strided({2, 2}, {0, 1}, 4).to_doubles(), ElementsAre(1, 2, 1, 2)) << "repeated";
  EXPECT_TRUE(t.strided({1, 4}, {99, 1}, 0).is_contiguous())
      << "the stride of one element means nothing";
  EXPECT_THAT(t.strided({0}, {1}, 48).to_doubles(), ElementsAre());
}

TEST(Tensor, ViewsStayInTheirStorage) {
  const Tensor t = counting(kF32, {3, 4});
  for (auto f : std::initializer_list<Tensor (*)(const Tensor&)>{
           [](const Tensor& x) { return x.strided({13}, {1}, 0); },
           [](const Tensor& x) { return x.strided({2}, {-1}, 0); },
           [](const Tensor& x) { return x.strided({4}, {1}, 36); }})
    EXPECT_THAT(error_of([&] { f(t); }), HasSubstr("leaves its storage"));
  EXPECT_THAT(error_of([&] { t.strided({2}, {1, 1}, 0); }), HasSubstr("each axis needs one"));
  EXPECT_THAT(error_of([&] { Tensor(kF32, {4}, t.storage(), 36); }), HasSubstr("do not fit"));
  EXPECT_THAT(error_of([&] { Tensor(kF32, {1}, t.storage(), 100); }), HasSubstr("do not fit"));
  EXPECT_THAT(Tensor(kF32, {2}, t.storage(), 40).to_doubles(), ElementsAre(10, 11));
}

TEST(Tensor, BlocksDecode) {
  // q8_0: scale 0.5 as f16, then 32 codes.
  Tensor t(find_dtype("q8_0"), {1, 32});
  ASSERT_EQ(t.bytes(), 34u);
  t.as<uint8_t>()[1] = 0x38;
  for (int i = 0; i < 32; ++i) t.as<int8_t>()[2 + i] = static_cast<int8_t>(i - 16);
  const std::vector<double> values = t.to_doubles();
  for (int i = 0; i < 32; ++i) EXPECT_EQ(values[static_cast<size_t>(i)], (i - 16) * 0.5);
  EXPECT_TRUE(t.strides().empty());
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_THAT(error_of([&] { t.strided({1}, {1}, 0); }),
              HasSubstr("encoded tensors have no strides"));
  EXPECT_TRUE(t.clone().same_as(t));
}

TEST(Tensor, SizesThatCannotBe) {
  EXPECT_THAT(error_of([] { Tensor(kF32, {-1}); }), HasSubstr("negative size; got -1 at axis 0"));
  const int64_t huge = int64_t{1} << 62;
  EXPECT_THAT(error_of([&] { Tensor(kF32, {huge, 4}); }), HasSubstr("too many elements"));
  EXPECT_THAT(error_of([&] { Tensor(kF32, {huge}); }), HasSubstr("too many bytes"));
  EXPECT_THAT(error_of([&] { Tensor(kF32, {0, huge, huge}); }), HasSubstr("too many elements"));
  EXPECT_THAT(error_of([&] {
                Tensor(find_dtype("q4_0"), {std::numeric_limits<int64_t>::max(), 4});
              }),
              HasSubstr("too many bytes"));
  EXPECT_THAT(error_of([] { Tensor(kString, {2}); }), HasSubstr("strings have no fixed size"));
  EXPECT_THAT(error_of([] { Tensor(find_dtype("q4_0"), {}); }),
              HasSubstr("needs at least one axis"));
  const double one[] = {1};
  EXPECT_THAT(error_of([&] { Tensor::from(kF32, {2}, one); }),
              HasSubstr("1 values for 2 elements"));
}

TEST(Tensor, IdentityOfSmallOnesIsContent) {
  const Tensor a = counting(kF32, {8}), b = counting(kF32, {8});
  EXPECT_TRUE(a.same_as(b));
  EXPECT_EQ(a.identity(), b.identity());
  EXPECT_FALSE(a.same_as(counting(kF32, {2, 4})));
  EXPECT_FALSE(a.same_as(counting(kI32, {8})));
  const double zero[] = {0.0}, minus[] = {-0.0};
  EXPECT_FALSE(Tensor::from(kF32, {1}, zero).same_as(Tensor::from(kF32, {1}, minus)))
      << "bits, not values";
  EXPECT_TRUE(Tensor().same_as(Tensor()));
  EXPECT_FALSE(Tensor().same_as(a));
}

TEST(Tensor, IdentityOfLargeOnesIsTheirMemory) {
  const Tensor a = counting(kF32, {2000}), b = counting(kF32, {2000});
  EXPECT_FALSE(a.same_as(b));
  EXPECT_NE(a.identity(), b.identity());
  const Tensor again = a;
  EXPECT_TRUE(a.same_as(again));
  EXPECT_EQ(a.identity(), again.identity());
}

TEST(Tensor, IdentityOfMappedOnesIsFileAndOffset) {
  std::vector<float> bytes(8), elsewhere(8, 1);
  const auto mapped = [](std::vector<float>& data, std::string file) {
    auto s = std::make_shared<Storage>();
    s->data = reinterpret_cast<std::byte*>(data.data());
    s->bytes = data.size() * 4;
    s->file = std::move(file);
    s->offset = 128;
    return s;
  };
  const Tensor a(kF32, {4}, mapped(bytes, "f"), 0), b(kF32, {4}, mapped(elsewhere, "f"), 0);
  EXPECT_TRUE(a.same_as(b)) << "the same place of the same file";
  EXPECT_EQ(a.identity(), b.identity());
  EXPECT_FALSE(a.same_as(Tensor(kF32, {4}, mapped(elsewhere, "f"), 16)));
  EXPECT_FALSE(a.same_as(Tensor(kF32, {4}, mapped(elsewhere, "g"), 0)));
}

TEST(Tensor, StorageIsReleasedOnce) {
  int released = 0;
  float value = 3;
  {
    auto s = std::make_shared<Storage>();
    s->data = reinterpret_cast<std::byte*>(&value);
    s->bytes = 4;
    s->release = [&] { ++released; };
    const Tensor t(kF32, {1}, std::move(s));
    const Tensor view = t.strided({1}, {1}, 0);
    EXPECT_EQ(view.as<float>()[0], 3);
  }
  EXPECT_EQ(released, 1);
}

}  // namespace
}  // namespace lamella
