// Norms, softmax, rope and attention as mlx::core calls. Sequences, their pages and positions are
// read from what the run is given: shapes follow from them, and the graph is built anew each run.
#include <mlx/fast.h>
#include <mlx/ops.h>

#include <algorithm>
#include <cmath>

#include "lamella/backends/mlx/array.h"
#include "lamella/backends/mlx/core_layer.h"
#include "lamella/backends/mlx/sequences.h"
#include "lamella/base/error.h"
#include "lamella/ops/attention/alibi.h"
#include "lamella/ops/attention/kv_append.h"
#include "lamella/ops/attention/paged_attention.h"
#include "lamella/ops/nn/axial_rope.h"
#include "lamella/ops/nn/layer_norm.h"
#include "lamella/ops/nn/rms_norm.h"
#include "lamella/ops/nn/rope.h"
#include "lamella/ops/nn/rope_sections.h"
#include "lamella/ops/nn/softmax.h"

namespace lamella::on_mlx {
namespace {

bool is_narrow_or_f32(const Graph& g, const Node& n) {
  return std::all_of(n.inputs.begin(), n.inputs.end(),
                     [&](ValueId id) { return id.absent() || is_up_to_f32(g.type(id).dtype); });
}

mx::array wide(LowerCx& cx, const mx::array& x) { return mx::astype(x, mx::float32, cx.stream); }
mx::array as_output(LowerCx& cx, const mx::array& y) {
  return mx::astype(y, cx.out_dtype(0), cx.stream);
}
std::optional<mx::array> wide_or_none(LowerCx& cx, size_t i) {
  return cx.has(i) ? std::optional(wide(cx, cx.in(i))) : std::nullopt;
}

Arrays rms_norm_row(LowerCx& cx) {
  const mx::array& x = cx.in(0);
  if (x.size() == 0) return {x};
  const float eps = static_cast<float>(cx.attrs<RmsNorm::Attrs>().eps);
  return {as_output(cx, mx::fast::rms_norm(wide(cx, x), wide_or_none(cx, 1), eps, cx.stream))};
}

Arrays layer_norm_row(LowerCx& cx) {
  const mx::array& x = cx.in(0);
  if (x.size() == 0) return {x};
  const float eps = static_cast<float>(cx.attrs<LayerNorm::Attrs>().eps);
  return {as_output(cx, mx::fast::layer_norm(wide(cx, x), wide_or_none(cx, 1), wide_or_none(cx, 2),
                                             eps, cx.stream))};
}

Arrays softmax_row(LowerCx& cx) {
  const mx::array& x = cx.in(0);
  if (x.size() == 0) return {x};
  const int axis = static_cast<int>(cx.attrs<Softmax::Attrs>().axis);
  return {as_output(cx, mx::softmax(wide(cx, x), axis, true, cx.stream))};
}

mx::array indices_of(LowerCx& cx, const std::vector<int32_t>& values) {
  const Tensor t = Tensor::copy_of(kI32, {static_cast<int64_t>(values.size())}, values.data());
  return cx.run.memory.give(t);
}

// Rows of the cache that the new tokens go to, and which tokens: the last of those with one place.
Arrays places_of(LowerCx& cx, int64_t n_tokens, int64_t n_pages, int64_t page) {
  const auto key = std::pair(static_cast<const std::byte*>(cx.given(3).data()),
                             str("places ", n_tokens, " ", n_pages, " ", page));
  const auto found = cx.run.made.find(key);
  if (found != cx.run.made.end()) return found->second;
  const Sequences& sequences = Sequences::of(cx, 2, n_tokens, n_pages, page);
  std::map<int64_t, int32_t> last;
  for (size_t s = 0; s < sequences.n(); ++s)
    for (int64_t i = 0; i < sequences.n_new(s); ++i)
      last[sequences.row(cx, s, sequences.length(s) - sequences.n_new(s) + i)] =
          static_cast<int32_t>(sequences.start(s) + i);
  std::vector<int32_t> pages, rows, tokens;
  for (const auto& [row, token] : last) {
    pages.push_back(static_cast<int32_t>(row / page));
    rows.push_back(static_cast<int32_t>(row % page));
    tokens.push_back(token);
  }
  Arrays made{indices_of(cx, pages), indices_of(cx, rows)};
  const bool in_order = std::is_sorted(tokens.begin(), tokens.end());
  if (static_cast<int64_t>(tokens.size()) != n_tokens || !in_order)
    made.push_back(indices_of(cx, tokens));
  return cx.run.made.emplace(key, made).first->second;
}

bool are_given(const Graph& g, const Node& n, size_t first) {
  return is_given(g, n, first) && is_given(g, n, first + 1) && is_given(g, n, first + 2);
}
bool appends_given(const Graph& g, const Node& n) {
  return are_given(g, n, 2) && is_up_to_f32(g.type(n.inputs[0]).dtype) &&
         is_up_to_f32(g.type(n.inputs[1]).dtype);
}

}  // namespace

Arrays append_by_scatter(LowerCx& cx) {
  const mx::array &cache = cx.in(0), &added = cx.in(1);
  if (added.size() == 0 || cache.size() == 0) return {cache};
  const Arrays places = places_of(cx, added.shape(0), cache.shape(0), cache.shape(1));
  const mx::array from = places.size() > 2 ? mx::take(added, places[2], 0, cx.stream) : added;
  const mx::array rows =
      mx::reshape(mx::astype(from, cache.dtype(), cx.stream),
                  {from.shape(0), 1, 1, cache.shape(2), cache.shape(3)}, cx.stream);
  return {mx::scatter(cache, {places[0], places[1]}, rows, {0, 1}, cx.stream)};
}

namespace {

// Keys or values of a sequence, [1, heads, length, size]: neighbouring pages as they lie.
mx::array rows_of(LowerCx& cx, const mx::array& pages, const Sequences& sequences, size_t s) {
  const int page = pages.shape(1), length = static_cast<int>(sequences.length(s));
  std::vector<int32_t> ids;
  for (int i = 0; i * page < length; ++i)
    ids.push_back(static_cast<int32_t>(sequences.page(cx, s, i)));
  bool is_run = true;
  for (size_t i = 0; i < ids.size(); ++i)
    is_run = is_run && ids[i] == ids[0] + static_cast<int32_t>(i);
  const int n = static_cast<int>(ids.size());
  mx::Shape from(4, 0), to = pages.shape();
  from[0] = ids[0];
  to[0] = ids[0] + n;
  const mx::array taken = is_run ? mx::slice(pages, from, to, cx.stream)
                                 : mx::take(pages, indices_of(cx, ids), 0, cx.stream);
  const mx::array flat =
      mx::reshape(taken, {1, n * page, pages.shape(2), pages.shape(3)}, cx.stream);
  const mx::array used =
      mx::slice(flat, mx::Shape(4, 0), {1, length, pages.shape(2), pages.shape(3)}, cx.stream);
  return mx::transpose(wide(cx, used), {0, 2, 1, 3}, cx.stream);
}

// Keys j that the query at p sees: visible_keys.
mx::array seen(LowerCx& cx, const PagedAttention::Attrs& a, int n, int length) {
  const mx::array p = mx::reshape(mx::arange(length - n, length, 1, cx.stream), {n, 1}, cx.stream);
  const mx::array j = mx::reshape(mx::arange(0, length, 1, cx.stream), {1, length}, cx.stream);
  const mx::array apart = mx::subtract(p, j, cx.stream);
  mx::array is_seen = a.causal ? mx::greater_equal(apart, mx::array(0), cx.stream)
                               : mx::full({n, length}, true, mx::bool_, cx.stream);
  if (a.window > 0) {
    const mx::array window(static_cast<int>(std::min<int64_t>(a.window, length + 1)));
    is_seen =
        mx::logical_and(is_seen, mx::less(mx::abs(apart, cx.stream), window, cx.stream), cx.stream);
  }
  return is_seen;
}

// softmax(soft_cap * tanh(q k * scale / soft_cap)) v over what is seen, and a sink.
mx::array attend(LowerCx& cx, const PagedAttention::Attrs& a, float scale, const mx::array& q,
                 const mx::array& k, const mx::array& v) {
  const int n = q.shape(2), length = k.shape(2);
  const bool masks = (a.causal && n > 1) || a.window > 0;
  const std::optional<mx::array> sinks = wide_or_none(cx, 6);
  if (a.soft_cap == 0) {
    const bool is_plain = a.causal && a.window == 0;
    std::optional<mx::array> mask;
    if (masks && !is_plain) mask = seen(cx, a, n, length);
    return mx::fast::scaled_dot_product_attention(q, k, v, scale,
                                                  !masks     ? ""
                                                  : is_plain ? "causal"
                                                             : "array",
                                                  mask, sinks, false, cx.stream);
  }
  const int heads = q.shape(1), kv_heads = k.shape(1);
  const mx::array grouped =
      mx::reshape(q, {1, kv_heads, heads / kv_heads, n, q.shape(3)}, cx.stream);
  const auto with_group = [&](const mx::array& x) { return mx::expand_dims(x, 2, cx.stream); };
  mx::array score =
      mx::multiply(mx::matmul(grouped, mx::swapaxes(with_group(k), -1, -2, cx.stream), cx.stream),
                   mx::array(scale / static_cast<float>(a.soft_cap)), cx.stream);
  score = mx::multiply(mx::tanh(score, cx.stream), mx::array(static_cast<float>(a.soft_cap)),
                       cx.stream);
  if (masks) score = mx::where(seen(cx, a, n, length), score, mx::array(-INFINITY), cx.stream);
  if (sinks) {
    const mx::array sink =
        mx::broadcast_to(mx::reshape(*sinks, {1, kv_heads, heads / kv_heads, 1, 1}, cx.stream),
                         {1, kv_heads, heads / kv_heads, n, 1}, cx.stream);
    score = mx::concatenate({score, sink}, -1, cx.stream);
  }
  mx::array p = mx::softmax(score, -1, true, cx.stream);
  mx::Shape shape = p.shape();
  shape.back() = length;
  if (sinks) p = mx::slice(p, mx::Shape(5, 0), shape, cx.stream);
  return mx::reshape(mx::matmul(p, with_group(v), cx.stream), {1, heads, n, v.shape(3)}, cx.stream);
}

bool attends_given(const Graph& g, const Node& n) {
  return are_given(g, n, 3) && n.attrs.as<PagedAttention::Attrs>().compute == Compute::exact &&
         is_up_to_f32(g.type(n.inputs[0]).dtype) && is_up_to_f32(g.type(n.inputs[1]).dtype) &&
         is_up_to_f32(g.type(n.inputs[2]).dtype);
}

Arrays paged_attention_row(LowerCx& cx) {
  const auto& a = cx.attrs<PagedAttention::Attrs>();
  const mx::array &q = cx.in(0), &k = cx.in(1), &v = cx.in(2);
  const mx::Shape shape = cx.out_shape(0);
  if (q.size() == 0 || k.size() == 0 || v.size() == 0)
    return {mx::zeros(shape, cx.out_dtype(0), cx.stream)};
  const Sequences& sequences = Sequences::of(cx, 3, q.shape(0), k.shape(0), k.shape(1));
  const float scale =
      static_cast<float>(a.scale.value_or(1 / std::sqrt(static_cast<double>(q.shape(2)))));
  const mx::array all = mx::transpose(wide(cx, q), {1, 0, 2}, cx.stream);
  Arrays parts;
  for (size_t s = 0; s < sequences.n(); ++s) {
    if (sequences.n_new(s) == 0) continue;
    const int first = static_cast<int>(sequences.start(s)),
              end = first + static_cast<int>(sequences.n_new(s));
    const mx::array own =
        mx::slice(all, {0, first, 0}, {all.shape(0), end, all.shape(2)}, cx.stream);
    const mx::array y = attend(cx, a, scale, mx::expand_dims(own, 0, cx.stream),
                               rows_of(cx, k, sequences, s), rows_of(cx, v, sequences, s));
    parts.push_back(mx::squeeze(y, 0, cx.stream));
  }
  const mx::array y = parts.size() == 1 ? parts[0] : mx::concatenate(parts, 1, cx.stream);
  return {as_output(cx, mx::transpose(y, {1, 0, 2}, cx.stream))};
}

// Cosines and sines of f64 angles, times m: [tokens, pairs]. Pair i turns by the positions of its
// section, [sections, tokens].
Arrays turns_at(LowerCx& cx, std::span<const int64_t> positions,
                const std::vector<int64_t>& section, size_t n_tokens, const std::vector<double>& f,
                double m) {
  std::vector<double> c, s;
  for (size_t token = 0; token < n_tokens; ++token)
    for (size_t i = 0; i < f.size(); ++i) {
      const size_t at = static_cast<size_t>(section[i]) * n_tokens + token;
      const double angle = static_cast<double>(positions[at]) * f[i];
      c.push_back(std::cos(angle) * m);
      s.push_back(std::sin(angle) * m);
    }
  const std::vector<int64_t> shape{static_cast<int64_t>(n_tokens), static_cast<int64_t>(f.size())};
  const auto table = [&](const std::vector<double>& v) {
    return cx.run.memory.give(Tensor::from(kF32, shape, v));
  };
  return {table(c), table(s)};
}

Arrays turns_at(LowerCx& cx, std::span<const int64_t> positions, const std::vector<double>& f,
                double m) {
  return turns_at(cx, positions, std::vector<int64_t>(f.size(), 0), positions.size(), f, m);
}

// The frequencies of n_rot / 2 pairs, over their factors in input 2.
std::vector<double> frequencies(LowerCx& cx, const Rope::Attrs& a, int64_t n_rot) {
  std::vector<double> f = Rope::frequencies(a, n_rot);
  if (!cx.has(2)) return f;
  const std::vector<double> factors = cx.given(2).to_doubles();
  for (size_t i = 0; i < f.size(); ++i) f[i] /= factors[i];
  return f;
}

// Those of a rope, once for all nodes that turn alike.
Arrays turns_of(LowerCx& cx, int64_t n_rot) {
  const auto& a = cx.attrs<Rope::Attrs>();
  std::string what = str("rope ", n_rot);
  Rope::Attrs::fields([&](auto, auto member) { what += str(" ", static_cast<double>(a.*member)); });
  if (cx.has(2)) what += str(" ", static_cast<const void*>(cx.given(2).data()));
  const auto key = std::pair(static_cast<const std::byte*>(cx.given(1).data()), what);
  const auto found = cx.run.made.find(key);
  if (found != cx.run.made.end()) return found->second;
  const Arrays made =
      turns_at(cx, cx.given(1).to_ints(), frequencies(cx, a, n_rot), Rope::magnitude(a));
  return cx.run.made.emplace(key, made).first->second;
}

bool turns_given(const Graph& g, const Node& n) {
  return is_given(g, n, 1) && (n.inputs.size() < 3 || n.inputs[2].absent() || is_given(g, n, 2)) &&
         is_up_to_f32(g.type(n.inputs[0]).dtype);
}

int n_rotated(LowerCx& cx, int64_t n_rot) {
  return n_rot > 0 ? static_cast<int>(n_rot) : cx.in(0).shape(2);
}

// x f32[tokens, heads, n], every pair of it turned.
mx::array turned(LowerCx& cx, const mx::array& x, const Arrays& turns, RopePairing pairing) {
  const int tokens = x.shape(0), heads = x.shape(1), n = x.shape(2);
  const bool halves = pairing == RopePairing::halves;
  const mx::Shape paired =
      halves ? mx::Shape{tokens, heads, 2, n / 2} : mx::Shape{tokens, heads, n / 2, 2};
  const int axis = halves ? 2 : 3;
  const Arrays uv = mx::split(mx::reshape(x, paired, cx.stream), 2, axis, cx.stream);
  const mx::Shape along = halves ? mx::Shape{tokens, 1, 1, n / 2} : mx::Shape{tokens, 1, n / 2, 1};
  const mx::array c = mx::reshape(turns[0], along, cx.stream),
                  s = mx::reshape(turns[1], along, cx.stream);
  const auto times = [&](const mx::array& p, const mx::array& q) {
    return mx::multiply(p, q, cx.stream);
  };
  return mx::reshape(mx::concatenate({mx::subtract(times(uv[0], c), times(uv[1], s), cx.stream),
                                      mx::add(times(uv[0], s), times(uv[1], c), cx.stream)},
                                     axis, cx.stream),
                     {tokens, heads, n}, cx.stream);
}

mx::array part_of_heads(LowerCx& cx, const mx::array& x, int from, int to) {
  return mx::slice(x, {0, 0, from}, {x.shape(0), x.shape(1), to}, cx.stream);
}

// The first n elements of each head.
Arrays partly_turned(LowerCx& cx, int n, const Arrays& turns, RopePairing pairing) {
  const mx::array x = wide(cx, cx.in(0));
  const int dim = x.shape(2);
  const mx::array y = turned(cx, part_of_heads(cx, x, 0, n), turns, pairing);
  if (n == dim) return {as_output(cx, y)};
  return {as_output(cx, mx::concatenate({y, part_of_heads(cx, x, n, dim)}, 2, cx.stream))};
}

Arrays rope_row(LowerCx& cx) {
  const auto& a = cx.attrs<Rope::Attrs>();
  const int n = n_rotated(cx, a.n_rot);
  if (cx.in(0).size() == 0 || n == 0) return {cx.in(0)};
  return partly_turned(cx, n, turns_of(cx, n), a.pairing);
}

Arrays rope_sections_row(LowerCx& cx) {
  const auto& a = cx.attrs<RopeSections::Attrs>();
  const int n = n_rotated(cx, a.n_rot);
  if (cx.in(0).size() == 0 || n == 0) return {cx.in(0)};
  const std::vector<int64_t> positions = cx.given(1).to_ints();
  const Arrays turns = turns_at(cx, positions, RopeSections::sections_of(a, n / 2),
                                static_cast<size_t>(cx.in(0).shape(0)),
                                frequencies(cx, a.rope(), n), Rope::magnitude(a.rope()));
  return partly_turned(cx, n, turns, a.pairing);
}

// Each half of a head by the positions along one axis.
Arrays axial_rope_row(LowerCx& cx) {
  const auto& a = cx.attrs<AxialRope::Attrs>();
  const mx::array& given = cx.in(0);
  if (given.size() == 0) return {given};
  const int half = given.shape(2) / 2, tokens = given.shape(0);
  const mx::array x = wide(cx, given);
  const std::vector<int64_t> positions = cx.given(1).to_ints();
  const std::vector<double> f = Rope::frequencies({.base = a.base}, half);
  Arrays parts;
  for (int axis = 0; axis < 2; ++axis) {
    const auto along = std::span(positions).subspan(static_cast<size_t>(axis * tokens),
                                                    static_cast<size_t>(tokens));
    parts.push_back(turned(cx, part_of_heads(cx, x, axis * half, (axis + 1) * half),
                           turns_at(cx, along, f, 1), a.pairing));
  }
  return {as_output(cx, mx::concatenate(parts, 2, cx.stream))};
}

bool is_to_f32(const Graph&, const Node& n) { return is_up_to_f32(n.outputs[0].dtype); }

Arrays alibi_row(LowerCx& cx) {
  const auto& a = cx.attrs<Alibi::Attrs>();
  const mx::Shape shape = cx.out_shape(0);
  const int queries = shape[1], keys = shape[2];
  const mx::array p =
      mx::reshape(mx::arange(keys - queries, keys, 1, cx.stream), {1, queries, 1}, cx.stream);
  const mx::array key = mx::reshape(mx::arange(0, keys, 1, cx.stream), {1, 1, keys}, cx.stream);
  const mx::array distance = mx::abs(mx::subtract(p, key, cx.stream), cx.stream);
  std::vector<double> slope = Alibi::slopes(a.heads, a.max_bias);
  for (double& v : slope) v = -v;
  const mx::array by = cx.run.memory.give(Tensor::from(kF32, {a.heads, 1, 1}, slope));
  return {as_output(cx, mx::multiply(wide(cx, distance), by, cx.stream))};
}

}  // namespace

std::span<const CoreRow> core_attention_rows() {
  static constexpr CoreRow kRows[] = {
      {&op<Alibi>, "mlx::core::multiply", alibi_row, is_to_f32},
      {&op<AxialRope>, "mlx::core::multiply", axial_rope_row, turns_given, kReadsGiven},
      {&op<KvAppend>, "mlx::core::scatter", append_by_scatter, appends_given,
       kReadsGiven | kAppends},
      {&op<LayerNorm>, "mlx::core::fast::layer_norm", layer_norm_row, is_narrow_or_f32},
      {&op<PagedAttention>, "mlx::core::fast::scaled_dot_product_attention", paged_attention_row,
       attends_given, kReadsGiven},
      {&op<RmsNorm>, "mlx::core::fast::rms_norm", rms_norm_row, is_narrow_or_f32},
      {&op<Rope>, "mlx::core::multiply", rope_row, turns_given, kReadsGiven},
      {&op<RopeSections>, "mlx::core::multiply", rope_sections_row, turns_given, kReadsGiven},
      {&op<Softmax>, "mlx::core::softmax", softmax_row, is_narrow_or_f32},
  };
  return kRows;
}

}  // namespace lamella::on_mlx
