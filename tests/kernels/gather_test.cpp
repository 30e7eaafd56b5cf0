#include "lamella/kernels/cpu/gather.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "lamella/base/numeric.h"

namespace lamella::cpu {
namespace {

TEST(Gather, DecodesTheRowsOfEveryFormat) {
  ThreadPool pool(2);
  const int64_t n = 37, k = 300;
  std::mt19937 rng(3);
  const std::vector<int32_t> ids{0, 36, 5, 5, 17, 1, 0, 2};
  const std::vector<int64_t> wide_ids(ids.begin(), ids.end());
  for (const quant::Format& format : quant::formats()) {
    std::vector<uint8_t> bytes(quant::plane_offset(format, format.n_planes, n, k) + 1);
    for (uint8_t& b : bytes)
      b = static_cast<uint8_t>(rng() & 0x3b);  // no NaN: they compare unequal
    GatherCall call{.table = {.format = &format}, .n = n, .k = k};
    for (int p = 0; p < format.n_planes; ++p) {
      call.table.planes[p] = bytes.data() + 1 + quant::plane_offset(format, p, n, k);
    }
    for (bool wide : {false, true}) {
      std::vector<float> y(ids.size() * (k + 2), -7), want = y;
      call.ids = wide ? static_cast<const void*>(wide_ids.data()) : ids.data();
      call.id_elem = wide ? Elem::i64 : Elem::i32;
      call.n_ids = static_cast<int64_t>(ids.size());
      call.y = y.data();
      call.y_stride = k + 2;
      ASSERT_TRUE(gather_rows(call, pool).ok());
      for (size_t i = 0; i < ids.size(); ++i) {
        quant::BlockPtr at{};
        for (int p = 0; p < format.n_planes; ++p) {
          at[p] = call.table.planes[p] + ids[i] * format.blocks(k) * format.planes[p].block_bytes;
        }
        quant::decode_row(format, at, k, want.data() + i * (k + 2));
      }
      EXPECT_EQ(y, want) << format.name;
    }
  }
}

TEST(Gather, WidensNarrowRows) {
  ThreadPool pool(1);
  const std::vector<bf16> table{bf16::from(1.5), bf16::from(-2), bf16::from(3), bf16::from(4)};
  const std::vector<int64_t> ids{1, 0};
  std::vector<float> y(4);
  GatherCall call{.table = {.element = Elem::bf16},
                  .n = 2,
                  .k = 2,
                  .ids = ids.data(),
                  .id_elem = Elem::i64,
                  .n_ids = 2,
                  .y = y.data(),
                  .y_stride = 2};
  call.table.planes[0] = reinterpret_cast<const uint8_t*>(table.data());
  ASSERT_TRUE(gather_rows(call, pool).ok());
  EXPECT_EQ(y, (std::vector<float>{3, 4, 1.5, -2}));
}

TEST(Gather, NamesTheFirstIdOutOfRange) {
  ThreadPool pool(2);
  const std::vector<float> table(8, 1);
  for (const auto& ids : {std::vector<int64_t>{0, 3, 4, -1}, std::vector<int64_t>{1, -4, -5, 9}}) {
    std::vector<float> y(8, 5);
    GatherCall call{.table = {},
                    .n = 4,
                    .k = 2,
                    .ids = ids.data(),
                    .id_elem = Elem::i64,
                    .n_ids = 4,
                    .y = y.data(),
                    .y_stride = 2};
    call.table.element = Elem::f32;
    call.table.planes[0] = reinterpret_cast<const uint8_t*>(table.data());
    const Status status = gather_rows(call, pool);
    EXPECT_EQ(status.code, Status::Code::index_out_of_range);
    EXPECT_EQ(status.index, 2);
    EXPECT_EQ(y, std::vector<float>(8, 5));
  }
}

}  // namespace
}  // namespace lamella::cpu
