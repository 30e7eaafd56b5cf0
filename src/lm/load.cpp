// Loading: file to weights, tokenizer, template and engine.
#include <algorithm>
#include <chrono>
#include <filesystem>

#include "lamella/backends/cpu/cpu.h"
#include "lamella/backends/mlx/mlx.h"
#include "lamella/backends/reference/reference.h"
#include "lamella/base/error.h"
#include "lamella/base/python_package.h"
#include "lamella/base/text.h"
#include "lamella/frontends/checkpoint.h"
#include "lamella/lm/folder_text.h"
#include "lamella/lm/gguf_text.h"
#include "lamella/lm/language_model.h"

namespace lamella {
namespace {

// What the rows make their back ends from.
struct Cores {
  int threads = 0;
  std::optional<cpu::Isa> isa;
};
struct BackendRow {
  std::string_view name;
  std::unique_ptr<Backend> (*make)(const Cores&);
};
constexpr BackendRow kBackends[] = {
    {"cpu", [](const Cores& c) { return make_cpu_backend({.threads = c.threads, .isa = c.isa}); }},
    {"mlx", [](const Cores& c) { return make_mlx_backend({.threads = c.threads, .isa = c.isa}); }},
    {"mlx-compiled",
     [](const Cores& c) {
       return make_mlx_backend({.threads = c.threads, .isa = c.isa, .mode = MlxMode::compiled});
     }},
    {"mlx-eager",
     [](const Cores& c) {
       return make_mlx_backend({.threads = c.threads, .isa = c.isa, .mode = MlxMode::eager});
     }},
    {"mlx-core",
     [](const Cores& c) {
       return make_mlx_backend({.threads = c.threads, .isa = c.isa, .lowering = MlxLowering::gpu});
     }},
    {"mlx-gpu",
     [](const Cores& c) {
       return make_mlx_backend({.threads = c.threads, .isa = c.isa, .device = MlxDevice::gpu});
     }},
    {"reference", [](const Cores&) { return make_reference_backend(); }},
};

// 0: what the model was trained for.
int64_t wanted_context(const Checkpoint& checkpoint, const LoadOptions& options) {
  if (options.context != 0) return options.context;
  const int64_t trained = checkpoint.integer_or("context_length", kDefaultContext);
  return std::max<int64_t>(std::min(kDefaultContext, trained), 0);
}

std::string template_of(const std::string& path) {
  if (const auto folder = model_folder(path)) return read_folder_chat_template(*folder);
  return read_chat_template(gguf::Gguf::open(path));
}

}  // namespace

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const BackendRow& row : kBackends) names.emplace_back(row.name);
  return names;
}

std::unique_ptr<Backend> make_backend(const std::string& name, int threads,
                                      std::optional<cpu::Isa> isa) {
  for (const BackendRow& row : kBackends)
    if (row.name == name) return row.make({threads, isa});
  std::string names;
  for (const std::string& n : backend_names()) names += (names.empty() ? "" : ", ") + n;
  throw UserError(str("backend: no back end '", name, "'; want one of ", names));
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path) {
  const std::string found = model_path(path).string();
  if (const auto folder = model_folder(found)) return read_folder_tokenizer(*folder);
  return make_tokenizer(read_vocabulary(gguf::Gguf::open(found)));
}

std::unique_ptr<LanguageModel> LanguageModel::load(const std::string& path,
                                                   const LoadOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  std::unique_ptr<LanguageModel> m(new LanguageModel);
  m->path_ = model_path(path).string();
  m->backend_ = make_backend(options.backend, options.threads, options.isa);
  std::vector<std::string> problems;
  const Checkpoint checkpoint = load_checkpoint(m->path_, &problems);
  CHECK_USER(problems.empty(), m->path_, ": ", problems.empty() ? "" : problems[0],
             problems.size() > 1 ? str(" (and ", problems.size() - 1, " more)") : "");
  const int64_t context = wanted_context(checkpoint, options);
  Model model = build_model(checkpoint, {.kv_type = options.kv_type, .context = context});
  try {
    m->tokenizer_ = load_tokenizer(m->path_);
  } catch (const UserError& e) {
    // A model without a usable tokenizer still runs on token ids.
    m->tokenizer_problem_ = e.what();
  }
  if (const std::string source = template_of(m->path_); !source.empty())
    m->chat_template_ = std::make_unique<ChatTemplate>(source);
  auto weights = std::make_shared<Weights>();
  for (const auto& [name, tensor] : model.weights) weights->set(name, tensor);
  const EngineOptions engine{.context = context,
                             .max_sequences = options.max_sequences,
                             .exact = options.exact,
                             .requantize = options.requantize,
                             .snapshot_bytes = options.snapshot_bytes,
                             .kept_states = options.kept_states};
  m->engine_ = std::make_unique<Engine>(std::move(model), std::move(weights), *m->backend_, engine);
  m->load_seconds_ =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return m;
}

const Tokenizer& LanguageModel::tokenizer() const {
  CHECK_USER(tokenizer_, path_, ": no tokenizer; ", tokenizer_problem_);
  return *tokenizer_;
}

std::string LanguageModel::render_chat(const std::vector<Message>& messages) const {
  const Vocabulary& v = tokenizer().vocabulary();
  auto text_of = [&](int32_t id) { return id < 0 ? std::string() : tokenizer().token(id); };
  return chat_template().render(messages, {.add_generation_prompt = true,
                                           .bos_token = text_of(v.bos),
                                           .eos_token = text_of(v.eos),
                                           .tools_json = "",
                                           .variables_json = "",
                                           .now = std::nullopt});
}

const ChatTemplate& LanguageModel::chat_template() const {
  CHECK_USER(chat_template_, path_, ": the file has no chat template; hint: --raw");
  return *chat_template_;
}

}  // namespace lamella
