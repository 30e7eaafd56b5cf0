// The table of commands.
#include "lamella/cli/command.h"

namespace lamella::cli {
namespace {

constexpr CommandRow kCommands[] = {
    {"run", "Answer a prompt with a language model", add_run},
    {"chat", "Talk with a language model", add_chat},
    {"perplexity", "How well a model predicts a text, alone or beside another", add_perplexity},
    {"quantize", "Write a GGUF file again with its matrices in another encoding", add_quantize},
    {"imatrix", "How much each column of a model's matrices counts, for quantize", add_imatrix},
    {"inspect", "What a model file holds, and the memory it needs", add_inspect},
    {"explain", "How a model runs here: per node the kernel, the reason, the cost", add_explain},
    {"bench", "Measure a model's speed, or this machine's limits", add_bench},
    {"tokenize", "Turn text to token ids", add_tokenize},
    {"check", "Prove ops, kernels, formats and models against references", add_check},
    {"formats", "The block formats of weights", add_formats},
    {"models", "The model families that run, and how their files are read", add_models},
    {"ops", "The operators, generated from their own files", add_ops},
    {"env", "The environment variables that are read", add_env},
};

}  // namespace

std::span<const CommandRow> commands() { return kCommands; }

}  // namespace lamella::cli
