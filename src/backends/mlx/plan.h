// The compile-time half: which way each node takes, and how long its results are needed.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "lamella/backends/backend.h"
#include "lamella/backends/cpu/device.h"
#include "lamella/backends/mlx/core_row.h"
#include "lamella/backends/mlx/mlx.h"
#include "lamella/backends/mlx/streams.h"
#include "lamella/backends/planned/row.h"

namespace lamella::on_mlx {

class Plan;

// See MlxCounts.
struct Counters {
  std::atomic<uint64_t> traces{0}, retraces{0}, lazy_runs{0}, host_steps{0};
  std::atomic<int64_t> copied_bytes{0}, downloaded_bytes{0};
  std::atomic<uint64_t> crossings{0};
  std::mutex mutex;
  std::vector<std::weak_ptr<const Plan>> plans;  // on a GPU: whose values may cross
};

// How often a value went between a GPU's memory and the caller's.
struct Crossed {
  std::atomic<uint64_t> n{0};
  std::atomic<int64_t> bytes{0};
};

// What the back end's programs share.
struct Device {
  cpu::Device cpu;  // of the custom primitives
  MlxMode mode = MlxMode::lazy;
  MlxLowering lowering = MlxLowering::cpu;
  std::shared_ptr<Streams> streams;
  std::shared_ptr<Counters> counters;
  std::shared_ptr<Reencoded> reencoded;
  std::shared_ptr<DeviceMemory> memory;
  std::shared_ptr<const MlxEmulation> emulation;  // of the GPU, if it is none

  bool on_gpu() const { return memory->on_gpu(); }
  CoreTarget core_target() const { return {on_gpu(), mode == MlxMode::compiled}; }
};

inline constexpr uint32_t kNone = ~0u;

enum class Way : uint8_t {
  sizes,      // numbers known once symbols are bound
  core,       // mlx::core calls
  view,       // where elements lie, said anew
  bytes,      // the same bytes under other sizes, or some of an encoded tensor's
  primitive,  // a custom primitive around one row of the CPU's table
  joined,     // a pack that runs in the primitive of the step before, whose result it packs
  host,       // the same row on the caller's thread, since only the data decide the sizes
  control,    // if, loop, scan
  reference,  // a fallback that was allowed
};

struct Step {
  Way way = Way::primitive;
  uint32_t node = 0;
  const planned::Row* row = nullptr;
  const CoreRow* core = nullptr;
  uint32_t packed = kNone;  // the output that the step behind packs, which is joined to this one
  std::shared_ptr<const void> prepared;
  // The input that output 0 is an updated copy of; whether the state's own memory may be written.
  uint32_t updates = kNone;
  bool in_place = false;
  std::string copied;                               // why not
  std::vector<std::shared_ptr<const Plan>> bodies;  // control
  std::shared_ptr<const Graph> meaning;             // reference: the node alone
  std::vector<uint32_t> dead;                       // values that no later step reads
  std::vector<bool> rounded;                        // by output: see LowerPlan
  std::string why;                                  // rows that did not take it
};

// One of the ways a node may take; null and empty where there is none.
struct Choice {
  Way way = Way::primitive;
  const planned::Row* row = nullptr;
  const CoreRow* core = nullptr;
  std::string why;
  explicit operator bool() const { return row || core || way != Way::primitive; }
};

// The way for a node: the preferred row, or the one named `force`.
Choice choose(const Graph& graph, const Node& node, const Device& device, std::string_view force);
// Names of the rows for an op in order of preference, and what a choice goes by in reports.
std::vector<std::string> row_names(const Op& op, const Device& device);
std::string name_of(const Step& step);

// Steps that MLX may compile together: none of them needs its values on the way.
struct Region {
  uint32_t first = 0, end = 0;
  bool is_cut = false;                    // one step that does
  std::vector<uint32_t> inputs, outputs;  // values
};

class Plan {
 public:
  // UserError names op and back end where nothing takes a node.
  static std::shared_ptr<const Plan> make(Graph graph, std::shared_ptr<const Device> device,
                                          const CompileOptions& options,
                                          std::set<uint32_t> outer_symbols = {});

  uint32_t value(ValueId id) const { return id.absent() ? kNone : first_value[id.node] + id.out; }

  Graph graph;
  std::shared_ptr<const Device> device;
  std::vector<uint32_t> first_value;  // by node: values count through all outputs
  uint32_t n_values = 0;
  std::vector<ValueId> ids;      // by value
  std::vector<bool> is_dynamic;  // by value: its sizes are known only when its step has run
  std::vector<Step> steps;
  std::vector<Region> regions;
  // Bytes of the values that are alive at once, where sizes are known.
  int64_t peak_bytes(const DimBinding& binding) const;
  // Counts a crossing of that value.
  void cross(uint32_t value, std::span<const int64_t> shape) const;
  std::unique_ptr<Crossed[]> crossed;  // by value; on a GPU
  bool has_core = false;               // some step is made of MLX's own ops, which its stream runs
};

}  // namespace lamella::on_mlx
