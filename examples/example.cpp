#include "examples/example.h"

#include <algorithm>
#include <cmath>

#include "examples/graphs.h"
#include "lamella/base/error.h"
#include "lamella/base/text.h"

namespace lamella::examples {
namespace {

std::string read_labels(const TensorMap& outputs) {
  std::string text;
  for (const std::vector<int64_t>& line : collapse_ctc(outputs.at("log_probs")))
    text += str(text.empty() ? "labels " : " | ", join(line, " "));
  return text;
}

std::string read_speech(const TensorMap& outputs) {
  const std::vector<double> speech = outputs.at("speech").to_doubles();
  return str("speech in ",
             std::count_if(speech.begin(), speech.end(), [](double p) { return p > 0.5; }), " of ",
             speech.size(), " hops");
}

std::vector<int64_t> shape_of(const Type& type, const DimBinding& binding) {
  std::vector<int64_t> shape;
  for (Dim d : type.shape) shape.push_back(evaluate(d, binding));
  return shape;
}

Tensor formula_tensor(std::string_view name, std::vector<int64_t> shape, double middle,
                      double reach) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  std::vector<double> values = formula_numbers(name, n);
  for (double& v : values) v = middle + reach * v;
  return Tensor::from(kF32, std::move(shape), values);
}

Tensor formula_weight(const std::string& name, const std::vector<int64_t>& shape) {
  if (name.ends_with(".bias") || name.ends_with(".mean"))
    return formula_tensor(name, shape, 0, 0.1);
  const bool is_recurrent = name.ends_with(".w") || name.ends_with(".r");
  if (!is_recurrent && !(name.ends_with(".weight") && shape.size() > 1))
    return formula_tensor(name, shape, 1, 0.25);
  int64_t inputs = 1;
  for (size_t i = is_recurrent ? 2 : 1; i < shape.size(); ++i) inputs *= shape[i];
  return formula_tensor(name, shape, 0, std::sqrt(6 / static_cast<double>(inputs)));
}

}  // namespace

std::vector<Example> all_examples() {
  return {
      {"vocoder",
       "mel spectrum to audio: ConvNeXt blocks, inverse STFT",
       [] { return vocoder(); },
       [] { return vocoder(kVocos24Khz); },
       {{"batch", 1}, {"frames", 94}},
       {{"mel", -6, 2}}},
      {"speech_decoder",
       "text and style to audio: LSTM, adaptive norms, transposed convolutions",
       [] { return speech_decoder(); },
       [] { return speech_decoder(style_tts2()); },
       {{"batch", 1}, {"steps", 40}},
       {}},
      {"diffusion_step",
       "a step of a diffusion transformer: modulated norms, axial positions",
       [] { return diffusion_step(); },
       [] { return diffusion_step(kDitB2); },
       {{"batch", 1}, {"rows", 16}, {"columns", 16}},
       {{"time", 0, 1}, {"step", 0, 0.5}}},
      {"text_recogniser",
       "an image of a line of text to labels: convolutions, LSTM, CTC",
       [] { return text_recogniser(); },
       [] { return text_recogniser(kCrnn); },
       {{"batch", 1}, {"width", 160}},
       {{"image", -2, 2}},
       read_labels},
      {"voice_detector",
       "audio in chunks to probabilities of speech: STFT, LSTM, states",
       [] { return voice_detector(); },
       [] { return voice_detector(kDetector16Khz); },
       {{"batch", 1}, {"hops", 4}},
       {},
       read_speech},
  };
}

std::vector<double> formula_numbers(std::string_view name, int64_t n) {
  uint64_t seed = 0xcbf29ce484222325ull;
  for (unsigned char c : name) seed = (seed ^ c) * 0x100000001b3ull;
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) {
    uint64_t x = seed + (static_cast<uint64_t>(i) + 1) * 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    x ^= x >> 31;
    values.push_back(static_cast<double>(x >> 40) / 8388608 - 1);
  }
  return values;
}

void set_formula_weights(const Graph& graph, Weights& weights) {
  for (ValueId id : graph.parameters()) {
    const std::string& name = graph.input_name(id);
    weights.set(name, formula_weight(name, shape_of(graph.type(id), {})));
  }
}

TensorMap formula_inputs(const Graph& graph, const Example& example, std::span<const Size> sizes) {
  const DimBinding binding = binding_of(graph, sizes);
  TensorMap inputs;
  for (ValueId id : graph.inputs()) {
    const std::string& name = graph.input_name(id);
    Range range;
    for (const Range& r : example.ranges)
      if (r.input == name) range = r;
    inputs[name] = formula_tensor(name, shape_of(graph.type(id), binding),
                                  (range.high + range.low) / 2, (range.high - range.low) / 2);
  }
  return inputs;
}

TensorMap formula_states(const Graph& graph, std::span<const Size> sizes) {
  const DimBinding binding = binding_of(graph, sizes);
  TensorMap states;
  for (const StateSlot& s : graph.states())
    states[s.name] = formula_tensor(s.name, shape_of(graph.type(s.in), binding), 0, 1);
  return states;
}

DimBinding binding_of(const Graph& graph, std::span<const Size> sizes) {
  DimBinding binding(graph.dims()->n_symbols());
  for (const Size& size : sizes) {
    const std::optional<Dim> symbol = graph.dims()->find_symbol(size.name);
    CHECK_USER(symbol, "sizes: graph '", graph.name(), "' has no symbol '", size.name, "'");
    binding[symbol->expr()->symbol] = size.value;
  }
  return binding;
}

}  // namespace lamella::examples
