// NumPy's files: those of NumPy 2.2.6 in the fuzz corpus, and wrong ones.
#include "lamella/frontends/numpy/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <numeric>

#include "lamella/base/error.h"
#include "tests/support/golden.h"

namespace lamella {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Bytes = std::vector<uint8_t>;

std::filesystem::path corpus() { return test::golden_dir().parent_path() / "fuzz/corpus/npz"; }

void expect_shared_arrays(const std::map<std::string, Tensor>& arrays) {
  EXPECT_EQ(arrays.at("x").dtype(), kF32);
  EXPECT_THAT(arrays.at("x").shape(), ElementsAre(2, 3));
  EXPECT_THAT(arrays.at("x").to_doubles(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_TRUE(arrays.at("f").is_contiguous());
  EXPECT_THAT(arrays.at("f").shape(), ElementsAre(2, 3));
  EXPECT_THAT(arrays.at("f").to_ints(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(arrays.at("s").rank(), 0u);
  EXPECT_THAT(arrays.at("s").to_doubles(), ElementsAre(2.5));
  EXPECT_THAT(arrays.at("b").to_ints(), ElementsAre(1, 0, 1));
  EXPECT_THAT(arrays.at("e").shape(), ElementsAre(0, 4));
}

TEST(Npz, StoredAndDeflated) {
  expect_shared_arrays(read_npz(corpus() / "stored.npz"));
  const auto arrays = read_npz(corpus() / "deflated.npz");
  expect_shared_arrays(arrays);
  const std::vector<int64_t> r = arrays.at("r").to_ints();
  EXPECT_EQ(r.size(), 900u);
  EXPECT_EQ(std::accumulate(r.begin(), r.end(), int64_t{0}), 1323);
  const std::vector<double> long_one = arrays.at("long").to_doubles();
  ASSERT_EQ(long_one.size(), 2000u);
  for (size_t i = 0; i < long_one.size(); ++i) ASSERT_EQ(long_one[i], i % 7);
}

TEST(Npz, ReadsTheReferenceData) {
  const auto full = test::full_golden_dir();
  if (!full) GTEST_SKIP() << "no reference data here";
  int n = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*full / "models"))
    if (entry.path().extension() == ".npz") n += !read_npz(entry.path()).empty();
  EXPECT_GT(n, 5);
}

std::string error_of(const Bytes& bytes) {
  try {
    parse_npz(bytes, "f");
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

Bytes file(const char* name) {
  std::ifstream in(corpus() / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(NpzBadInput, CutOrFlippedAnywhere) {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const Bytes whole = file(name);
    ASSERT_EQ(error_of(whole), "no error");
    for (size_t size = 0; size < whole.size(); ++size)
      ASSERT_EQ(error_of(Bytes(whole.begin(), whole.begin() + long(size))).substr(0, 3), "f: ")
          << size;
    for (size_t at = 0; at < whole.size(); ++at) {
      Bytes flipped = whole;
      flipped[at] ^= uint8_t(1 << at % 8);
      error_of(flipped);
    }
  }
  EXPECT_EQ(error_of({}), "f: not a ZIP archive; got 0 bytes");
  EXPECT_EQ(error_of(Bytes(100)), "f: not a ZIP archive");
}

TEST(NpzBadInput, DamageIsNamed) {
  Bytes bytes = file("stored.npz");
  // The last byte of an array's data lies before the next member's header.
  const std::string text(bytes.begin(), bytes.end());
  bytes[text.find("PK\x03\x04", 4) - 1] ^= 1;
  EXPECT_THAT(error_of(bytes), HasSubstr("is damaged: its checksum differs"));
}

std::string npy_error(const std::string& header, size_t data) {
  std::string bytes = std::string("\x93NUMPY\x01\x00", 8) + char(header.size()) + '\0' + header;
  bytes += std::string(data, '\0');
  try {
    parse_npy({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "f");
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

TEST(NpyBadInput, IsNamed) {
  const auto header = [](const std::string& descr, const std::string& shape,
                         const std::string& order = "False") {
    return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  };
  EXPECT_EQ(npy_error(header("<f4", "(2,)"), 8), "no error");
  EXPECT_EQ(npy_error(header("<f4", "(2,)"), 7), "f: shape and size disagree; got 7 bytes; want 8");
  EXPECT_THAT(npy_error(header(">f4", "(2,)"), 8),
              HasSubstr("no elements of this kind; got '>f4'"));
  EXPECT_THAT(npy_error(header("|O", "(2,)"), 8), HasSubstr("got '|O'"));
  EXPECT_THAT(npy_error(header("<f4", "(-2,)"), 8), HasSubstr("bad size in the header; got '-2'"));
  EXPECT_THAT(npy_error(header("<f4", "2"), 8), HasSubstr("bad shape"));
  EXPECT_THAT(npy_error(header("<f4", "(1099511627776, 2)"), 8), HasSubstr("too large"));
  EXPECT_THAT(npy_error(header("<f4", "(2,)", "Maybe"), 8), HasSubstr("fortran_order"));
  EXPECT_THAT(npy_error("{'descr': '<f4'}", 8), HasSubstr("no 'shape' in the header"));
}

}  // namespace
}  // namespace lamella
