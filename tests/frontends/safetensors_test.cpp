// The safetensors reader: files of the format's own library, and files that are wrong.
#include "lamella/frontends/safetensors/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "lamella/base/error.h"
#include "tests/support/cpu_time.h"
#include "tests/support/golden.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/sanitizer.h"

namespace lamella::safetensors {
namespace {

using test::SafetensorsWriter;
using testing::ElementsAre;
using testing::HasSubstr;
using Bytes = std::vector<uint8_t>;

std::string error_of(const Bytes& bytes) {
  try {
    const Safetensors file = Safetensors::view(bytes, "f");
    for (const Entry& e : file.entries()) file.tensor(e);
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

std::string error_of_header(const std::string& header, size_t data = 0) {
  return error_of(SafetensorsWriter().add_data(data).with_header(header));
}

// Written by the library safetensors 0.8.0 (PyPI).
TEST(Safetensors, ReadsWhatItsLibraryWrites) {
  const auto folder = test::golden_dir().parent_path() / "fuzz/corpus/safetensors";
  const Safetensors file = Safetensors::open(folder / "four.safetensors");
  ASSERT_EQ(file.entries().size(), 4u);
  const Tensor a = file.tensor(*file.find("a.weight"));
  EXPECT_EQ(a.dtype(), kF32);
  EXPECT_THAT(a.shape(), ElementsAre(2, 3));
  EXPECT_THAT(a.to_doubles(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(file.tensor(*file.find("b")).to_ints(), ElementsAre(1, 2));
  EXPECT_THAT(file.tensor(*file.find("empty")).shape(), ElementsAre(0, 4));
  EXPECT_EQ(file.tensor(*file.find("scalar")).rank(), 0u);
  EXPECT_EQ(file.find("c"), nullptr);
  const Safetensors two = Safetensors::open(folder / "two.safetensors");
  EXPECT_THAT(two.tensor(*two.find("y")).to_ints(), ElementsAre(1, 0));
}

TEST(Safetensors, KnowsEveryTypeOfTheFormat) {
  SafetensorsWriter w;
  for (const ElementType& t : element_types())
    w.add("t" + std::string(t.name), std::string(t.name), {8},
          Bytes(static_cast<size_t>(t.bits), 1));
  const Bytes bytes = w.bytes();
  const Safetensors file = Safetensors::view(bytes, "f");
  for (const Entry& e : file.entries()) {
    if (e.type->dtype.is_none()) continue;
    EXPECT_EQ(file.tensor(e).bytes(), static_cast<size_t>(e.type->bits)) << e.name;
  }
  EXPECT_EQ(file.entries().size(), 20u);
  EXPECT_THAT(error_of(bytes), HasSubstr("elements of type F4 cannot be read"));
}

TEST(Safetensors, CopiesWhatIsNotAligned) {
  const Bytes bytes =
      SafetensorsWriter().add("a", "U8", {1}, {7}).add("b", "F32", {1}, {0, 0, 128, 63}).bytes();
  const Safetensors file = Safetensors::view(bytes, "f");
  const Tensor b = file.tensor(*file.find("b"));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b.data()) % 4, 0u);
  EXPECT_THAT(b.to_doubles(), ElementsAre(1));
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape +
         "],\"data_offsets\":[" + offsets + "]}";
}

TEST(SafetensorsBadInput, IsNamed) {
  const std::string a = entry("a", "U8", "4", "0,4");
  struct Bad {
    std::string header, message;
    size_t data = 4;
  };
  const Bad cases[] = {
      {"[]", "starts with '{'"},
      {"{\"a\":1}", "'a': unexpected value; got 1"},
      {"{\"a\":{}}", "'a': incomplete; want dtype, shape and two data_offsets"},
      {"{" + entry("a", "U8", "4", "0") + "}", "'a': incomplete"},
      {"{" + entry("a", "U9", "4", "0,4") + "}", "'a': unknown dtype; got 'U9'"},
      {"{" + entry("a", "U8", "-4", "0,4") + "}", "'a': unexpected value; got -4"},
      {"{" + entry("a", "U8", "4.0", "0,4") + "}", "'a': unexpected value; got 4.0"},
      {"{" + entry("a", "U8", "4", "0,4,4") + "}", "'a': unexpected value; got 4"},
      {"{" + entry("a", "U8", "4", "0,5") + "}", "data outside the file; got [0, 5)"},
      {"{" + entry("a", "U8", "4", "4,0") + "}", "data outside the file; got [4, 0)"},
      {"{" + entry("a", "U8", "4", "0,18446744073709551616") + "}", "unexpected value"},
      {"{" + entry("a", "U8", "3", "0,4") + "}",
       "'a': sizes and data disagree; got 4 bytes; want 3"},
      {"{" + entry("a", "F32", "4611686018427387904,4611686018427387904", "0,4") + "}",
       "'a': too large"},
      {"{" + entry("a", "F4", "3", "0,1") + "}", "does not end with a byte"},
      {"{" + entry("a", "U8", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,4", "0,4") + "}", "too many axes"},
      {"{" + a + "," + entry("b", "U8", "4", "2,6") + "}", "'b': overlaps", 6},
      {"{" + a + "," + entry("b", "U8", "4", "0,4") + "}", "overlaps"},
      {"{" + a + "," + entry("b", "U8", "2", "6,8") + "}", "'b': leaves a gap", 8},
      {"{" + entry("a", "U8", "3", "1,4") + "}", "'a': leaves a gap"},
      {"{" + a + "}", "data that no tensor has at the end; got 5 bytes; want 4", 5},
      {"{" + a + "," + entry("a", "U8", "0", "4,4") + "}", "'a' is there twice"},
      {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}", "two dtypes"},
      {"{\"a\":{\"shape\":[[4]]}}", "unexpected value; got an array"},
      {"{\"a\":{\"x\":[4]}}", "unexpected value; got an array"},
      {"{\"a\":{\"b\":{}}}", "unexpected value; got an object"},
      {"{\"__metadata__\":{\"format\":3}," + a + "}", "'__metadata__': unexpected value; got 3"},
      {"{" + a, "the header is not JSON"},
      {"{" + a + "}{}", "the header is not JSON"},
      {"{\"\xff\":{}}", "the header is not JSON"},
      {"{" + std::string(1 << 20, '['), "not JSON"},
  };
  for (const Bad& bad : cases)
    EXPECT_THAT(error_of_header(bad.header, bad.data), HasSubstr(bad.message)) << bad.header;
  EXPECT_EQ(error_of_header("{" + a + ",\"__metadata__\":{\"format\":\"pt\"}}", 4), "no error");
  EXPECT_EQ(error_of_header("{}"), "no error");
  EXPECT_EQ(error_of({1, 2, 3}), "f: not a safetensors file; got 3 bytes; want 8 or more");
  EXPECT_THAT(error_of({255, 255, 255, 255, 255, 255, 255, 127, '{'}),
              HasSubstr("the header is longer than the file"));
  EXPECT_THAT(error_of(Bytes(8)), HasSubstr("starts with '{'"));
}

TEST(SafetensorsBadInput, CutOrFlippedAnywhere) {
  const Bytes whole =
      SafetensorsWriter().add("a", "F32", {2, 3}, Bytes(24)).add("b", "U8", {5}, Bytes(5)).bytes();
  ASSERT_EQ(error_of(whole), "no error");
  for (size_t size = 0; size < whole.size(); ++size)
    ASSERT_EQ(error_of(Bytes(whole.begin(), whole.begin() + long(size))).substr(0, 3), "f: ");
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    Bytes flipped = whole;
    flipped[bit / 8] ^= uint8_t(1 << bit % 8);
    error_of(flipped);
  }
}

long peak_kib() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(SafetensorsBadInput, ManyEntriesTakeLittle) {
  SafetensorsWriter w;
  for (int i = 0; i < 100000; ++i) w.add("layer." + std::to_string(i), "U8", {1}, {1});
  const Bytes good = w.bytes(), bad = w.add_data(1).bytes();
  const long before = peak_kib();
  const double start = test::cpu_seconds();
  EXPECT_EQ(error_of(good), "no error");
  EXPECT_THAT(error_of(bad), HasSubstr("data that no tensor has"));
  EXPECT_LT(test::cpu_seconds() - start, 4 * test::kSanitizerSlack);
  EXPECT_LT(peak_kib() - before, 64 * 1024 * test::kSanitizerSlack);
}

std::string index_error(const std::string& text) {
  try {
    parse_index({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, "i");
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

TEST(SafetensorsIndex, ListsFilesBesideIt) {
  const std::string text =
      R"({"metadata":{"total_size":3,"more":[{}]},"weight_map":{"b":"2.st","a":"1.st"}})";
  const auto located =
      parse_index({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, "i");
  ASSERT_EQ(located.size(), 2u);
  EXPECT_EQ(located[0].tensor, "a");
  EXPECT_EQ(located[1].file, "2.st");
  EXPECT_EQ(index_error("{}"), "i: no tensors; want an object weight_map");
  EXPECT_THAT(index_error("[]"), HasSubstr("unexpected value; got an array"));
  EXPECT_THAT(index_error(R"({"weight_map":{"a":"../x"}})"),
              HasSubstr("'a': not the name of a file beside the index; got '../x'"));
  EXPECT_THAT(index_error(R"({"weight_map":{"a":"/etc/x"}})"), HasSubstr("not the name of a file"));
  EXPECT_THAT(index_error(R"({"weight_map":{"a":3}})"), HasSubstr("'a': unexpected value; got 3"));
  EXPECT_THAT(index_error(R"({"weight_map":{"a":["x"]}})"), HasSubstr("nested values"));
  EXPECT_THAT(index_error(R"({"weight_map":{"a":"x","a":"y"}})"), HasSubstr("'a' is listed twice"));
}

}  // namespace
}  // namespace lamella::safetensors
