// What compiling and binding cost, on a chain of decoder layers with symbolic sizes and small
// weights: a first bind (a new frame, sizes, placement), a bind with other sizes (smaller: the
// placement is kept; larger: made anew), a run with the sizes of the run before, a run whose
// kernels do nothing, and the way from text to a program. The argument is the number of nodes that
// compute: of the program for binds and runs, of the text for the way from it.
#include <benchmark/benchmark.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "lamella/backends/cpu/cpu.h"
#include "lamella/backends/cpu/device.h"
#include "lamella/backends/planned/executable.h"
#include "lamella/backends/planned/frame.h"
#include "lamella/base/error.h"
#include "lamella/ir/parse.h"
#include "lamella/ir/print.h"
#include "lamella/ops/attention/kv_append.h"
#include "lamella/ops/attention/paged_attention.h"
#include "lamella/ops/index/gather.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/math/silu.h"
#include "lamella/ops/nn/rms_norm.h"
#include "lamella/ops/nn/rope.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/runtime/program.h"

namespace {

using namespace lamella;

constexpr int64_t kWidth = 32, kHeads = 2, kHead = 16, kHidden = 64, kVocabulary = 64, kPage = 16;

struct ChainBuilder {
  Graph g{"chain"};
  Dim tokens = g.symbol("tokens"), seqs = g.symbol("seqs");
  Value ids = g.input("tokens", Type(kI32, {tokens}));
  Value positions = g.input("positions", Type(kI32, {tokens}));
  Value q_start = g.input("q_start", Type(kI32, {seqs + 1}));
  Value kv_len = g.input("kv_len", Type(kI32, {seqs}));
  Value table = g.input("page_table", Type(kI32, {seqs, g.symbol("max_pages")}));

  Value weight(const std::string& name, Shape shape) {
    return g.parameter(name, Type(kF32, std::move(shape)));
  }
  Value project(Value x, const std::string& name, int64_t n, int64_t k) {
    return matmul(x, weight(name, {n, k}));
  }
  Value cached(const std::string& name, Value rows) {
    const Value cache = g.state(name, Type(kF16, {g.symbol("pages"), kPage, kHeads, kHead}));
    const Value next = kv_append(cache, rows, q_start, table, kv_len);
    g.set_state(name, next);
    return next;
  }
  Value heads(Value x) { return reshape_to(x, {tokens, kHeads, kHead}); }

  Value layer(Value x, const std::string& name) {
    const auto scope = g.origin(name);
    const Value h = rms_norm(x, weight(name + ".norm", {kWidth}));
    const Value q = rope(heads(project(h, name + ".q", kWidth, kWidth)), positions, Rope::Attrs{});
    const Value k = rope(heads(project(h, name + ".k", kWidth, kWidth)), positions, Rope::Attrs{});
    const Value v = heads(project(h, name + ".v", kWidth, kWidth));
    const Value y = paged_attention(
        {q, cached(name + ".keys", k), cached(name + ".values", v), q_start, table, kv_len}, {});
    x = x + project(reshape_to(y, {tokens, kWidth}), name + ".o", kWidth, kWidth);
    const Value m = rms_norm(x, weight(name + ".norm2", {kWidth}));
    const Value up = silu(project(m, name + ".gate", kHidden, kWidth)) *
                     project(m, name + ".up", kHidden, kWidth);
    return x + project(up, name + ".down", kWidth, kHidden);
  }
};

size_t n_computing(const Graph& g) {
  size_t n = 0;
  for (const Node& node : g.nodes()) n += !node.op->has(kStructural);
  return n;
}

Graph chain(int64_t n_layers) {
  ChainBuilder b;
  Value x = gather(b.weight("embedding", {kVocabulary, kWidth}), b.ids, {.axis = 0});
  for (int64_t i = 0; i < n_layers; ++i) x = b.layer(x, "blk." + std::to_string(i));
  b.g.output("logits", b.project(x, "output", kVocabulary, kWidth));
  return std::move(b.g);
}

// As many layers as make n nodes where `measure` counts them.
template <class Measure>
int64_t layers_for(int64_t n, Measure measure) {
  const auto few = static_cast<int64_t>(measure(4)), more = static_cast<int64_t>(measure(8));
  return std::max<int64_t>(1, (n - few) * 4 / (more - few) + 5);
}

struct Chain {
  std::unique_ptr<Backend> cpu;
  std::shared_ptr<const Executable> executable;
  std::vector<Tensor> parameters;

