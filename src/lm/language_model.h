// A language model as a user has it: weights, tokenizer, template, engine. And generation.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lamella/kernels/cpu/isa.h"
#include "lamella/lm/engine.h"
#include "lamella/text/chat_template.h"
#include "lamella/text/sampler.h"
#include "lamella/text/tokenizer.h"

namespace lamella {

// What is reserved where the user names no context.
inline constexpr int64_t kDefaultContext = 8192;

struct LoadOptions {
  std::string backend = "cpu";       // a name of backend_names()
  int threads = 0;                   // 0: one a core
  std::optional<cpu::Isa> isa = {};  // of the kernels; none: the best one here
  int64_t context = 0;               // 0: what the model was trained for, at most kDefaultContext
  int64_t max_sequences = 1;
  DType kv_type = kF16;
  bool exact = false;          // f32 activations; the KV type is as given
  bool requantize = false;     // see CompileOptions
  int64_t snapshot_bytes = 0;  // see EngineOptions
  int64_t kept_states = 1;     // see EngineOptions
};

class LanguageModel {
 public:
  // `path` is a file, or py:PACKAGE[/FILE]. UserError as the readers give it.
  static std::unique_ptr<LanguageModel> load(const std::string& path, const LoadOptions& options);

  Engine& engine() { return *engine_; }
  // UserError when the file has none.
  const Tokenizer& tokenizer() const;
  const ChatTemplate& chat_template() const;
  // The conversation as text, ready for the answer; its special tokens are to be parsed.
  std::string render_chat(const std::vector<Message>& messages) const;
  double load_seconds() const { return load_seconds_; }
  const std::string& path() const { return path_; }
  Backend& backend() { return *backend_; }

 private:
  LanguageModel() = default;
  std::string path_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::string tokenizer_problem_;
  std::unique_ptr<ChatTemplate> chat_template_;
  std::unique_ptr<Engine> engine_;
  double load_seconds_ = 0;
};

// The tokenizer alone, without weights: of a file, or of a Hugging Face folder.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path);

// The back ends by name; UserError (with the choice) for another one.
std::vector<std::string> backend_names();
std::unique_ptr<Backend> make_backend(const std::string& name, int threads,
                                      std::optional<cpu::Isa> isa = {});

struct GenerateOptions {
  int64_t max_tokens = 128;
  SamplerOptions sampler = {};
  int64_t chunk = 0;                           // prompt tokens a step; 0: Engine::prompt_step
  bool stop_at_end = true;                     // at a token that ends generation
  std::vector<std::string> stop_strings = {};  // the answer ends before the first of them
  // DRY sees no repetition across tokens with one of these characters, unless the sampler's options
  // name tokens.
  std::string dry_breakers = "\n:\"*";
  TokenFilter* filter = nullptr;  // told of each token; one sequence's own
  // Called with each token and the text that it completes; false stops. What a stop string that
  // does not come to its end holds back is told last, with -1.
  std::function<bool(int32_t token, const std::string& text)> on_token;
  const std::atomic<bool>* cancel = nullptr;
};

struct Generation {
  std::vector<int32_t> tokens;
  std::string text;
  std::string stop;  // "end", "length", "context", "cancelled", "stop string"
  int64_t prompt_tokens = 0;
  double prefill_seconds = 0, decode_seconds = 0;
  double first_token_seconds = 0;  // from the call to the first token
};

// Appends `prompt` to the sequence and generates. UserError: an empty prompt, or one beyond the
// context.
Generation generate(LanguageModel& model, Sequence& sequence, std::span<const int32_t> prompt,
                    const GenerateOptions& options);

// Runs `tokens` in steps of at most `chunk` (0: Engine::prompt_step); logits f32 of the last one or
// of all. Where `chunk` is a multiple of 64, steps end at positions that are.
Tensor prefill(Engine& engine, Sequence& sequence, std::span<const int32_t> tokens, int64_t chunk,
               Rows rows);

// Appends what of `history` lies behind the sequence's own positions, each in the phase in which it
// was first computed.
void replay(Engine& engine, Sequence& sequence, const History& history);

// Makes the sequence what `history` says, to the bit: from the nearest of what the engine's
// sequences and snapshots hold, the rest replayed. Returns how many positions were run.
int64_t restore(Engine& engine, Sequence& sequence, const History& history);

}  // namespace lamella
