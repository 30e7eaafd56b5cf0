// The word models that a tokenizer.json names: BPE, Unigram, WordLevel, WordPiece.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lamella/text/tokenizer_json/step_json.h"
#include "lamella/text/word_model.h"

namespace lamella::tokenizer_json {

struct ModelVocabulary {
  // Texts and ids as the model has them.
  std::vector<std::pair<std::string, int32_t>> tokens;
  std::vector<double> scores;  // of unigram models, by place in `tokens`
};

// Reads "vocab". UserError for ids that are no ids, and twice the same one.
ModelVocabulary read_model_vocabulary(const Json& model);

struct ModelOptions {
  bool bytes = false;  // words are raw bytes, which the vocabulary writes in GPT-2's alphabet
};

struct Model {
  std::unique_ptr<WordModel> words;
  // Neighbours that are unknown have become one token: so also where a word was cut.
  int32_t fused_unknown = -1;
  bool joins_parts = false;  // words may be cut where no token reaches across
};

// UserError names what is wrong in the model.
Model make_model(const Json& model, const ModelVocabulary& vocabulary, const ModelOptions& options);

// Whether words can be given as raw bytes: affixes go with characters.
bool takes_bytes(const Json& model);

// The name of the kind; those that a file leaves out are told by what the model has.
std::string model_type(const Json& model);

}  // namespace lamella::tokenizer_json
