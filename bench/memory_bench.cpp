// What a product with a packed matrix takes beside its operands, a format and number of rows in a
// process of its own: `memory_bench [mlx|cpu] [size]`. Prints the table of docs/performance.md.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "lamella/backends/cpu/cpu.h"
#include "lamella/backends/mlx/mlx.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/runtime/program.h"

namespace lamella {
namespace {

// A line of /proc/self/status, in KiB.
long status_kib(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == name + ":" && status >> word) return std::stol(word);
  return 0;
}

class Products {
 public:
  Products(DType format, const Backend& backend, Phase phase) : format_(format) {
    const Value x = graph_.input("x", Type(kF32, {graph_.symbol("m"), graph_.symbol("k")}));
    const Value w = graph_.parameter("w", Type(format, {graph_.symbol("n"), x.shape()[1]}));
    graph_.output("y", matmul(x, w));
    program_ = compile(graph_, backend, {.phase = phase});
  }
  // The most that a product added to what its operands take, in KiB.
  long run(int64_t m, int64_t n, int64_t k) {
    Weights weights;
    const Tensor w(format_, {n, k}), x(kF32, {m, k}), y(kF32, {m, n});
    std::memset(w.data(), 0, w.bytes()), std::memset(x.data(), 0, x.bytes());
    std::memset(y.data(), 0, y.bytes());
    weights.set("w", w);
    Execution execution(program_, weights);
    std::ofstream("/proc/self/clear_refs") << 5;  // the peak starts anew
    const long before = status_kib("VmRSS");
    const Tensor inputs[] = {x};
    Tensor outputs[] = {y};
    execution.run(inputs, {}, outputs);
    return std::max(status_kib("VmHWM") - before, 0L);
  }

 private:
  DType format_;
  Graph graph_;
  std::shared_ptr<const Program> program_;
};

long measured(DType format, bool on_mlx, int64_t m, int64_t size) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    const auto backend =
        on_mlx ? make_mlx_backend({.threads = 2}) : make_cpu_backend({.threads = 2});
    Products products(format, *backend, m == 1 ? Phase::decode : Phase::bulk);
    products.run(m, 256, 1024);  // code and threads' stacks are not what is asked
    const long kib = products.run(m, size, size);
    std::_Exit(write(ends[1], &kib, sizeof kib) == sizeof kib ? 0 : 1);
  }
  close(ends[1]);
  long kib = -1;
  if (read(ends[0], &kib, sizeof kib) != sizeof kib) kib = -1;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return kib;
}

void print_table(bool on_mlx, int64_t size) {
  std::printf(
      "| format | weights, KiB | m = 1, decode | m = 257, bulk | unpacked to f32 |\n"
      "|---|---|---|---|---|\n");
  for (const quant::Format& f : quant::formats()) {
    if (f.gguf_type == quant::Format::kNoGguf) continue;
    const DType format = find_dtype(f.name);
    std::printf(
        "| %s | %lld | %ld | %ld | %lld |\n", std::string(f.name).c_str(),
        static_cast<long long>(tensor_bytes(format, std::vector<int64_t>{size, size}) / 1024),
        measured(format, on_mlx, 1, size), measured(format, on_mlx, 257, size),
        static_cast<long long>(size * size / 256));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace lamella

int main(int argc, char** argv) {
  const bool on_mlx = argc < 2 || std::strcmp(argv[1], "cpu") != 0;
  lamella::print_table(on_mlx, argc < 3 ? 4096 : std::atoll(argv[2]));
}
