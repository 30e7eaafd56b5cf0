#include "lamella/base/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "lamella/base/error.h"

namespace lamella {
namespace {

using testing::HasSubstr;

class MappedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) / (std::string("map_") + test->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  static std::string error_of(const std::string& path) {
    try {
      MappedFile::open(path);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  }
  std::filesystem::path folder_;
};

TEST_F(MappedFileTest, ReadsAndMoves) {
  MappedFile file = MappedFile::open(write("a", "hello"));
  const auto* address = file.bytes().data();
  MappedFile moved = std::move(file);
  EXPECT_EQ(moved.bytes().data(), address);
  EXPECT_EQ(std::string(moved.bytes().begin(), moved.bytes().end()), "hello");
  EXPECT_TRUE(file.bytes().empty());
  moved = MappedFile::open(write("b", "other"));
  EXPECT_EQ(moved.bytes()[0], 'o');
  EXPECT_EQ(moved.path(), folder_ / "b");
  moved.advise(MappedFile::Advice::will_need);
  moved.advise(MappedFile::Advice::random, 3, size_t(-1));
  moved.advise(MappedFile::Advice::normal, 99, 1);
}

TEST_F(MappedFileTest, EmptyFileHasNoBytes) {
  const MappedFile file = MappedFile::open(write("empty", ""));
  EXPECT_TRUE(file.bytes().empty());
  file.advise(MappedFile::Advice::sequential);
}

TEST_F(MappedFileTest, SaysWhyItCannotOpen) {
  const std::string missing = folder_ / "missing.gguf";
  EXPECT_EQ(error_of(missing), missing + ": cannot open the file; No such file or directory");
  EXPECT_EQ(error_of(folder_), folder_.string() + ": is a directory; want a file");
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(error_of(pipe), HasSubstr("pipe: is not a regular file"));
  EXPECT_THAT(error_of("/dev/null"), HasSubstr("is not a regular file"));
  EXPECT_THAT(error_of(std::string("a\0b", 3)), HasSubstr("zero byte"));
}

}  // namespace
}  // namespace lamella
