// From a checkpoint to a graph: one builder an architecture, written with ops only.
//
// Every causal model has this interface, for any number of sequences of any lengths in one step:
//   inputs   tokens i32[tokens], positions i32[tokens], q_start i32[seqs + 1], kv_len i32[seqs]
//   (with the step's own
//            tokens), page_table i32[seqs, max_pages], rows i32[rows] (of the tokens, those whose
//            logits are wanted)
//   states   "k.<layer>", "v.<layer>": pages [pages, page, kv_heads, head_dim] in the KV type
//   and where a model has recurrences
//   inputs   slot i32[seqs], kept i32[seqs, n_kept]: where each sequence's states lie, and where
//            those after its last n_kept tokens go (negative: not wanted)
//   states   "conv.<layer>", "ssm.<layer>": f32[slots, ...]
//   output   logits f32[rows, vocabulary]
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "lamella/frontends/checkpoint.h"
#include "lamella/ir/graph.h"

namespace lamella {

struct BuildOptions {
  DType kv_type = kF16;
  int64_t page = 64;    // positions a page
  int64_t context = 0;  // positions that sequences will have; 0: what the model was trained for
};

// What a runtime must know of a model besides its graph.
struct ModelInfo {
  std::string architecture;
  int64_t layers = 0;
  int64_t vocabulary = 0;
  int64_t context = 0;  // positions it was trained for
  int64_t embedding = 0;
  int64_t page = 0;  // positions a page
};

struct Model {
  Graph graph;
  ModelInfo info;
  std::map<std::string, Tensor, std::less<>> weights;  // of the graph's parameters
};

struct Architecture {
  std::string_view name;  // as general.architecture has it
  std::string_view doc;
  Model (*build)(const Checkpoint&, const BuildOptions&);
};

// The architectures that can be built, in order of their names.
std::span<const Architecture> architectures();

// Builds the checkpoint's architecture. UserError: an unknown architecture (with the near name),
// missing or contradicting metadata, missing tensors or tensors of the wrong size.
Model build_model(const Checkpoint& checkpoint, const BuildOptions& options = {});

}  // namespace lamella
