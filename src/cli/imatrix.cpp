// lamella imatrix: how much each column of a model's matrices counts.
#include "lamella/lm/imatrix.h"

#include <cstdio>
#include <filesystem>

#include "lamella/base/error.h"
#include "lamella/base/mapped_file.h"
#include "lamella/base/python_package.h"
#include "lamella/cli/command.h"
#include "lamella/frontends/checkpoint.h"
#include "lamella/lm/language_model.h"

namespace lamella::cli {
namespace {

struct Options {
  std::string model, file, out, backend = "cpu";
  int64_t window = 512;
  int threads = 0;
};

int run(const Options& o) {
  const std::string path = model_path(o.model).string();
  const auto tokenizer = load_tokenizer(path);
  const MappedFile file = MappedFile::open(o.file);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  const std::vector<int32_t> tokens =
      tokenizer->encode(text, {.add_special = false, .parse_special = false});
  std::vector<int32_t> start;
  if (tokenizer->adds_bos()) start.push_back(tokenizer->vocabulary().bos);
  const Model model = build_model(load_checkpoint(path), {.context = o.window + 1});
  const auto backend = make_backend(o.backend, o.threads);
  gguf::Importance result =
      importance_of(model, *backend, start, tokens,
                    {.window = o.window, .progress = [](int64_t done, int64_t of) {
                       std::fprintf(stderr, "window %lld of %lld\n", static_cast<long long>(done),
                                    static_cast<long long>(of));
                     }});
  result.text_name = std::filesystem::path(o.file).filename().string();
  result.write(o.out);
  std::printf("%zu matrices, %zu tokens: %s\n", result.of_matrix.size(), tokens.size(),
              o.out.c_str());
  return kDone;
}

}  // namespace

void add_imatrix(Command c) {
  auto o = std::make_shared<Options>();
  c.argument("MODEL", o->model, "a GGUF file, a Hugging Face folder, or py:PACKAGE[/FILE]");
  c.argument("OUT", o->out, "the file to write, for `lamella quantize --imatrix`");
  c.text("-f,--file", "TEXT", o->file, "the text, a file", true);
  c.integer("--window", "N", o->window, {1, 1 << 16}, "tokens that see one another");
  c.choice("--backend", "NAME", o->backend, backend_names(), "what runs the model");
  c.integer("--threads", "N", o->threads, {0, 1024}, "threads; 0: one a core");
  c.action([o] { return run(*o); });
}

}  // namespace lamella::cli
