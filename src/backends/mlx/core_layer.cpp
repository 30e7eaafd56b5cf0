// Rows made of kernel sources for what stands between a decoder's products: norms, rotations,
// states that are written in place, attention over pages.
#include <mlx/fast.h>
#include <mlx/ops.h>
#include <mlx/primitives.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lamella/backends/mlx/array.h"
#include "lamella/backends/mlx/core_layer.h"
#include "lamella/backends/mlx/sequences.h"
#include "lamella/backends/mlx/turn_tables.h"
#include "lamella/ops/attention/kv_append.h"
#include "lamella/ops/attention/paged_attention.h"
#include "lamella/ops/nn/add_rms_norm.h"
#include "lamella/ops/nn/rms_norm.h"
#include "lamella/ops/nn/rope.h"
#include "lamella/passes/leaving.h"

namespace lamella::on_mlx {
namespace {

mx::Dtype narrow_or_f32(LowerCx& cx, size_t output) {
  return cx.may_round(output) ? mx::bfloat16 : mx::float32;
}

// --- norms

// A thread keeps a 256th of a row.
bool norms_f32(const Graph& g, const Node& n) {
  constexpr int64_t kMostInRow = 256 * 64;
  const Type& x = g.type(n.inputs[0]);
  for (ValueId id : n.inputs)
    if (!id.absent() && !is_up_to_f32(g.type(id).dtype)) return false;
  return x.dtype == kF32 && x.rank() >= 1 && x.shape.last().is_const() &&
         x.shape.last().value() > 0 && x.shape.last().value() <= kMostInRow;
}

// `weight`: the input that is one, if it is there; `residual`: is input 1 added?
Arrays norm_outputs(LowerCx& cx, size_t weight, bool residual, double eps) {
  const mx::array x = cx.whole(0);
  const size_t normed = residual ? 1 : 0;
  const int n = x.shape(-1), rows = static_cast<int>(x.size()) / n;
  const bool has_weight = cx.has(weight);
  KernelCall call{
      kNorm,
      nullptr,
      {{"N", n}, {"EPS", bits_of(eps)}, {"HAS_WEIGHT", has_weight}, {"HAS_RESIDUAL", residual}},
      {"x"}};
  Arrays inputs{x};
  std::vector<KernelOutput> outputs;
  if (residual) {
    call.inputs.push_back("residual");
    inputs.push_back(cx.whole(1));
    outputs.push_back({"sum", x.shape()});
  }
  if (has_weight) {
    call.inputs.push_back("weight");
    inputs.push_back(cx.whole(weight));
  }
  outputs.push_back({"y", x.shape(), narrow_or_f32(cx, normed)});
  return run_kernel(cx, call, std::move(inputs), outputs, rows);
}

Arrays rms_norm_row(LowerCx& cx) {
  if (cx.in(0).size() == 0) return {cx.in(0)};
  return norm_outputs(cx, 1, false, cx.attrs<RmsNorm::Attrs>().eps);
}

Arrays add_rms_norm_row(LowerCx& cx) {
  if (cx.in(0).size() == 0) return {cx.in(0), cx.in(0)};
  return norm_outputs(cx, 2, true, cx.attrs<AddRmsNorm::Attrs>().eps);
}

// --- rotations

bool turns_f32(const Graph& g, const Node& n) {
  return is_given(g, n, 1) && (n.inputs.size() < 3 || n.inputs[2].absent() || is_given(g, n, 2)) &&
         g.type(n.inputs[0]).dtype == kF32;
}

Arrays rope_row(LowerCx& cx) {
  const mx::array& x = cx.in(0);
  const auto& a = cx.attrs<Rope::Attrs>();
  const int n = a.n_rot > 0 ? static_cast<int>(a.n_rot) : x.shape(2);
  if (x.size() == 0 || n == 0) return {x};
  const TurnTables::Turns turns = cx.run.turns->of(cx, a, n);
  const int apart = a.pairing == RopePairing::halves ? n / 2 : 1;
  const int groups = static_cast<int>((x.size() + 255) / 256);
  return run_kernel(cx,
                    {kRope,
                     nullptr,
                     {{"HEADS", x.shape(1)}, {"DIM", x.shape(2)}, {"TURNED", n}, {"APART", apart}},
                     {"x", "turns", "at"}},
                    {x, turns.table, turns.at}, {{"y", x.shape(), narrow_or_f32(cx, 0)}}, groups);
}

// --- states

bool are_given(const Graph& g, const Node& n, size_t first) {
  return is_given(g, n, first) && is_given(g, n, first + 1) && is_given(g, n, first + 2);
}

bool appends_given(const Graph& g, const Node& n) {
  return are_given(g, n, 2) && is_up_to_f32(g.type(n.inputs[0]).dtype) &&
         is_up_to_f32(g.type(n.inputs[1]).dtype);
}

// The state as it is behind its kernel: the same memory, and the array that the kernel made.
mx::array behind(const mx::array& state, const mx::array& done) {
  return mx::depends({state}, {done})[0];
}

// MLX orders kernels by what they write, and it does not know that a state was written: what reads
// one takes that array too. Null where the state is no kernel's of this run.
const mx::array* done_before(const mx::array& state) {
  if (!state.has_primitive() || std::strcmp(state.primitive().name(), "Depends") != 0)
    return nullptr;
  return &state.inputs().back();
}

// In place where nothing else reads the old value and no two tokens have one place.
Arrays append_row(LowerCx& cx) {
  const mx::array &state = cx.in(0), &added = cx.in(1);
  if (added.size() == 0 || state.size() == 0) return {state};
  const Sequences& sequences = Sequences::of(cx, 2, added.shape(0), state.shape(0), state.shape(1));
  if (!cx.writes_in_place() || !sequences.are_apart(cx)) return append_by_scatter(cx);
  const mx::array done =
      run_kernel(cx,
                 {kAppend,
                  nullptr,
                  {{"PAGE", state.shape(1)},
                   {"WIDTH", state.shape(2) * state.shape(3)},
                   {"SLOTS", static_cast<int>(sequences.slots())}},
                  {"x", "state", "q_start", "table", "kv_len"}},
                 {added, state, cx.in(2), cx.in(3), cx.in(4)}, {{"y", {1}}}, added.shape(0))[0];
  return {behind(state, done)};
}

// --- attention

bool attends_given(const Graph& g, const Node& n) {
  if (!are_given(g, n, 3) || !is_up_to_f32(g.type(n.inputs[1]).dtype) ||
      !is_up_to_f32(g.type(n.inputs[2]).dtype) || g.type(n.inputs[0]).dtype != kF32)
    return false;
  const Shape &k = g.type(n.inputs[1]).shape, &v = g.type(n.inputs[2]).shape;
  for (Dim d : {k[1], k[2], k[3], v[3], g.type(n.inputs[0]).shape[1]})
    if (!d.is_const()) return false;
  constexpr int64_t kMostInHead = 1024;
  return std::max(k[3].value(), v[3].value()) <= kMostInHead &&
         (n.attrs.as<PagedAttention::Attrs>().compute == Compute::exact ||
          attends_rounded(g, n, Phase::bulk));
}

// Adds an input where the state was written in this run.
void run_behind(const mx::array& state, std::string_view name, KernelCall& call, Arrays& inputs) {
  const mx::array* done = done_before(state);
  if (!done) return;
  call.inputs.push_back(name);
  inputs.push_back(*done);
}

// How a kernel's groups share the work: query heads a group, and keys a warp takes at a time.
struct Shares {
  int heads_at = 1, keys = 1;
};
Shares shares_of(int group, int size) {
  constexpr int kMostHeads = 8, kMostNumbers = 32;  // of registers a lane has for heads
  const int each = (size + 31) / 32;
  Shares s;
  for (int h = 1; h <= std::min(group, kMostHeads); ++h)
    if (group % h == 0 && h * each <= kMostNumbers) s.heads_at = h;
  s.keys = each <= 4 ? 4 : each <= 8 ? 2 : 1;
  return s;
}

// Parts of the keys, so that there are groups for the whole GPU; a power of two, so that few grids
// are met while a sequence grows.
int n_parts(int64_t groups, int64_t most_keys) {
  constexpr int64_t kWanted = 264, kKeysInPart = 32, kMostParts = 64;
  const int64_t most = std::min({kWanted / groups, most_keys / kKeysInPart, kMostParts});
  int parts = 1;
  while (parts * 2 <= most) parts *= 2;
  return parts;
}

mx::array exact_attention(LowerCx& cx, const Sequences& sequences) {
  const auto& a = cx.attrs<PagedAttention::Attrs>();
  const mx::array &q = cx.in(0), &k = cx.in(1), &v = cx.in(2);
  const int tokens = q.shape(0), heads = q.shape(1), kv_heads = k.shape(2), dim = k.shape(3),
            dim_v = v.shape(3), group = heads / kv_heads;
  const Shares shares = shares_of(group, std::max(dim, dim_v));
  const int groups = tokens * kv_heads * (group / shares.heads_at);
  const int parts = n_parts(groups, sequences.most_keys(cx, a.causal, a.window));
  const bool is_whole = parts == 1, has_sinks = cx.has(6);
  KernelCall call{
      kAttend,
      nullptr,
      {{"DIM", dim},
       {"DIM_V", dim_v},
       {"KV_HEADS", kv_heads},
       {"GROUP", group},
       {"HEADS_AT", shares.heads_at},
       {"KEYS", shares.keys},
       {"PAGE", k.shape(1)},
       {"SLOTS", static_cast<int>(sequences.slots())},
       {"CAUSAL", a.causal},
       {"WINDOW", static_cast<int>(std::min<int64_t>(a.window, std::numeric_limits<int>::max()))},
       {"SCALE", bits_of(a.scale.value_or(1 / std::sqrt(static_cast<double>(dim))))},
       {"SOFT_CAP", bits_of(a.soft_cap)},
       {"IS_WHOLE", is_whole},
       {"HAS_SINKS", has_sinks}},
      {"q", "k", "v", "q_start", "table", "kv_len"}};
  Arrays inputs{q, k, v, cx.in(3), cx.in(4), cx.in(5)};
  if (has_sinks && is_whole) {
    call.inputs.push_back("sinks");
    inputs.push_back(cx.in(6));
  }
  run_behind(k, "after_k", call, inputs);
  run_behind(v, "after_v", call, inputs);
  const KernelOutput y{"y", {tokens, heads, dim_v}, narrow_or_f32(cx, 0)};
  if (is_whole) return run_kernel(cx, call, std::move(inputs), {y}, groups)[0];
  const int rows = tokens * heads;
  const Arrays made =
      run_kernel(cx, call, std::move(inputs),
                 {{"y", {rows, parts, dim_v}}, {"rest", {rows, parts, 2}}}, groups, parts);
  KernelCall merge{kMerge,
                   nullptr,
                   {{"DIM_V", dim_v}, {"HEADS", heads}, {"HAS_SINKS", has_sinks}},
                   {"x", "rest"}};
  Arrays merged{made[0], made[1]};
  if (has_sinks) {
    merge.inputs.push_back("sinks");
    merged.push_back(cx.in(6));
  }
  return run_kernel(cx, merge, std::move(merged), {y}, rows)[0];
}

// Keys or values of a sequence, bf16[1, kv_heads, length, size].
mx::array page_rows(LowerCx& cx, const mx::array& state, const Sequences& sequences, size_t s) {
  const int length = static_cast<int>(sequences.length(s)), at = static_cast<int>(s),
            slots = static_cast<int>(sequences.slots());
  const mx::array table =
      sequences.n() == 1 ? cx.in(4) : mx::slice(cx.in(4), {at, 0}, {at + 1, slots}, cx.stream);
  KernelCall call{kPageRows,
                  nullptr,
                  {{"PAGE", state.shape(1)}, {"KV_HEADS", state.shape(2)}, {"DIM", state.shape(3)}},
                  {"state", "table"}};
  Arrays inputs{state, table};
  run_behind(state, "after", call, inputs);
  const mx::Shape shape{1, state.shape(2), length, state.shape(3)};
  return run_kernel(cx, call, std::move(inputs), {{"y", shape, mx::bfloat16}}, length,
                    state.shape(2))[0];
}

// MLX's own attention, of bf16.
mx::array rounded_attention(LowerCx& cx, const Sequences& sequences) {
  const auto& a = cx.attrs<PagedAttention::Attrs>();
  const mx::array &q = cx.in(0), &k = cx.in(1), &v = cx.in(2);
  sequences.most_keys(cx, a.causal, a.window);  // looks at the pages
  const float scale =
      static_cast<float>(a.scale.value_or(1 / std::sqrt(static_cast<double>(q.shape(2)))));
  const mx::array narrow = mx::astype(q, mx::bfloat16, cx.stream);
  Arrays parts;
  for (size_t s = 0; s < sequences.n(); ++s) {
    if (sequences.n_new(s) == 0) continue;
    const int first = static_cast<int>(sequences.start(s)),
              end = first + static_cast<int>(sequences.n_new(s));
    const mx::array own =
        mx::slice(narrow, {first, 0, 0}, {end, q.shape(1), q.shape(2)}, cx.stream);
    const mx::array y = mx::fast::scaled_dot_product_attention(
        mx::transpose(mx::expand_dims(own, 0, cx.stream), {0, 2, 1, 3}, cx.stream),
        page_rows(cx, k, sequences, s), page_rows(cx, v, sequences, s), scale,
        end - first > 1 ? "causal" : "", {}, {}, false, cx.stream);
    parts.push_back(mx::squeeze(mx::transpose(y, {0, 2, 1, 3}, cx.stream), 0, cx.stream));
  }
  return parts.size() == 1 ? parts[0] : mx::concatenate(parts, 0, cx.stream);
}

Arrays paged_attention_row(LowerCx& cx) {
  const mx::array &q = cx.in(0), &k = cx.in(1), &v = cx.in(2);
  if (q.size() == 0 || k.size() == 0 || v.size() == 0)
    return {mx::zeros(cx.out_shape(0), mx::float32, cx.stream)};
  const Sequences& sequences = Sequences::of(cx, 3, q.shape(0), k.shape(0), k.shape(1));
  const bool rounds = cx.attrs<PagedAttention::Attrs>().compute == Compute::bf16;
  return {rounds ? rounded_attention(cx, sequences) : exact_attention(cx, sequences)};
}

}  // namespace

// What MLX's attention has a fast kernel for, and only where its result is rounded anyway.
bool attends_rounded(const Graph& g, const Node& n, Phase phase) {
  const auto& a = n.attrs.as<PagedAttention::Attrs>();
  const int64_t size =
      g.type(n.inputs[0]).shape[2].is_const() ? g.type(n.inputs[0]).shape[2].value() : 0;
  if (!a.causal || a.window > 0 || a.soft_cap > 0 || (size != 64 && size != 128) ||
      !(g.type(n.inputs[2]).shape[3] == g.type(n.inputs[0]).shape[2]) ||
      (n.inputs.size() > 6 && !n.inputs[6].absent()))
    return false;
  const auto self = static_cast<uint32_t>(&n - g.nodes().data());
  return is_read_only_by(g, self, [&](uint32_t reader, size_t input) {
    const Node& r = g.nodes()[reader];
    return input == 0 && (reads_rounded(r, 0) || rounds_on_gpu(g, r, phase));
  });
}

std::span<const CoreRow> core_layer_rows() {
  static constexpr CoreRow kRows[] = {
      {&op<AddRmsNorm>, "kernel norm", add_rms_norm_row, norms_f32, kKernel | kTakesNarrow},
      {&op<KvAppend>, "kernel append", append_row, appends_given,
       kReadsGiven | kAppends | kKernel | kTakesNarrow},
      {&op<PagedAttention>, "kernel attend", paged_attention_row, attends_given,
       kReadsGiven | kKernel | kTakesNarrow},
      {&op<RmsNorm>, "kernel norm", rms_norm_row, norms_f32, kKernel | kTakesNarrow},
      {&op<Rope>, "kernel rope", rope_row, turns_f32, kReadsGiven | kKernel | kTakesNarrow},
  };
  return kRows;
}

}  // namespace lamella::on_mlx
