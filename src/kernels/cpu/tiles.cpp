#include "lamella/kernels/cpu/tiles.h"

#include <algorithm>
#include <cstddef>

#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/tile_types.h"

namespace lamella::cpu {
namespace {

constexpr int kMaxDims = 16;
constexpr int kMaxPorts = kTileRegisters;
// Elements that are worth a task.
constexpr int64_t kGrain = 8 * kTile;

bool is_wide(TileType type) { return type != TileType::f32; }

TileFn step_fn(const TileStep& step, const TileTable& table) {
  if (step.op == TileOp::cast) return tile_cast(step.type, step.elem);
  if (step.type == TileType::f32) return table.ops[static_cast<int>(step.op)];
  return tile_fn(step.type, step.op);
}

// The shape with strides of every operand: dimensions of size 1 left out, neighbours that lie alike
// merged. Dimension 0 is the innermost.
struct Space {
  int rank = 0;
  int64_t size[kMaxDims];
  int64_t stride[kMaxPorts][kMaxDims];
  int64_t total = 1;
};

Space collapse(std::span<const int64_t> shape, std::span<const TileOperand> operands) {
  Space s;
  for (int64_t n : shape) s.total *= n;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1) continue;
    bool merges = s.rank > 0;
    for (size_t o = 0; merges && o < operands.size(); ++o) {
      const int64_t inner = s.stride[o][s.rank - 1] * s.size[s.rank - 1];
      merges = operands[o].strides[d] == inner;
    }
    if (merges) {
      s.size[s.rank - 1] *= shape[d];
      continue;
    }
    if (s.rank == kMaxDims) break;  // the caller's fault; see tiles.h
    s.size[s.rank] = shape[d];
    for (size_t o = 0; o < operands.size(); ++o) s.stride[o][s.rank] = operands[o].strides[d];
    ++s.rank;
  }
  if (s.rank == 0) {
    s.rank = 1;
    s.size[0] = 1;
    for (size_t o = 0; o < operands.size(); ++o) s.stride[o][0] = 0;
  }
  return s;
}

struct Port {
  std::byte* data;
  int64_t bytes;  // of an element
  TilePort port;
  TileLoad load;
  TileStore store;
  // The register can be the memory itself: elements are what the register holds.
  bool direct;
};

struct Step {
  TileFn fn;
  uint8_t dst, a, b, c;
};

// A program made ready for one call. Shared by its tasks.
struct Plan {
  Space space;
  const TileTable* table;
  const TileProgram* program;
  Port ports[kMaxPorts];
  int n_in, n_ports;
  std::vector<Step> steps;
  int64_t slot_bytes;
};

Plan make_plan(const TileProgram& program, std::span<const int64_t> shape,
               std::span<const TileOperand> operands, Isa isa) {
  Plan plan;
  plan.space = collapse(shape, operands);
  plan.table = &LAMELLA_BY_ISA(isa, kTileTable);
  plan.program = &program;
  plan.n_in = static_cast<int>(program.inputs.size());
  plan.n_ports = static_cast<int>(operands.size());
  bool wide = false;
  for (int i = 0; i < plan.n_ports; ++i) {
    const TilePort& port = i < plan.n_in ? program.inputs[i] : program.outputs[i - plan.n_in];
    const bool same = port.elem == Elem::f32 || port.elem == Elem::f64 || port.elem == Elem::i64 ||
                      port.elem == Elem::u64;
    plan.ports[i] = {static_cast<std::byte*>(operands[i].data),
                     elem_bytes(port.elem),
                     port,
                     tile_load(port.elem, port.type),
                     tile_store(port.type, port.elem),
                     same};
    wide = wide || is_wide(port.type);
  }
  for (const TileConstant& c : program.constants) wide = wide || is_wide(c.type);
  for (const TileStep& s : program.steps) {
    wide = wide || is_wide(s.type) || (s.op == TileOp::cast && is_wide(tile_type(s.elem)));
    plan.steps.push_back({step_fn(s, *plan.table), s.dst, s.a, s.b, s.c});
  }
  // A cache line more than the values, so that registers do not all fall into the same sets.
  plan.slot_bytes = kTile * (wide ? 8 : 4) + 64;
  return plan;
}

// Elements [begin, end) of the space, in tiles.
class TileRun {
 public:
  TileRun(const Plan& plan, std::byte* memory) : plan_(plan) {
    for (int i = 0; i < kTileRegisters; ++i) own_[i] = memory + i * plan.slot_bytes;
    for (const TileConstant& c : plan.program->constants) fill(c);
  }

  void run(int64_t begin, int64_t end) {
    start(begin);
    while (begin < end) {
      const int64_t n = std::min<int64_t>(kTile, end - begin);
      std::copy(own_, own_ + kTileRegisters, reg_);
      visit(n, true);
      for (const Step& s : plan_.steps) s.fn(reg_[s.dst], reg_[s.a], reg_[s.b], reg_[s.c], n);
      visit(n, false);
      begin += n;
    }
  }

