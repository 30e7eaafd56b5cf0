// Kernel sources as functions of a library that the C++ compiler here makes.
#pragma once

#include <dlfcn.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "lamella/backends/mlx/gpu_source.h"
#include "lamella/base/error.h"
#include "tests/mlx/gpu_shim.h"

namespace lamella::test {

// The addresses of inputs, each with its sizes behind it, and of outputs.
using Launch = void (*)(const void* const* addresses, int groups_x, int groups_y);

// An operand as the shim names its type.
struct GpuOperand {
  std::string type, name;
};

inline bool finds_cxx() { return std::system("g++ --version > /dev/null 2>&1") == 0; }

// Stands in front of functions.
inline std::string shim_prelude() { return kShimPrelude + on_mlx::gpu_elements(); }

// A function `name` that runs the kernel.
inline std::string shim_function(const std::string& name, const on_mlx::GpuKernel& kernel,
                                 const std::vector<on_mlx::GpuConstant>& constants,
                                 const std::vector<GpuOperand>& inputs,
                                 const std::vector<GpuOperand>& outputs, size_t parts = 0) {
  std::string parameters, arguments;
  int at = 0;
  const auto add = [&](const std::string& type, const std::string& operand) {
    parameters += str(at > 0 ? ", " : "", type, " ", operand);
    arguments += str(at > 0 ? ", " : "", "(", type, ")", name, "_addresses[", at, "]");
    ++at;
  };
  for (const GpuOperand& x : inputs) {
    add("const " + x.type + "*", x.name);
    add("const int*", x.name + "_shape");
  }
  for (const GpuOperand& y : outputs) add(y.type + "*", y.name);
  return str("static void body_", name, "(", parameters, ") {\n", kShimPlaces,
             on_mlx::gpu_constants(constants), parts > 0 ? on_mlx::gpu_parts(parts) : "",
             on_mlx::gpu_body(kernel), "}\nstatic void** ", name, "_addresses;\nstatic void start_",
             name, "() { body_", name, "(", arguments, "); }\nextern \"C\" void ", name,
             "(void** addresses, int gx, int gy) {\n  ", name,
             "_addresses = addresses;\n  shim_run(start_", name, ", gx, gy, ", kernel.threads,
             ");\n}\n");
}

class Library {
 public:
  explicit Library(const std::string& source) {
    std::string name = (std::filesystem::temp_directory_path() / "lamella_gpu_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    std::ofstream(folder_ / "kernels.cpp") << source;
    const std::string path = (folder_ / "kernels").string();
    const std::string command =
        "g++ -std=c++17 -O0 -ffp-contract=off -w -shared -fPIC " + path + ".cpp -o " + path + ".so";
    if (std::system(command.c_str()) == 0) handle_ = dlopen((path + ".so").c_str(), RTLD_NOW);
  }
  ~Library() {
    if (handle_) dlclose(handle_);
    std::filesystem::remove_all(folder_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  Launch find(const std::string& name) const {
    return reinterpret_cast<Launch>(dlsym(handle_, name.c_str()));
  }
  bool is_loaded() const { return handle_; }

 private:
  std::filesystem::path folder_;
  void* handle_ = nullptr;
};

}  // namespace lamella::test