  Graph lowered(int64_t n_layers) const { return optimize(chain(n_layers), cpu->target({})).graph; }
  explicit Chain(int64_t n_nodes, int threads = 1) : cpu(make_cpu_backend({.threads = threads})) {
    const int64_t n_layers =
        layers_for(n_nodes, [&](int64_t n) { return n_computing(lowered(n)); });
    executable = cpu->build(lowered(n_layers), {});
    for (ValueId id : executable->graph().parameters())
      parameters.push_back(zeros(executable->graph().type(id), {}));
  }

  static Tensor zeros(const Type& type, const DimBinding& binding) {
    std::vector<int64_t> shape;
    for (Dim d : type.shape) shape.push_back(evaluate(d, binding));
    return Tensor(type.dtype, std::move(shape));
  }
};

// What a run of one sequence with `tokens` new tokens is given.
struct Given {
  std::vector<Tensor> inputs, states, outputs;
  RunArgs args;

  Given(const Chain& c, int32_t tokens) {
    const Graph& g = c.executable->graph();
    DimBinding binding(g.dims()->n_symbols());
    auto set = [&](const char* name, int64_t value) {
      binding[g.dims()->find_symbol(name)->expr()->symbol] = value;
    };
    set("tokens", tokens), set("seqs", 1), set("max_pages", 4), set("pages", 4);
    for (ValueId id : g.inputs()) inputs.push_back(Chain::zeros(g.type(id), binding));
    for (const StateSlot& s : g.states()) states.push_back(Chain::zeros(g.type(s.in), binding));
    inputs[2].as<int32_t>()[1] = tokens;
    inputs[3].as<int32_t>()[0] = tokens;
    for (int32_t p = 0; p < 4; ++p) inputs[4].as<int32_t>()[p] = p;
    outputs.resize(1);
    args = {inputs, c.parameters, states, outputs};
  }
};

const Chain& chain_of(int64_t n_nodes) {
  static std::map<int64_t, Chain> chains;
  return chains.try_emplace(n_nodes, n_nodes).first->second;
}

std::unique_ptr<planned::FrameState> new_frame(const Chain& c) {
  return std::unique_ptr<planned::FrameState>(
      dynamic_cast<planned::FrameState*>(c.executable->new_frame().release()));
}

void count_nodes(benchmark::State& state, const Graph& g) {
  state.counters["nodes"] = static_cast<double>(n_computing(g));
}

void first_bind(benchmark::State& state) {
  const Chain& c = chain_of(state.range(0));
  const Given given(c, 7);
  for (auto _ : state) {
    auto frame = new_frame(c);
    frame->bind(given.args);
    state.PauseTiming();
    frame.reset();
    state.ResumeTiming();
  }
  count_nodes(state, c.executable->graph());
}
BENCHMARK(first_bind)->Arg(1000)->Arg(10000)->Unit(benchmark::kMicrosecond);

void bind_smaller(benchmark::State& state) {
  const Chain& c = chain_of(state.range(0));
  const Given a(c, 7), b(c, 5);
  const auto frame = new_frame(c);
  frame->bind(a.args);
  bool other = true;
  for (auto _ : state) {
    frame->bind(other ? b.args : a.args);
    other = !other;
  }
  state.counters["placements"] = static_cast<double>(frame->n_placements());
  count_nodes(state, c.executable->graph());
}
BENCHMARK(bind_smaller)->Arg(1000)->Arg(10000)->Unit(benchmark::kMicrosecond);

// Each bind needs more room than the one before.
void bind_larger(benchmark::State& state) {
  const Chain& c = chain_of(state.range(0));
  std::vector<Given> given;
  for (int32_t i = 1; i <= 32; ++i) given.emplace_back(c, i);
  std::unique_ptr<planned::FrameState> frame;
  size_t at = given.size();
  for (auto _ : state) {
    if (at == given.size()) {
      state.PauseTiming();
      at = 0;
      frame = new_frame(c);
      frame->bind(given[at++].args);
      state.ResumeTiming();
    }
    frame->bind(given[at++].args);
  }
  count_nodes(state, c.executable->graph());
}
BENCHMARK(bind_larger)->Arg(1000)->Arg(10000)->Unit(benchmark::kMicrosecond);

// A decode step behind another: counts the binds and placements that it makes.
void same_sizes(benchmark::State& state) {
  const Chain& c = chain_of(state.range(0));
  const Given given(c, 1);
  const auto frame = new_frame(c);
  frame->run(given.args);
  const uint64_t binds = frame->n_binds(), placements = frame->n_placements();
  for (auto _ : state) frame->bind(given.args);
  frame->run(given.args);
  state.counters["binds"] = static_cast<double>(frame->n_binds() - binds);
  state.counters["placements"] = static_cast<double>(frame->n_placements() - placements);
  count_nodes(state, c.executable->graph());
}
BENCHMARK(same_sizes)->Arg(1000)->Arg(10000)->Unit(benchmark::kMicrosecond);

// What stands for a kernel: a parallel region of nothing.
planned::Status idle(const planned::StepCx& step) {
  ThreadPool& pool = *step.device<cpu::Device>().pool;
  pool.run(pool.size(), [](int64_t, int) {});
  return {};
}

// A decode step of a program whose kernels do nothing, with so many threads: what is left is the
// runtime's own.
void idle_kernels(benchmark::State& state) {
  const Chain c(state.range(0), static_cast<int>(state.range(1)));
  auto plan = std::make_shared<planned::Plan>(new_frame(c)->plan());
  std::deque<planned::Row> rows;
  const auto silence = [&](const planned::Row*& row) {
    if (row) row = &rows.emplace_back(*row), rows.back().launch = idle;
  };
  for (planned::Step& step : plan->steps) silence(step.row);
  silence(plan->copy_row);
  const Given given(c, 1);
  const auto frame = planned::make_executable(plan)->new_frame();
  for (auto _ : state) frame->run(given.args);
  const auto n = static_cast<double>(plan->steps.size());
  state.counters["steps"] = n;
  state.counters["a_step"] = benchmark::Counter(
      n, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(idle_kernels)
    ->ArgsProduct({{250}, {1, 2, 16}})
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();

// Counters: milliseconds of each part and stage in the last iteration.
void text_to_program(benchmark::State& state) {
  const auto cpu = make_cpu_backend({.threads = 1});
  const std::string text =
      print(chain(layers_for(state.range(0), [](int64_t n) { return n_computing(chain(n)); })));
  std::shared_ptr<const Program> program;
  for (auto _ : state) {
    const Graph g = parse_graph(text, builtin_ops());
    program = compile(g, *cpu);
    count_nodes(state, g);
  }
  for (const StageTime& t : program->stage_times()) state.counters[t.name] = t.seconds * 1e3;
}
BENCHMARK(text_to_program)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);

void parse(benchmark::State& state) {
  const std::string text =
      print(chain(layers_for(state.range(0), [](int64_t n) { return n_computing(chain(n)); })));
  for (auto _ : state) benchmark::DoNotOptimize(parse_graph(text, builtin_ops()));
}
BENCHMARK(parse)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
