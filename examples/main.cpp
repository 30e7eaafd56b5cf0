// Runs an example: example [NAME [full] [backend=NAME] [threads=N] [runs=N] [SYMBOL=N]...]
// Without a name it lists them. The states of a graph are carried from run to run.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "examples/example.h"
#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/lm/language_model.h"

namespace lamella::examples {
namespace {

struct Request {
  Example example;
  bool is_full = false;
  std::string backend = "cpu";
  int64_t threads = 0, runs = 3;
};

Example find_example(std::string_view name) {
  std::vector<std::string_view> names;
  const std::vector<Example> all = all_examples();
  for (const Example& e : all) {
    if (e.name == name) return e;
    names.push_back(e.name);
  }
  throw UserError(str("example: no example '", name, "'", did_you_mean(name, names)));
}

// NAME=VALUE, and `full`.
void read_argument(std::string_view text, Request& r) {
  const size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  if (text == "full") {
    r.is_full = true;
    return;
  }
  CHECK_USER(equals != text.npos, "example: got '", text, "'; want NAME=VALUE or full");
  const std::string_view value = text.substr(equals + 1);
  if (name == "backend") {
    r.backend = value;
    return;
  }
  const std::optional<int64_t> number = parse_int(value);
  CHECK_USER(number && *number >= 0, "example: ", name, ": got '", value,
             "'; want a whole number, not negative");
  if (name == "threads") {
    r.threads = *number;
  } else if (name == "runs") {
    r.runs = std::max<int64_t>(*number, 1);
  } else {
    const auto size = std::find_if(r.example.sizes.begin(), r.example.sizes.end(),
                                   [&](const Size& s) { return s.name == name; });
    CHECK_USER(size != r.example.sizes.end(), "example: ", r.example.name, " has no size '", name,
               "'");
    size->value = *number;
  }
}

void list() {
  std::printf("example NAME [full] [backend=NAME] [threads=N] [runs=N] [SYMBOL=N]...\n\n");
  for (const Example& e : all_examples()) {
    std::string sizes;
    for (const Size& s : e.sizes) sizes += str(" ", s.name, "=", s.value);
    std::printf("  %-16s %s\n  %-16s%s\n", std::string(e.name).c_str(), std::string(e.what).c_str(),
                "", sizes.c_str());
  }
}

void print_outputs(const TensorMap& outputs) {
  for (const auto& [name, tensor] : outputs) {
    const std::vector<double> values = tensor.to_doubles();
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    std::printf("%-11s %s[%s]", name.c_str(), std::string(tensor.dtype().name()).c_str(),
                join(tensor.shape(), ", ").c_str());
    if (!values.empty()) std::printf(", from %.5g to %.5g", *low, *high);
    std::printf("\n");
  }
}

// The nodes that compute most, and what ran them.
void print_report(const Program& program, const DimBinding& binding) {
  std::vector<NodeReport> report = program.report(binding);
  std::stable_sort(report.begin(), report.end(),
                   [](const NodeReport& a, const NodeReport& b) { return a.flops > b.flops; });
  std::printf("\n%-18s %-26s %-22s %s\n", "op", "layer", "row", "MFLOP");
  for (size_t i = 0; i < std::min<size_t>(report.size(), 8); ++i)
    std::printf("%-18s %-26s %-22s %.3f\n", report[i].op.c_str(), report[i].origin.c_str(),
                report[i].row.c_str(), report[i].flops / 1e6);
}

void run(const Request& r) {
  using Clock = std::chrono::steady_clock;
  const auto ms_since = [](Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };
  const Example& e = r.example;
  const Graph graph = r.is_full ? e.full() : e.small();
  Weights weights;
  set_formula_weights(graph, weights);
  const auto backend = make_backend(r.backend, static_cast<int>(r.threads));
  Clock::time_point start = Clock::now();
  const auto program = compile(graph, *backend);
  std::printf("%s: %s\n%-11s %zu, %s of weights\n%-11s %.1f ms for %s\n",
              std::string(e.name).c_str(), std::string(e.what).c_str(), "nodes",
              program->graph().nodes().size(),
              human_bytes(static_cast<uint64_t>(weights.bytes())).c_str(), "compiled in",
              ms_since(start), r.backend.c_str());

  const TensorMap inputs = formula_inputs(graph, e, e.sizes);
  TensorMap states = formula_states(graph, e.sizes);
  for (int64_t i = 0; i < r.runs; ++i) {
    start = Clock::now();
    const TensorMap outputs = program->run(inputs, weights, &states);
    std::printf("%-11s %.3f ms", str("run ", i + 1).c_str(), ms_since(start));
    std::printf("%s%s\n", e.read ? ", " : "", e.read ? e.read(outputs).c_str() : "");
    if (i + 1 == r.runs) print_outputs(outputs);
  }
  print_report(*program, binding_of(graph, e.sizes));
}

}  // namespace
}  // namespace lamella::examples

int main(int argc, char** argv) {
  using namespace lamella::examples;
  try {
    if (argc < 2) {
      list();
      return 0;
    }
    Request request{find_example(argv[1])};
    for (int i = 2; i < argc; ++i) read_argument(argv[i], request);
    run(request);
  } catch (const lamella::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
