// What `lamella explain` finds out of a model, to be printed as text or as JSON.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lamella/cli/step.h"
#include "lamella/lm/language_model.h"

namespace lamella::cli {

// One step of the program.
struct NodeStory {
  NodeReport report;
  std::vector<std::string> weights;     // parameters it reads
  std::vector<std::string> stands_for;  // the ops of its formula, where fusing made it
  std::string why;                      // why this row and no other
  Roofline roofline;
  double seconds = 0;  // measured; 0 where the back end has no steps

  double share() const { return seconds > 0 ? roofline.seconds / seconds : 0; }
};

struct PhaseStory {
  Phase phase = Phase::bulk;
  StepSizes sizes;
  size_t n_source_nodes = 0;  // in the model's graph, without inputs, weights and constants
  double seconds = 0;         // of a whole step, measured
  std::vector<NodeStory> nodes;
  std::vector<StageTime> stages;
};

// Runs both phases a few times with a watch on every step. `source` is the model's graph before
// the passes; `prompt` tokens are the prefill.
std::vector<PhaseStory> explain_model(LanguageModel& model, const Graph& source, int64_t prompt,
                                      const cpu::MachineLimits& limits);

// A weight that prompts multiply in wider blocks, and what that loses: the root of the mean squared
// difference over that of the mean squared weight.
struct RequantizedWeight {
  std::string name;
  double error = 0;
};

// Those of the program for prompts; `weights` are the model's own, by name.
std::vector<RequantizedWeight> requantized_weights(
    const Program& program, const std::map<std::string, Tensor, std::less<>>& weights);

// What dump_stage takes, in the order of the pipeline.
std::vector<std::string> stage_names();

// Prints the model's graph as it is after a stage, in the text form that parses back, but for the
// bytes of large constants. UserError where the stage does not run.
void dump_stage(const LoadOptions& load, const std::string& model, const std::string& stage,
                Phase phase);

}  // namespace lamella::cli
