// GGUF files that are wrong: each is a UserError that says where, got, want; none crashes or takes
// memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <random>

#include "lamella/frontends/gguf/gguf.h"
#include "tests/support/cpu_time.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/sanitizer.h"

namespace lamella::gguf {
namespace {

using test::GgufWriter;
using test::kSanitizerSlack;
using testing::HasSubstr;
using Bytes = std::vector<uint8_t>;

std::string error_of(const Bytes& bytes) {
  try {
    const Gguf file = Gguf::view(bytes, "f");
    for (const Tensor& tensor : file.tensors()) file.require_usable(tensor);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

GgufWriter small_file(test::GgufOptions options = {}) {
  GgufWriter writer(options);
  writer.add("general.architecture", "llama").add("a.b", uint32_t{3}).add("c", true);
  writer.add_array<std::string>("tokens", {"a", "bc"}).add_array<float>("scores", {1, 2});
  writer.add_tensor("x", {2, 32}, 2, Bytes(36)).add_tensor("y", {5}, 0, Bytes(20));
  return writer;
}

TEST(GgufBadInput, NotGguf) {
  EXPECT_EQ(error_of({}), "f: not a GGUF file; got an empty file; want 'GGUF' at the start");
  EXPECT_EQ(error_of({'P', 'K'}), "f: not a GGUF file; got 'PK'; want 'GGUF' at the start");
  EXPECT_EQ(error_of({'G', 'G', 'M', 'L', 0}),
            "f: not a GGUF file; got 'GGML'; want 'GGUF' at the start");
  EXPECT_EQ(error_of(small_file({.version = 4}).bytes()),
            "f: unknown GGUF version; got 4; want 1 to 3");
  EXPECT_EQ(error_of(small_file({.version = 0}).bytes()),
            "f: unknown GGUF version; got 0; want 1 to 3");
  EXPECT_THAT(error_of(small_file({.version = 2, .big_endian = true}).bytes()),
              HasSubstr("f: big-endian file of version 2"));
}

TEST(GgufBadInput, CutAtEveryByte) {
  for (const uint32_t version : {1u, 3u}) {
    const Bytes whole = small_file({.version = version}).bytes();
    ASSERT_EQ(error_of(whole), "no error");
    const size_t padding = 32 - 20;  // behind the last tensor: may be missing
    for (size_t size = 0; size < whole.size() - padding; ++size) {
      const std::string error = error_of(Bytes(whole.begin(), whole.begin() + long(size)));
      ASSERT_EQ(error.substr(0, 3), "f: ") << size;
    }
    EXPECT_EQ(error_of(Bytes(whole.begin(), whole.end() - padding)), "no error");
  }
  Bytes cut = small_file().bytes();
  cut.resize(cut.size() - 20);
  EXPECT_EQ(error_of(cut),
            "f: tensor 'y': data is cut off by the end of the file; got 12 bytes; want 20");
}

TEST(GgufBadInput, EveryBitOfTheHeaderFlipped) {
  const Bytes whole = small_file().bytes();
  int n_errors = 0;
  for (size_t bit = 0; bit < (whole.size() - 128) * 8; ++bit) {
    Bytes flipped = whole;
    flipped[bit / 8] ^= uint8_t(1 << bit % 8);
    n_errors += error_of(flipped) != "no error";
  }
  EXPECT_GT(n_errors, 400);
}

TEST(GgufBadInput, Counts) {
  EXPECT_EQ(error_of(small_file({.tensor_count = 1ull << 60}).bytes()).substr(0, 49),
            "f: tensor count is too large for the file; got 11");
  EXPECT_THAT(error_of(small_file({.entry_count = ~0ull}).bytes()),
              HasSubstr("f: metadata count is too large for the file; got 18446744073709551615"));
  EXPECT_THAT(error_of(small_file({.entry_count = 6}).bytes()),
              HasSubstr("f: tensor 0: name is longer than the file"));
  EXPECT_THAT(error_of(small_file({.version = 1, .tensor_count = 0xffffffff}).bytes()),
              HasSubstr("got 4294967295"));
  const GgufWriter writer;
  Bytes array = writer.pack<uint32_t>({4});
  const Bytes count = writer.pack<uint64_t>({1ull << 62});
  array.insert(array.end(), count.begin(), count.end());
  EXPECT_EQ(error_of(GgufWriter().add_raw("k", 9, array).bytes()),
            "f: metadata 0 'k': array is longer than the file; got 4611686018427387904 elements; "
            "want at most 3");
  EXPECT_EQ(error_of(GgufWriter().add_raw("k", 8, count).bytes()),
            "f: metadata 0 'k': string is longer than the file; got length 4611686018427387904; "
            "want at most 19");
}

TEST(GgufBadInput, Metadata) {
  const GgufWriter writer;
  EXPECT_EQ(error_of(GgufWriter().add_raw("k", 13, {0, 0, 0, 0}).bytes()),
            "f: metadata 0 'k': value has an unknown type; got 13; want 0 to 12");
  EXPECT_EQ(error_of(GgufWriter().add_raw("k", 7, {2}).bytes()),
            "f: metadata 0 'k': bool is neither 0 nor 1; got 2");
  Bytes nested = writer.pack<uint32_t>({9});
  nested.resize(40);
  EXPECT_EQ(error_of(GgufWriter().add_raw("k", 9, nested).bytes()),
            "f: metadata 0 'k': array of arrays; want an array of numbers, bools or strings");
  EXPECT_EQ(error_of(GgufWriter().add("k", true).add("z", 1).add("k", 2).bytes()),
            "f: metadata 'k' is there more than once; want different keys");
  EXPECT_EQ(
      error_of(GgufWriter().add("general.alignment", uint32_t{24}).bytes()),
      "f: metadata 'general.alignment' cannot be an alignment; got u32 24; want a power of two "
      "up to 1048576");
  EXPECT_THAT(error_of(GgufWriter().add("general.alignment", "32").bytes()),
              HasSubstr("got string '32'"));
}

TEST(GgufBadInput, WrongTypesOfValues) {
  const Bytes bytes = small_file().bytes();
  const Gguf file = Gguf::view(bytes, "f");
  const auto error = [&](auto call) -> std::string {
    try {
      call();
    } catch (const UserError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(error([&] { file.get<uint32_t>("none"); }), "f: metadata 'none' is missing; want u32");
  EXPECT_EQ(error([&] { file.get<uint32_t>("general.architecture"); }),
            "f: metadata 'general.architecture' has a wrong type or is out of range; got string "
            "'llama'; want u32");
  EXPECT_EQ(error([&] { file.get_or<std::string>("a.b", ""); }),
            "f: metadata 'a.b' has a wrong type or is out of range; got u32 3; want string");
  EXPECT_THAT(error([&] { file.get<float>("a.b"); }), HasSubstr("want f32"));
  EXPECT_THAT(error([&] { file.get<int>("c"); }), HasSubstr("got bool true; want i32"));
  EXPECT_THAT(error([&] { file.get<std::vector<int>>("scores"); }),
              HasSubstr("got array of 2 f32; want array of i32"));
  EXPECT_THAT(error([&] { file.get<std::vector<int>>("a.b"); }), HasSubstr("want array of i32"));
  EXPECT_EQ(error([&] { file.get_each<float>("scores", 3); }),
            "f: metadata 'scores' has a wrong number of elements; got 2; want 3");
  EXPECT_THAT(error([&] { file.get_each<int>("a.b", size_t(1) << 40); }),
              HasSubstr("want at most"));
  const Bytes big = GgufWriter().add("n", uint64_t{300}).add("m", -1).bytes();
  const Gguf other = Gguf::view(big, "f");
  EXPECT_THAT(error([&] { other.get<uint8_t>("n"); }), HasSubstr("got u64 300; want u8"));
  EXPECT_THAT(error([&] { other.get<uint64_t>("m"); }), HasSubstr("got i32 -1; want u64"));
  EXPECT_EQ(error([&] { other.tensor("w"); }), "f: tensor 'w' is missing");
}

std::string tensor_error(const std::vector<uint64_t>& dims, uint32_t type, size_t bytes,
                         std::optional<uint64_t> offset = {}) {
  GgufWriter writer;
  writer.add_tensor("first", {8}, 0, Bytes(32)).add_tensor("t", dims, type, Bytes(bytes), offset);
  return error_of(writer.bytes());
}

TEST(GgufBadInput, Tensors) {
  EXPECT_EQ(tensor_error({4}, 0, 16), "no error");
  EXPECT_EQ(tensor_error({1, 1, 1, 1, 1}, 0, 16),
            "f: tensor 1 't': too many dimensions; got 5; want at most 4");
  EXPECT_EQ(tensor_error({4, 0}, 0, 16), "f: tensor 1 't': dimension 0 is 0; want at least 1");
  EXPECT_EQ(tensor_error({1ull << 40, 1ull << 40}, 0, 16),
            "f: tensor 1 't': more elements than any file holds; got dimension 1099511627776");
  EXPECT_THAT(tensor_error({~0ull}, 0, 16), HasSubstr("more elements than any file holds"));
  EXPECT_THAT(tensor_error({1ull << 62}, 0, 16), HasSubstr("want more than 2^63"));
  EXPECT_EQ(
      tensor_error({2, 33}, 2, 36),
      "f: tensor 1 't': rows are not whole blocks; got 33 elements of q4_0; want a multiple of "
      "32");
  EXPECT_THAT(tensor_error({}, 2, 36), HasSubstr("got 1 elements of q4_0"));
  EXPECT_EQ(tensor_error({4}, 0, 16, 33),
            "f: tensor 't': offset is not aligned; got 33; want a multiple of 32");
  EXPECT_EQ(tensor_error({4}, 0, 16, 1 << 20),
            "f: tensor 't': starts beyond the end of the file; got offset 1048576; want at most 64 "
            "(is the file cut off?)");
  EXPECT_EQ(tensor_error({4}, 0, 16, ~0ull - 31).substr(0, 50),
            "f: tensor 't': starts beyond the end of the file; ");
  EXPECT_EQ(tensor_error({4}, 0, 16, 0),
            "f: tensor 't': overlaps tensor 'first'; got offset 0; want at least 32");
  EXPECT_EQ(tensor_error({100}, 0, 400), "no error");
  EXPECT_EQ(tensor_error({4}, 4, 16), "f: tensor 't': type id 4 is not known here");
  GgufWriter twice;
  twice.add_tensor("t", {1}, 24, {1}).add_tensor("t", {1}, 24, {1});
  EXPECT_EQ(error_of(twice.bytes()), "f: tensor 't' is there more than once; want different names");
}

TEST(GgufBadInput, NamesAreMadePrintable) {
  EXPECT_EQ(error_of(GgufWriter().add_raw("\x1b[31m\xff", 99, {0}).bytes()),
            "f: metadata 0 '\\x1b[31m\\xff': value has an unknown type; got 99; want 0 to 12");
}

// The largest tables that pass the checks of counts, over a big hostile file, stay within 64 MB and
// a second.
TEST(GgufBadInput, TablesOfHostileFilesAreBounded) {
  Bytes bytes = GgufWriter({.tensor_count = 1 << 17, .entry_count = 1 << 16}).bytes();
  bytes.resize(24);
  const GgufWriter writer;
  for (uint32_t i = 0; i < 1 << 16; ++i) {
    const Bytes entry = writer.pack<uint32_t>({4, 0, i, 4, i});  // key of 4 bytes, an u32
    bytes.insert(bytes.end(), entry.begin(), entry.end());
  }
  for (uint32_t i = 0; i < 1 << 17; ++i) {
    // Name of 4 bytes, 4 dimensions of 1, type 24, offset 32 i.
    const Bytes tensor = writer.pack<uint32_t>({4, 0, i, 4, 1, 0, 1, 0, 1, 0, 1, 0, 24, i * 32, 0});
    bytes.insert(bytes.end(), tensor.begin(), tensor.end());
  }
  bytes.resize((bytes.size() + 31) / 32 * 32 + (32ull << 17) - 31);
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  const double start = test::cpu_seconds();
  EXPECT_EQ(error_of(bytes), "no error");
  EXPECT_LT(test::cpu_seconds() - start, kSanitizerSlack);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, kSanitizerSlack * 64 * 1024);
  bytes[24 + 8] = 1;  // the first key becomes the second
  EXPECT_EQ(error_of(bytes),
            "f: metadata '\\x01\\x00\\x00\\x00' is there more than once; want different keys");
}

}  // namespace
}  // namespace lamella::gguf
