// The table of pre-tokenizers, sorted by name. To add one: a row, and its patterns if no row has
// them yet.
#include <algorithm>
#include <array>
#include <vector>

#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/text/pretokenize.h"

namespace lamella {
namespace {

using Pattern = std::string_view;

constexpr Pattern kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

constexpr Pattern kGpt2[] = {kGpt2Words};

// GPT-2's words after each digit has been set apart.
constexpr Pattern kSingleDigits[] = {R"(\p{N})", kGpt2Words};

constexpr Pattern kLlama3[] = {
    R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

constexpr Pattern kQwen2[] = {
    R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

// What a file means that names none: punctuation, then GPT-2's words, then digits by threes.
constexpr Pattern kDefault[] = {
    R"([\p{P}$+<=>^~|]+)",
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"(\p{N}+)",
    R"([0-9][0-9][0-9])",
};

constexpr PreTokenizerRow kRows[] = {
    {.name = "command-r", .patterns = kSingleDigits, .clean_spaces = false},
    {.name = "dbrx", .patterns = kLlama3},
    {.name = "deepseek-r1-qwen", .patterns = kQwen2, .clean_spaces = false},
    {.name = "default", .patterns = kDefault},
    {.name = "falcon-h1", .patterns = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "falcon3", .patterns = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "glm4", .patterns = kLlama3, .ignore_merges = true},
    {.name = "gpt-2", .patterns = kGpt2},
    {.name = "gpt2", .patterns = kGpt2},
    {.name = "lfm2", .patterns = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "llama-bpe", .patterns = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "llama-v3", .patterns = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "llama3", .patterns = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "mpt", .patterns = kGpt2},
    {.name = "olmo", .patterns = kGpt2},
    {.name = "phi-2", .patterns = kGpt2},
    {.name = "pixtral", .patterns = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "qwen2", .patterns = kQwen2, .clean_spaces = false},
    {.name = "refact", .patterns = kSingleDigits},
    {.name = "smollm", .patterns = kSingleDigits, .clean_spaces = false},
    {.name = "stablelm2", .patterns = kQwen2},
    {.name = "starcoder", .patterns = kSingleDigits},
};

}  // namespace

std::span<const PreTokenizerRow> pre_tokenizers() { return kRows; }

const PreTokenizerRow& pre_tokenizer(std::string_view name) {
  if (name.empty()) name = "default";
  std::vector<std::string_view> names;
  for (const PreTokenizerRow& row : kRows) {
    if (row.name == name) return row;
    names.push_back(row.name);
  }
  throw UserError(str("tokenizer: unknown pre-tokenizer; got '", printable(name, 60),
                      "'; want one of ", join(names, ", "), did_you_mean(name, names)));
}

}  // namespace lamella
