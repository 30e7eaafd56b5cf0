// Passes as IR text in, IR text out: a case is a few lines of text before and after. Each case also
// checks that the result verifies, that a second run changes nothing, and that values stay.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "lamella/ops/evaluate.h"
#include "lamella/passes/target.h"

namespace lamella::test {

// The built-in ops and three more: `tap` (the identity, ordered), `spare` (the identity, with a
// hidden output to save) and `endless` (a composite whose formula is itself).
const OpSet& pass_ops();

// Runs nodes of these ops; no composite but these.
Target target_with(std::vector<const Op*> rows = {});
// Takes every elementwise node into a region.
Target target_with_regions();

struct PassCase {
  std::string name;
  std::string before;      // statements of a graph, behind the suite's declarations
  std::string after = {};  // likewise; empty: nothing changes
  Target target = target_with();
};

struct PassSuite {
  std::string name;
  std::function<Graph(Graph, const Target&)> run;
  std::string declarations;
  double tolerance = 0;  // of values, relative; 0: equal bits, any NaN for any NaN
  std::vector<PassCase> cases;
};

struct PassParam {
  const PassSuite* suite;
  const PassCase* test;
};
void PrintTo(const PassParam& param, std::ostream* out);

Graph read_graph(const std::string& declarations, const std::string& statements,
                 const std::string& name = "main");

// Values for all inputs, states and parameters: a symbol's size differs from the next one's, floats
// have zeros of both signs, infinities and NaN among them, integers their ends. Inputs named
// index... are 0 or 1; those named grid... lie on the grid of q8_0.
RefTensors draw_inputs(const Graph& graph, uint64_t seed);

void expect_same_values(const RefResult& got, const RefResult& want, double tolerance);

void expect_pass(const PassSuite& suite, const PassCase& test);

}  // namespace lamella::test
