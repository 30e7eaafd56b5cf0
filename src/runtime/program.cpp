#include "lamella/runtime/program.h"

#include "lamella/base/error.h"
#include "lamella/base/hash.h"

namespace lamella {

std::shared_ptr<const Program> compile(const Graph& graph, const Backend& backend,
                                       const CompileOptions& options,
                                       const OptimizeOptions* optimize_options) {
  OptimizeOptions how = optimize_options ? *optimize_options : OptimizeOptions{};
  how.exact = options.exact;
  how.requantize = options.requantize && options.phase == Phase::bulk;
  auto program = std::make_shared<Program>();
  Lowered lowered = optimize(graph, backend.target(options), how, &program->stage_times_);
  program->options_ = options;
  program->backend_name_ = backend.name();
  program->key_ = hash_mix(lowered.prologue.graph.hash(), hash_of(backend.name()));
  if (!lowered.prologue.empty()) {
    OptimizeOptions no_hoist = how;
    no_hoist.hoist = false;
    program->prologue_ = compile(lowered.prologue.graph, backend, options, &no_hoist);
  }
  program->executable_ = backend.build(std::move(lowered.graph), options);
  return program;
}

std::unique_ptr<Frame> Program::take_frame() const {
  {
    std::lock_guard lock(mutex_);
    if (!free_frames_.empty()) {
      std::unique_ptr<Frame> frame = std::move(free_frames_.back());
      free_frames_.pop_back();
      return frame;
    }
  }
  return executable_->new_frame();
}

void Program::give_frame(std::unique_ptr<Frame> frame) const {
  std::lock_guard lock(mutex_);
  free_frames_.push_back(std::move(frame));
}

std::vector<Tensor> Program::parameters(const Weights& weights) const {
  TensorMap hoisted;
  if (prologue_) {
    std::vector<std::string> names;
    for (ValueId id : prologue_->graph().parameters())
      names.push_back(prologue_->graph().input_name(id));
    const auto results = weights.hoisted(key_, names, [&] {
      std::vector<Tensor> tensors(prologue_->graph().outputs().size());
      Execution(prologue_, weights).run({}, {}, tensors);
      return tensors;
    });
    for (size_t i = 0; i < results.size(); ++i)
      hoisted[prologue_->graph().outputs()[i].name] = results[i];
  }
  std::vector<Tensor> out;
  for (ValueId id : graph().parameters()) {
    const std::string& name = graph().input_name(id);
    if (auto it = hoisted.find(name); it != hoisted.end()) {
      out.push_back(it->second);
      continue;
    }
    const Tensor* t = weights.find(name);
    CHECK_USER(t, "run: weight '", name, "' is missing; want ", graph().type(id));
    out.push_back(t->contiguous());
  }
  return out;
}

TensorMap Program::run(const TensorMap& inputs, const Weights& weights, TensorMap* states) const {
  const Graph& g = graph();
  std::vector<Tensor> in, state;
  auto find = [](const TensorMap* map, const std::string& name, std::string_view kind,
                 const Type& type) {
    auto it = map ? map->find(name) : TensorMap::const_iterator{};
    CHECK_USER(map && it != map->end(), "run: ", kind, " '", name, "' was not given; want ", type);
    return it->second;
  };
  for (ValueId id : g.inputs()) in.push_back(find(&inputs, g.input_name(id), "input", g.type(id)));
  for (const StateSlot& s : g.states())
    state.push_back(find(states, s.name, "state", g.type(s.in)));
  std::vector<Tensor> out(g.outputs().size());
  Execution(shared_from_this(), weights).run(in, state, out);
  TensorMap result;
  for (size_t i = 0; i < out.size(); ++i) result[g.outputs()[i].name] = out[i];
  for (size_t i = 0; i < state.size(); ++i) (*states)[g.states()[i].name] = state[i];
  return result;
}

Execution::Execution(std::shared_ptr<const Program> program, const Weights& weights)
    : program_(std::move(program)),
      frame_(program_->take_frame()),
      parameters_(program_->parameters(weights)) {}

Execution::~Execution() {
  frame_->record_steps(nullptr);
  frame_->cancel_with(nullptr);
  program_->give_frame(std::move(frame_));
}

void Execution::run(std::span<const Tensor> inputs, std::span<Tensor> states,
                    std::span<Tensor> outputs) {
  dense_inputs_.clear();
  for (const Tensor& t : inputs) dense_inputs_.push_back(t.empty_handle() ? t : t.contiguous());
  frame_->run({dense_inputs_, parameters_, states, outputs});
}

Event Execution::start(std::span<const Tensor> inputs, std::span<Tensor> states,
                       std::span<Tensor> outputs) {
  return Event(std::async(std::launch::async, [=, this] { run(inputs, states, outputs); }).share());
}

}  // namespace lamella
