// The compile-time half of a planned back end: which row runs which node, which values share which
// buffer, when each is live, which sizes are known when. Immutable; a Frame is its run-time half.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "lamella/backends/backend.h"
#include "lamella/backends/planned/row.h"

namespace lamella::planned {

struct ViewRule;

inline constexpr uint32_t kNone = ~0u;

// Where a value's bytes live.
enum class Home : uint8_t {
  unused,      // never read at run time (shape arithmetic that is known)
  input,       // given by each run; index: among the graph's inputs
  parameter,   // likewise
  state,       // the state before the run, possibly updated in place
  next_state,  // what replaces a state after the run
  constant,
  output,   // written to the caller's tensor
  arena,    // index: buffer
  dynamic,  // allocated when the op has run, since only the data decide the size
  alias,    // elements of another value
};

struct ValuePlan {
  Home home = Home::unused;
  uint32_t index = 0;     // of the input, parameter, state, output, buffer, dynamic slot
  uint32_t base = kNone;  // alias: the value whose elements these are
  uint32_t node = 0, out = 0;
  uint32_t rank = 0;
  uint32_t sizes =
      0;  // first of `rank` places in the frame's table of sizes (strides lie parallel)
  uint32_t bytes = kNone;          // place of its size in bytes, for buffers
  uint32_t segment = 0;            // known from this segment on
  const ViewRule* view = nullptr;  // alias: how its strides come from the base's; null: dense
  bool contiguous = true;
  DType dtype;
};

// A value that each run gives.
struct GivenPlan {
  ValueId id;
  uint32_t value = 0;
  bool is_static = false;  // its sizes name no symbol
};

struct BufferPlan {
  uint32_t value = 0;  // whose bytes() it must hold (the largest of those that share it)
  uint32_t first = 0, last = 0;
  uint32_t segment = 0;
};

enum class StepKind : uint8_t {
  row,        // a kernel of the table
  copy,       // a view that must be laid out densely
  sizes,      // writes sizes that are known once symbols are bound
  reference,  // a fallback that was allowed
  control,    // if, loop, scan: runs sub-plans
};

class Plan;

struct Step {
  StepKind kind = StepKind::row;
  uint32_t node = 0;
  const Row* row = nullptr;
  std::shared_ptr<const void> prepared;
  std::vector<uint32_t> operands;  // values: inputs, then outputs; kNone where absent
  uint32_t pre_copy =
      kNone;           // the input whose bytes output 0 starts from, when it could not be aliased
  std::string copied;  // why not
  bool binds = false;  // outputs bind fresh symbols: a new segment begins behind this step
  std::vector<std::shared_ptr<const Plan>> bodies;  // control
  std::shared_ptr<const Graph> meaning;             // reference: the node alone
  std::string why;                                  // rows that did not take it
};

// One size of one value: which place in the table of sizes, which result of the segment's dim
// program.
struct Segment {
  uint32_t first_step = 0;
  DimProgram dims;
  std::vector<std::pair<uint32_t, uint32_t>> sizes;  // place, result
  std::vector<std::pair<uint32_t, uint32_t>> bytes;  // value, result
  std::vector<Constraint> constraints;
  std::vector<std::pair<uint32_t, uint32_t>> constraint_results;  // results of a and b
  std::vector<uint32_t> values;   // whose strides are set here, bases first
  std::vector<uint32_t> results;  // of these, the outputs and next states
  std::vector<uint32_t> buffers;
  std::vector<uint32_t> workspaces;  // steps that want scratch memory, one of each kind
};

class Plan {
 public:
  // `rows` outlive the plan; the row without an op is the copy. UserError names op and back end
  // where no row takes a node.
  static std::shared_ptr<const Plan> make(Graph graph, std::string_view backend,
                                          std::span<const Row> rows,
                                          std::shared_ptr<const void> device,
                                          const CompileOptions& options,
                                          std::set<uint32_t> outer_symbols = {});

  Graph graph;
  std::string backend;
  std::shared_ptr<const void> device;
  const Row* copy_row = nullptr;  // lays a strided tensor out densely
  std::vector<ValuePlan> values;
  std::vector<std::vector<uint32_t>> value_of;  // [node][output] -> value
  std::vector<BufferPlan> buffers;
  std::vector<Step> steps;
  std::vector<Segment> segments;
  uint32_t n_sizes = 0;
  std::vector<uint32_t> static_values;  // whose sizes no segment binds
  uint32_t n_dynamic = 0;
  std::vector<GivenPlan> given;          // inputs, then states, then parameters
  std::vector<uint32_t> symbolic_given;  // of these, those whose sizes name symbols
  // Graph outputs that are not written directly: copied from a value at the end.
  std::vector<std::pair<uint32_t, uint32_t>> output_copies;  // output, value
  // For each state: the value that holds the new one, or kNone when it is updated in place.
  std::vector<uint32_t> next_states;
};

// Cuts the steps where sizes become known, and says what each segment binds and places.
void make_segments(Plan& plan);

// The row that takes the node, null when there is none; `why` receives what the others lacked.
const Row* choose_row(std::span<const Row> rows, const Graph& graph, const Node& node,
                      const void* device, std::string_view force, std::string* why = nullptr);

}  // namespace lamella::planned
