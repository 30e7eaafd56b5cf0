// lamella tokenize: text to ids, as the model's tokenizer sees it.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/cli/command.h"
#include "lamella/cli/tokenizer_pages.h"
#include "lamella/lm/language_model.h"

namespace lamella::cli {
namespace {

struct Options {
  std::string model;
  std::optional<std::string> text;
  bool raw = false, literal = false, json = false, markdown = false;
};

int run(const Options& o) {
  if (o.markdown) return std::fputs(tokenizers_markdown().c_str(), stdout), kDone;
  CHECK_USER(!o.model.empty(), "MODEL is required");
  const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(o.model);
  const std::string text =
      o.text ? *o.text : std::string(std::istreambuf_iterator<char>(std::cin), {});
  const std::vector<int32_t> ids =
      tokenizer->encode(text, {.add_special = !o.raw, .parse_special = !o.literal});
  if (o.json) {
    nlohmann::json j{{"ids", ids}, {"pieces", nlohmann::json::array()}};
    for (int32_t id : ids) j["pieces"].push_back(tokenizer->piece(id, true));
    // A piece may be part of a character; it is shown with a replacement.
    std::puts(j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return kDone;
  }
  for (int32_t id : ids)
    std::printf("%7d  '%s'\n", id, printable(tokenizer->piece(id, true)).c_str());
  std::printf("%zu tokens\n", ids.size());
  return kDone;
}

}  // namespace

void add_tokenize(Command command) {
  auto o = std::make_shared<Options>();
  command.argument("MODEL", o->model,
                   "a GGUF file, py:PACKAGE[/FILE], or a folder with tokenizer.json", false);
  command.text("-p,--prompt", "TEXT", o->text, "the text; without it, all of standard input");
  command.flag("--raw", o->raw, "without the tokens that begin or end a text");
  command.flag("--literal", o->literal, "special tokens in the text are letters, not tokens");
  command.flag("--json", o->json, "one JSON object: ids, pieces");
  command.flag("--markdown", o->markdown, "print docs/tokenizers.md");
  command.action([o] { return run(*o); });
}

}  // namespace lamella::cli
