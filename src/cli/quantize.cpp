// lamella quantize: a GGUF file again, its matrices in another encoding.
#include "lamella/frontends/gguf/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "lamella/base/cores.h"
#include "lamella/base/error.h"
#include "lamella/base/python_package.h"
#include "lamella/cli/command.h"
#include "lamella/cli/table.h"
#include "lamella/frontends/checkpoint.h"

namespace lamella::cli {
namespace {

struct Options {
  std::string in, out, type, output_type, embedding_type, imatrix;
  int threads = 0;
};

// What the run as a whole did.
struct Totals {
  double squares = 0, errors = 0;
  uint64_t bytes = 0;
  int n_encoded = 0, n_from_encoded = 0, n_other = 0;
};

void print(const gguf::Quantized& q, Totals& totals) {
  std::vector<std::string> sizes;
  for (int64_t d : q.dims) sizes.push_back(std::to_string(d));
  std::string line = str(q.name, " [", join(sizes, ", "), "]: ", q.from);
  if (q.is_encoded) {
    line += str(" -> ", q.to, "  relative error ", fixed(q.error, 5));
    ++totals.n_encoded;
    totals.n_from_encoded += quant::find_format(q.from) != nullptr;
    totals.squares += q.squares;
    totals.errors += q.error_squares;
  }
  if (!q.note.empty()) {
    line += str("  (", q.note, ")");
    ++totals.n_other;
  }
  totals.bytes += q.bytes;
  std::printf("%s\n", line.c_str());
}

gguf::TargetType type_or_none(const std::string& name) {
  return name.empty() ? gguf::TargetType{} : gguf::TargetType::named(name);
}

int run(const Options& o) {
  gguf::QuantizeOptions options{.type = gguf::TargetType::named(o.type),
                                .output = type_or_none(o.output_type),
                                .embedding = type_or_none(o.embedding_type)};
  const std::string path = model_path(o.in).string();
  CHECK_USER(!model_folder(path), path, ": a folder; want a GGUF file");
  const gguf::Gguf in = gguf::Gguf::open(path);
  gguf::Importance importance;
  if (!o.imatrix.empty()) {
    importance = gguf::Importance::read(o.imatrix);
    options.importance = &importance;
  }
  ThreadPool pool(o.threads > 0 ? o.threads : usable_cores());
  Totals totals;
  gguf::quantize(in, o.out, options, pool, [&](const gguf::Quantized& q) { print(q, totals); });
  const double error = totals.squares > 0 ? std::sqrt(totals.errors / totals.squares) : 0;
  std::printf("%d tensors encoded, relative error of all %s; %s of data\n", totals.n_encoded,
              fixed(error, 5).c_str(),
              (fixed(static_cast<double>(totals.bytes) * 1e-6, 1) + " MB").c_str());
  if (totals.n_from_encoded > 0)
    std::printf("%d of them came from an encoding already: errors are against its values\n",
                totals.n_from_encoded);
  if (totals.n_other > 0)
    std::printf("%d took another type than %s, as their lines say\n", totals.n_other,
                o.type.c_str());
  return kDone;
}

}  // namespace

void add_quantize(Command c) {
  auto o = std::make_shared<Options>();
  c.argument("IN", o->in, "a GGUF file, or py:PACKAGE[/FILE]");
  c.argument("OUT", o->out, "the file to write");
  c.text("--type", "TYPE", o->type, "of matrices: a format of `lamella formats`, f16, bf16, f32",
         true);
  c.text("--output-type", "TYPE", o->output_type, "of output.weight, where it differs");
  c.text("--embedding-type", "TYPE", o->embedding_type, "of token_embd.weight, where it differs");
  c.text("--imatrix", "FILE", o->imatrix, "what `lamella imatrix` wrote: which columns count");
  c.integer("--threads", "N", o->threads, {0, 1024}, "threads; 0: one a core");
  c.examples(
      "Vectors, routers and convolutions stay as they are. Rows that the type's blocks do not "
      "divide take the format of the fewest bits that is no coarser and fits. The error of a "
      "tensor "
      "is the root of its mean squared difference over that of its values.");
  c.action([o] { return run(*o); });
}

}  // namespace lamella::cli