 private:
  void fill(const TileConstant& c) {
    for (int i = 0; i < kTile; ++i) {
      if (c.type == TileType::f32)
        reinterpret_cast<float*>(own_[c.reg])[i] = static_cast<float>(c.f);
      if (c.type == TileType::f64) reinterpret_cast<double*>(own_[c.reg])[i] = c.f;
      if (c.type == TileType::i64 || c.type == TileType::u64) {
        reinterpret_cast<int64_t*>(own_[c.reg])[i] = c.i;
      }
    }
  }

  void start(int64_t element) {
    const Space& s = plan_.space;
    std::fill(offset_, offset_ + kMaxPorts, 0);
    for (int d = 0; d < s.rank; ++d) {
      index_[d] = element % s.size[d];
      element /= s.size[d];
      for (int p = 0; p < plan_.n_ports; ++p) offset_[p] += index_[d] * s.stride[p][d];
    }
  }

  // Moves all operands on by n elements of dimension 0, or n rows of it: at most to the end of the
  // dimension they lie along.
  void advance(int dim, int64_t n) {
    const Space& s = plan_.space;
    index_[dim] += n;
    for (int p = 0; p < plan_.n_ports; ++p) offset_[p] += n * s.stride[p][dim];
    for (int d = dim; index_[d] == s.size[d]; ++d) {
      index_[d] = 0;
      for (int p = 0; p < plan_.n_ports; ++p) offset_[p] -= s.size[d] * s.stride[p][d];
      if (d + 1 == s.rank) break;
      ++index_[d + 1];
      for (int p = 0; p < plan_.n_ports; ++p) offset_[p] += s.stride[p][d + 1];
    }
  }

  // Loads the tile's inputs, or stores its outputs and moves on; by whole rows where there are
  // some.
  void visit(int64_t n, bool loads) {
    const Space& s = plan_.space;
    if (n <= s.size[0] - index_[0]) {
      piece(0, n, 1, loads, n % 16 == 0);
      if (!loads) advance(0, n);
      return;
    }
    int64_t saved_index[kMaxDims], saved_offset[kMaxPorts];
    std::copy(index_, index_ + kMaxDims, saved_index);
    std::copy(offset_, offset_ + kMaxPorts, saved_offset);
    for (int64_t done = 0; done < n;) {
      const int64_t length = std::min(n - done, s.size[0] - index_[0]);
      int64_t rows = 1;
      if (length == s.size[0] && s.rank > 1) {
        rows = std::min((n - done) / length, s.size[1] - index_[1]);
      }
      piece(done, length, rows, loads, false);
      if (rows > 1) {
        advance(1, rows);
      } else {
        advance(0, length);
      }
      done += length * rows;
    }
    if (!loads) return;
    std::copy(saved_index, saved_index + kMaxDims, index_);
    std::copy(saved_offset, saved_offset + kMaxPorts, offset_);
  }

  void piece(int64_t done, int64_t n, int64_t rows, bool loads, bool whole) {
    const int first = loads ? 0 : plan_.n_in, last = loads ? plan_.n_in : plan_.n_ports;
    for (int p = first; p < last; ++p) {
      const Port& port = plan_.ports[p];
      const int64_t* stride = plan_.space.stride[p];
      std::byte* data = port.data + offset_[p] * port.bytes;
      if (loads && whole && port.direct && stride[0] == 1) {
        reg_[port.port.reg] = data;
        continue;
      }
      std::byte* at = reg_[port.port.reg] + done * (is_wide(port.port.type) ? 8 : 4);
      const TilePiece memory{n, stride[0], rows, rows > 1 ? stride[1] : 0};
      if (loads) {
        port.load(*plan_.table, data, memory, at);
      } else {
        port.store(*plan_.table, at, data, memory);
      }
    }
  }

  const Plan& plan_;
  std::byte* own_[kTileRegisters];
  std::byte* reg_[kTileRegisters];
  int64_t index_[kMaxDims] = {};
  int64_t offset_[kMaxPorts];
};

}  // namespace

std::string_view find_fault(const TileProgram& program) {
  if (program.inputs.size() + program.outputs.size() > kMaxPorts) return "too many operands";
  for (const TilePort& p : program.inputs) {
    if (p.reg >= kTileRegisters) return "register out of range";
    if (!tile_load(p.elem, p.type)) return "an input's elements do not fit its register's type";
  }
  for (const TilePort& p : program.outputs) {
    if (p.reg >= kTileRegisters) return "register out of range";
    if (!tile_store(p.type, p.elem)) return "an output's elements do not fit its register's type";
  }
  for (const TileConstant& c : program.constants) {
    if (c.reg >= kTileRegisters) return "register out of range";
  }
  for (const TileStep& s : program.steps) {
    if (std::max({s.dst, s.a, s.b, s.c}) >= kTileRegisters) return "register out of range";
    if (!step_fn(s, scalar::kTileTable)) return "the operation is not defined for its type";
  }
  return {};
}

void run_tiles(const TileProgram& program, std::span<const int64_t> shape,
               std::span<const TileOperand> operands, ThreadPool& pool, Isa isa) {
  const Plan plan = make_plan(program, shape, operands, isa);
  if (plan.space.total == 0) return;
  pool.run_ranges(plan.space.total, kGrain, [&](int64_t begin, int64_t end, int) {
    alignas(64) std::byte memory[kTileRegisters * (kTile * 8 + 64)];
    TileRun(plan, memory).run(begin, end);
  });
}

}  // namespace lamella::cpu
