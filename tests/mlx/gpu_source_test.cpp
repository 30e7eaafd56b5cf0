// The kernels that a GPU compiles, compiled for the CPU: each format's products and look-ups
// against the f64 meaning.
#include "lamella/backends/mlx/gpu_source.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lamella/base/error.h"
#include "tests/mlx/gpu_shim.h"
#include "tests/mlx/product.h"

namespace lamella {
namespace {

using on_mlx::GpuFormat;
using on_mlx::GpuKernel;
using Launch = void (*)(const float* x, const uint8_t* w, const int* at, const int* sizes, float* y,
                        int groups_x, int groups_y);

// `first`: lines in front of the body.
std::string function(const GpuKernel& kernel, const std::string& name, const std::string& first) {
  return str("static void run_", name, "(const float* x, const u8* w, const int* at, ",
             "const int* sizes, float* y) {\n", test::kShimPlaces, "(void)x; (void)at;\n", first,
             kernel.body, "}\n", "extern \"C\" void ", name,
             "(const float* x, const u8* w, const int* at, const int* sizes, float* y, int gx, ",
             "int gy) {\n  shim_kernel = run_", name,
             "; shim_x = x; shim_w = w; shim_at = at; shim_sizes = sizes; shim_y = y;\n",
             "  for (int j = 0; j < gy; ++j)\n    for (int i = 0; i < gx; ++i) {\n",
             "      shim_group = {(unsigned)i, (unsigned)j, 0};\n      shim_run_group(",
             kernel.threads, ");\n    }\n}\n");
}

// All formats' kernels in one library. `sizes` are k, n, m (or how many slots a row of x serves).
std::string source() {
  constexpr const char* kSizes =
      "const int x_shape[] = {sizes[2], sizes[0]}, N = sizes[1], K = sizes[0], PER = sizes[2];\n"
      "(void)x_shape; (void)N; (void)K; (void)PER;\n";
  std::string out = test::kShimPrelude;
  for (const GpuFormat& f : on_mlx::gpu_formats()) {
    const std::string name(f.name);
    out += "#undef BLOCK\n#undef BYTES\nnamespace format_" + name + " {\n" + gpu_decoder(f);
    for (int rows : {1, 2, 8})
      out += function(on_mlx::kGemv, str("gemv", rows, "_", name),
                      str(kSizes, "constexpr int ROWS = ", rows, ";\n"));
    out += function(on_mlx::kGemm, "gemm_" + name, kSizes) +
           function(on_mlx::kLookUp, "look_up_" + name, kSizes) +
           function(on_mlx::kGrouped, "grouped_" + name, kSizes);
    out += "}\n";
  }
  return out;
}

class Library {
 public:
  explicit Library(const std::string& source) {
    std::string name = (std::filesystem::temp_directory_path() / "lamella_gpu_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    std::ofstream(folder_ / "kernels.cpp") << source;
    const std::string path = (folder_ / "kernels").string();
    const std::string command =
        "g++ -std=c++17 -O1 -ffp-contract=off -w -shared -fPIC " + path + ".cpp -o " + path + ".so";
    if (std::system(command.c_str()) == 0) handle_ = dlopen((path + ".so").c_str(), RTLD_NOW);
  }
  ~Library() {
    if (handle_) dlclose(handle_);
    std::filesystem::remove_all(folder_);
  }
  void* symbol(const std::string& name) const { return dlsym(handle_, name.c_str()); }
  Launch find(const std::string& name) const { return reinterpret_cast<Launch>(symbol(name)); }
  bool is_loaded() const { return handle_; }

 private:
  std::filesystem::path folder_;
  void* handle_ = nullptr;
};

int64_t n_bad(const test::Product& p, Launch launch, int groups_x, int groups_y) {
  const int sizes[] = {static_cast<int>(p.k), static_cast<int>(p.w.shape()[0]),
                       static_cast<int>(p.x.shape()[0])};
  std::vector<float> y(p.want.size(), -1.0f);
  launch(p.x.as<const float>(), p.w.as<const uint8_t>(), nullptr, sizes, y.data(), groups_x,
         groups_y);
  return p.n_bad({y.begin(), y.end()});
}

// Three slots over two tokens' rows, of the second, the first and the second half of the matrix.
void check_grouped(DType dtype, Launch launch) {
  const test::Product p = test::product(dtype, 3, 18, 512);
  const int at[] = {1, 0, 1}, sizes[] = {512, 9, 1};
  std::vector<float> y(27, -1.0f);
  launch(p.x.as<const float>(), p.w.as<const uint8_t>(), at, sizes, y.data(), 2, 3);
  test::Product chosen{Graph(), p.x, p.w, {}, {}, 512};
  for (size_t slot = 0; slot < 3; ++slot)
    for (size_t c = 0; c < 9; ++c) {
      const size_t from = slot * 18 + static_cast<size_t>(at[slot]) * 9 + c;
      chosen.want.push_back(p.want[from]);
      chosen.scale.push_back(p.scale[from]);
    }
  EXPECT_EQ(chosen.n_bad({y.begin(), y.end()}), 0) << dtype.name();
}

TEST(GpuSource, EveryFormatsKernelsMatchTheMeaning) {
  if (std::system("g++ --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no g++ here";
  const Library library(source());
  ASSERT_TRUE(library.is_loaded());
  for (const GpuFormat& f : on_mlx::gpu_formats()) {
    const DType dtype = find_dtype(f.name);
    ASSERT_FALSE(dtype.is_none()) << f.name;
    const std::string name(f.name);
    // An odd number of columns, and rows that do not fill the last group.
    EXPECT_EQ(n_bad(test::product(dtype, 1, 13, 512), library.find("gemv1_" + name), 2, 1), 0)
        << name;
    EXPECT_EQ(n_bad(test::product(dtype, 6, 9, 768), library.find("gemv2_" + name), 2, 3), 0)
        << name;
    EXPECT_EQ(n_bad(test::product(dtype, 8, 9, 256), library.find("gemv8_" + name), 2, 1), 0)
        << name;
    EXPECT_EQ(n_bad(test::product(dtype, 67, 70, 512), library.find("gemm_" + name), 2, 2), 0)
        << name;
    check_grouped(dtype, library.find("grouped_" + name));
    const test::Product p = test::product(dtype, 1, 7, 512);
    const int at[] = {3, 0, 6}, sizes[] = {512, 7, 1};
    std::vector<float> y(3 * 512, -1.0f);
    library.find("look_up_" + name)(nullptr, p.w.as<const uint8_t>(), at, sizes, y.data(), 3, 1);
    const std::vector<double> want = RefTensor::from(p.w).f;
    for (size_t i = 0; i < 3; ++i)
      for (size_t c = 0; c < 512; ++c)
        ASSERT_EQ(static_cast<double>(y[i * 512 + c]), want[static_cast<size_t>(at[i]) * 512 + c])
            << name << ", " << c;
  }
}

TEST(GpuSource, RopeTurnsPairs) {
  if (std::system("g++ --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no g++ here";
  std::string text = test::kShimPrelude;
  text += str("static void turn(const float* x, const float* c, const float* s, const int* sizes, ",
              "float* y) {\n", test::kShimPlaces,
              "const int x_shape[] = {1}, HEADS = 1, DIM = sizes[1], TURNED = sizes[2], APART = "
              "sizes[3];\n",
              on_mlx::kRope.body, "}\n",
              "static const float *cosines, *sines;\nstatic void run(const float* x, const u8*, ",
              "const int*, const int* sizes, float* y) { turn(x, cosines, sines, sizes, y); }\n",
              "extern \"C\" void rope(const float* x, const float* c, const float* s, const int* ",
              "sizes, float* y) { shim_kernel = run; shim_x = x; cosines = c; sines = s; ",
              "shim_sizes = sizes; shim_y = y; shim_group = {0, 0, 0}; shim_run_group(",
              on_mlx::kRope.threads, "); }\n");
  const Library library(text);
  ASSERT_TRUE(library.is_loaded());
  const auto rope =
      reinterpret_cast<void (*)(const float*, const float*, const float*, const int*, float*)>(
          library.symbol("rope"));
  // One token, one head of six elements, of which four turn: pairs by a quarter and a half turn.
  const float x[] = {1, 2, 3, 4, 5, 6}, c[] = {0, -1}, s[] = {1, 0};
  float y[6];
  const int halves[] = {1, 6, 4, 2, 6}, neighbours[] = {1, 6, 4, 1, 6};
  rope(x, c, s, halves, y);  // (1, 3) and (2, 4)
  EXPECT_EQ(std::vector<float>(y, y + 6), (std::vector<float>{-3, -2, 1, -4, 5, 6}));
  rope(x, c, s, neighbours, y);  // (1, 2) and (3, 4)
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
