// The kernels that a GPU compiles, compiled for the CPU: each format's products and look-ups
// against the f64 meaning.
#include "lamella/backends/mlx/gpu_source.h"

#include <gtest/gtest.h>

#include <bit>

#include "tests/mlx/gpu_library.h"
#include "tests/mlx/product.h"

namespace lamella {
namespace {

using on_mlx::GpuConstant;
using on_mlx::GpuFormat;
using test::GpuOperand;
using test::Launch;
using test::Library;
using test::shim_function;

constexpr int kColumns = 9, kK = 512;
const GpuOperand kX{"float", "x"}, kW{"u8", "w0"}, kAt{"int", "at"}, kY{"float", "y0"};

// All formats' kernels in one library: rows of kK, matrices of kColumns.
std::string source() {
  std::string out = test::shim_prelude();
  for (const GpuFormat& f : on_mlx::gpu_formats()) {
    const std::string name(f.name);
    out += "#undef BLOCK\n#undef BYTES\n#undef IS_PLAIN\n#undef HAS_MINIMUM\n";
    out += "namespace format_" + name + " {\n" + gpu_decoder(f);
    const GpuConstant k{"K", kK}, n{"N0", kColumns};
    for (int rows : {1, 2, 8})
      out +=
          shim_function(str("gemv", rows, "_", name), on_mlx::kGemv,
                        {k, n, {"ROWS", rows}, {"UNROLL", rows == 8 ? 1 : 2}}, {kX, kW}, {kY}, 1);
    out += shim_function("parts_" + name, on_mlx::kGemv,
                         {k, {"N0", 5}, {"G0", 1}, {"N1", 3}, {"ROWS", 1}, {"UNROLL", 1}},
                         {kX, kW, {"u8", "w1"}}, {kY, {"float", "y1"}}, 2);
    out += shim_function("gated_" + name, on_mlx::kGated,
                         {k, n, {"ROWS", 2}, {"UNROLL", 2}, {"ACTIVATION", 4}},
                         {kX, kW, {"u8", "w1"}}, {kY});
    out += shim_function("gemm_" + name, on_mlx::kGemm, {k, n}, {kX, kW}, {kY});
    out += shim_function("look_up_" + name, on_mlx::kLookUp, {k}, {kW, kAt}, {kY});
    out += shim_function("unpack_" + name, on_mlx::kUnpack, {k, n}, {kW}, {{"shim_bf16", "y0"}});
    out +=
        shim_function("grouped_" + name, on_mlx::kGrouped, {k, n, {"PER", 1}}, {kX, kW, kAt}, {kY});
    out += "}\n";
  }
  return out;
}

// y of the product's own sizes, all in one launch.
std::vector<float> run(Launch launch, const test::Product& p, int groups_x, int groups_y,
                       const uint8_t* second = nullptr) {
  const int sizes[] = {static_cast<int>(p.x.shape()[0]), kK};
  std::vector<float> y(p.want.size(), -1.0f);
  std::vector<const void*> addresses{p.x.data(), sizes, p.w.data(), sizes};
  if (second) addresses.insert(addresses.end(), {second, sizes});
  addresses.push_back(y.data());
  launch(addresses.data(), groups_x, groups_y);
  return y;
}

int64_t n_bad(const test::Product& p, Launch launch, int groups_x, int groups_y) {
  const std::vector<float> y = run(launch, p, groups_x, groups_y);
  return p.n_bad({y.begin(), y.end()});
}

// Three slots over two tokens' rows, of the second, the first and the second half of the matrix.
void check_grouped(DType dtype, Launch launch) {
  const test::Product p = test::product(dtype, 3, 2 * kColumns, kK);
  const int at[] = {1, 0, 1}, sizes[] = {3, kK};
  std::vector<float> y(3 * kColumns, -1.0f);
  const void* addresses[] = {p.x.data(), sizes, p.w.data(), sizes, at, sizes, y.data()};
  launch(addresses, 2, 3);
  test::Product chosen{Graph(), p.x, p.w, {}, {}, kK};
  for (size_t slot = 0; slot < 3; ++slot)
    for (size_t c = 0; c < kColumns; ++c) {
      const size_t from = (slot * 2 + static_cast<size_t>(at[slot])) * kColumns + c;
      chosen.want.push_back(p.want[from]);
      chosen.scale.push_back(p.scale[from]);
    }
  EXPECT_EQ(chosen.n_bad({y.begin(), y.end()}), 0) << dtype.name();
}

// The first five columns and the last three of eight, as two matrices.
void check_parts(DType dtype, Launch launch) {
  const test::Product p = test::product(dtype, 1, 8, kK);
  const int sizes[] = {1, kK};
  const uint8_t* second = p.w.as<const uint8_t>() + p.w.bytes() / 8 * 5;
  std::vector<float> y(8, -1.0f);
  const void* addresses[] = {p.x.data(), sizes, p.w.data(), sizes,
                             second,     sizes, y.data(),   y.data() + 5};
  launch(addresses, 2, 1);
  EXPECT_EQ(p.n_bad({y.begin(), y.end()}), 0) << dtype.name();
}

// relu of a product, times itself.
void check_gated(DType dtype, Launch gated, Launch plain) {
  const test::Product p = test::product(dtype, 2, kColumns, kK);
  const std::vector<float> y = run(gated, p, 3, 1, p.w.as<const uint8_t>()),
                           once = run(plain, p, 2, 1);
  for (size_t i = 0; i < y.size(); ++i)
    EXPECT_FLOAT_EQ(y[i], once[i] > 0 ? once[i] * once[i] : 0.0f) << dtype.name();
}

// Rows as they are, and all of the matrix rounded.
void check_rows(DType dtype, Launch look_up, Launch unpack) {
  const test::Product p = test::product(dtype, 1, kColumns, kK);
  const int at[] = {3, 0, 6}, sizes[] = {kColumns, kK};
  std::vector<float> y(3 * kK, -1.0f);
  std::vector<uint16_t> all(kColumns * kK);
  const void* rows[] = {p.w.data(), sizes, at, sizes, y.data()};
  look_up(rows, 3, 1);
  const void* whole[] = {p.w.data(), sizes, all.data()};
  unpack(whole, 2, 2);
  const std::vector<double> want = RefTensor::from(p.w).f;
  for (size_t i = 0; i < 3; ++i)
    for (size_t c = 0; c < kK; ++c)
      ASSERT_EQ(static_cast<double>(y[i * kK + c]), want[static_cast<size_t>(at[i]) * kK + c])
          << dtype.name() << ", " << c;
  for (size_t i = 0; i < all.size(); ++i)
    ASSERT_EQ(std::bit_cast<float>(uint32_t{all[i]} << 16), round_float(kBF16, want[i]))
        << dtype.name() << ", " << i;
}

TEST(GpuSource, EveryFormatsKernelsMatchTheMeaning) {
  if (!test::finds_cxx()) GTEST_SKIP() << "no g++ here";
  const Library library(source());
  ASSERT_TRUE(library.is_loaded());
  for (const GpuFormat& f : on_mlx::gpu_formats()) {
    const DType dtype = find_dtype(f.name);
    ASSERT_FALSE(dtype.is_none()) << f.name;
    const std::string name(f.name);
    const auto launch = [&](const std::string& kernel) { return library.find(kernel + name); };
    // An odd number of columns, and rows that do not fill the last group.
    const auto bad = [&](int64_t m, const std::string& kernel, int groups_x, int groups_y) {
      return n_bad(test::product(dtype, m, kColumns, kK), launch(kernel), groups_x, groups_y);
    };
    EXPECT_EQ(bad(1, "gemv1_", 2, 1), 0) << name;
    EXPECT_EQ(bad(6, "gemv2_", 2, 3), 0) << name;
    EXPECT_EQ(bad(8, "gemv8_", 2, 1), 0) << name;
    EXPECT_EQ(bad(67, "gemm_", 1, 2), 0) << name;
    check_parts(dtype, launch("parts_"));
    check_gated(dtype, launch("gated_"), launch("gemv2_"));
    check_grouped(dtype, launch("grouped_"));
    check_rows(dtype, launch("look_up_"), launch("unpack_"));
  }
}

TEST(GpuSource, RopeTurnsPairs) {
  if (!test::finds_cxx()) GTEST_SKIP() << "no g++ here";
  std::string text = test::shim_prelude();
  for (int apart : {1, 2})
    text += shim_function(str("rope", apart), on_mlx::kRope,
                          {{"HEADS", 1}, {"DIM", 6}, {"TURNED", 4}, {"APART", apart}},
                          {kX, {"float", "turns"}, kAt}, {{"float", "y"}});
  const Library library(text);
  ASSERT_TRUE(library.is_loaded());
  // A token at the second position, one head of six elements, of which four turn: pairs by a
  // quarter and a half turn.
  const float x[] = {1, 2, 3, 4, 5, 6}, turns[] = {9, 9, 9, 9, 0, 1, -1, 0};
  const int at[] = {1}, sizes[] = {1, 1, 6};
  float y[6];
  const void* addresses[] = {x, sizes, turns, sizes, at, sizes, y};
  library.find("rope2")(addresses, 1, 1);  // (1, 3) and (2, 4)
  EXPECT_EQ(std::vector<float>(y, y + 6), (std::vector<float>{-3, -2, 1, -4, 5, 6}));
  library.find("rope1")(addresses, 1, 1);  // (1, 2) and (3, 4)
  EXPECT_EQ(std::vector<float>(y, y + 6), (std::vector<float>{-2, 1, -3, -4, 5, 6}));
}

// What a weight of a file may be, a GPU can read from its own bytes.
TEST(GpuSource, EveryFormatOfFilesHasARow) {
  for (const quant::Format& f : quant::formats())
    if (f.gguf_type != quant::Format::kNoGguf) {
      const GpuFormat* row = on_mlx::gpu_format(find_dtype(f.name));
      ASSERT_TRUE(row) << f.name;
      EXPECT_EQ(row->block, f.block);
      EXPECT_EQ(row->bytes, f.block_bytes());
    }
}

}  // namespace
}  // namespace lamella
