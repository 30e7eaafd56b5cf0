// Attention for many queries. Lanes are rows (query, head), in panels of three vectors: keys and
// values are broadcast, so scores need no transpose, no sum over lanes, and no lane sees another.
#pragma once

#include "lamella/kernels/cpu/attention_tasks.h"
#include "lamella/kernels/cpu/kv_rows_impl.h"
#include "lamella/kernels/cpu/simd_math.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace bulk {

constexpr int kVectors = 3;
constexpr int kPanel = kVectors * kLanes;
constexpr int kMostPanels = 4;
constexpr int kTile = 64;                 // keys a tile; borders at its multiples
constexpr int kRowTile = kRegisters / 4;  // rows of a register tile

// c[i][lane] = c[i][lane] * factor[lane] + sum over s < depth of a[i * row + s * step] *
// b[s][lane], i < N; b and c have kPanel lanes a row. A null factor stands for c = 0.
struct Product {
  const float* a;
  int64_t row, step;
  const float* b;
  int64_t depth;
  float* c;
  const float* factor;
};

template <int N, int V>
[[gnu::noinline]] void multiply_tile(const Product& p) {
  F acc[N][V];
  for (int i = 0; i < N; ++i) {
    for (int v = 0; v < V; ++v) {
      acc[i][v] =
          p.factor ? load(p.c + i * kPanel + v * kLanes) * load(p.factor + v * kLanes) : zero();
    }
  }
  const float* a = p.a;
  const float* b = p.b;
  const int64_t row = p.row, step = p.step;
  for (int64_t s = 0; s < p.depth; ++s) {
    F bv[V];
    for (int v = 0; v < V; ++v) bv[v] = load(b + v * kLanes);
    for (int i = 0; i < N; ++i) {
      const F x = set1(a[i * row]);
      for (int v = 0; v < V; ++v) acc[i][v] = mul_add(x, bv[v], acc[i][v]);
    }
    a += step;
    b += kPanel;
  }
  for (int i = 0; i < N; ++i) {
    for (int v = 0; v < V; ++v) store(p.c + i * kPanel + v * kLanes, acc[i][v]);
  }
}

template <int V>
void multiply_rows(Product p, int64_t n) {
  for (; n >= kRowTile; n -= kRowTile) {
    multiply_tile<kRowTile, V>(p);
    p.a += kRowTile * p.row;
    p.c += kRowTile * kPanel;
  }
  for (; n > 0; --n) {
    multiply_tile<1, V>(p);
    p.a += p.row;
    p.c += kPanel;
  }
}

void multiply(const Product& p, int64_t n, int vectors) {
  if (vectors == 1) return multiply_rows<1>(p, n);
  if (vectors == 2) return multiply_rows<2>(p, n);
  multiply_rows<3>(p, n);
}

template <KvType type>
void unpack_row(const uint8_t* row, float* out, int64_t n) {
  for_lanes(n, [&](int64_t i, int lanes) {
    store_lanes(out + i, KvLoadOf<type>::at(row, i, lanes), lanes);
  });
}
using UnpackRow = void (*)(const uint8_t*, float*, int64_t);
constexpr UnpackRow kUnpackRow[kKvTypes] = {unpack_row<KvType::f32>, unpack_row<KvType::f16>,
                                            unpack_row<KvType::bf16>, unpack_row<KvType::q8_0>,
                                            unpack_row<KvType::q4_0>};

void unpack_tile(const KvRows& rows, int64_t begin, int64_t end, int64_t n, float* out) {
  const UnpackRow unpack = kUnpackRow[static_cast<int>(rows.type)];
  for (int64_t key = begin; key < end; ++key) unpack(rows.row(key), out + (key - begin) * n, n);
}

// State of one panel of rows: queries and outputs transposed, and the running softmax.
struct Panel {
  float* q;      // [dk][kPanel], scaled
  float* y;      // [dv][kPanel]
  float* top;    // [kPanel] largest score so far
  float* total;  // [kPanel] sum of exp(score - top)
  float* lo;     // [kPanel] first key seen
  float* hi;     // [kPanel] end of the keys seen
  int64_t row0;
  int rows, vectors;
  int64_t key_begin, key_end;  // keys that any row sees

  static int64_t floats(const AttentionMath& math) { return (math.dk + math.dv + 4) * kPanel; }
};

Panel make_panel(const QueryBlock& block, int64_t row0, float* memory) {
  const AttentionMath& math = *block.math;
  Panel p;
  p.q = memory;
  p.y = p.q + math.dk * kPanel;
  p.top = p.y + math.dv * kPanel;
  p.total = p.top + kPanel;
  p.lo = p.total + kPanel;
  p.hi = p.lo + kPanel;
  p.row0 = row0;
  const int64_t left = block.rows() - row0;
  p.rows = static_cast<int>(left < kPanel ? left : kPanel);
  p.vectors = (p.rows + kLanes - 1) / kLanes;
  p.key_begin = block.n_keys;
  p.key_end = 0;
  for (int64_t i = 0; i < (math.dk + math.dv) * kPanel; ++i) memory[i] = 0;
  for (int lane = 0; lane < kPanel; ++lane) {
    p.top[lane] = -kInf;
    p.total[lane] = p.lo[lane] = p.hi[lane] = 0;
    if (lane >= p.rows) continue;
    const int64_t query = block.first + (row0 + lane) / block.group;
    const int64_t head = (row0 + lane) % block.group;
    const float* q = block.q + query * block.q_stride + head * block.q_head_stride;
    for (int64_t i = 0; i < math.dk; ++i) p.q[i * kPanel + lane] = q[i] * math.scale;
    const int64_t lo = block.lo(query), hi = block.hi(query);
    p.lo[lane] = static_cast<float>(lo);
    p.hi[lane] = static_cast<float>(hi);
    if (lo >= hi) continue;
    if (lo < p.key_begin) p.key_begin = lo;
    if (hi > p.key_end) p.key_end = hi;
  }
  return p;
}

// Bias and mask of the rows, score by score: scores lie with rows adjacent, bias with keys.
void add_bias(const QueryBlock& block, const Panel& p, int64_t tile, int64_t from, int64_t to,
              float* scores) {
  for (int lane = 0; lane < p.rows; ++lane) {
    const int64_t query = block.first + (p.row0 + lane) / block.group;
    const int64_t head = (p.row0 + lane) % block.group;
    const Strides4& b = block.bias_strides;
    const Strides4& m = block.mask_strides;
    for (int64_t j = from; j < to; ++j) {
      float& score = scores[j * kPanel + lane];
      if (block.bias) score += block.bias[query * b.row + head * b.head + (tile + j) * b.column];
      if (block.mask && !block.mask[query * m.row + head * m.head + (tile + j) * m.column]) {
        score = -kInf;
      }
    }
  }
}

void cap_scores(float* scores, int64_t from, int64_t to, int vectors, float cap) {
  const F bound = set1(cap), inverse = set1(1.0f / cap);
  for (int64_t j = from; j < to; ++j) {
    for (int v = 0; v < vectors; ++v) {
      float* s = scores + j * kPanel + v * kLanes;
      store(s, bound * tanh(load(s) * inverse));
    }
  }
}

// Scores [from, to) of the tile become exponentials; gives the factor for what was summed before.
void softmax_tile(const Panel& p, int64_t tile, int64_t from, int64_t to, float* scores,
                  float* factor) {
  for (int v = 0; v < p.vectors; ++v) {
    float* column = scores + v * kLanes;
    const F lo = load(p.lo + v * kLanes), hi = load(p.hi + v * kLanes);
    const F old_top = load(p.top + v * kLanes);
    F top = old_top;
    for (int64_t j = from; j < to; ++j) {
      const F key = set1(static_cast<float>(tile + j));
      const M seen = less_equal(lo, key) & less(key, hi);
      const F score = select(seen, load(column + j * kPanel), set1(-kInf));
      store(column + j * kPanel, score);
      top = max(score, top);
    }
    const F base = select(equal(top, set1(-kInf)), zero(), top);
    const F scale = exp(old_top - base);
    F total = load(p.total + v * kLanes) * scale;
    for (int64_t j = from; j < to; ++j) {
      const F e = exp(load(column + j * kPanel) - base);
      store(column + j * kPanel, e);
      total = total + e;
    }
    store(p.top + v * kLanes, top);
    store(p.total + v * kLanes, total);
    store(factor + v * kLanes, scale);
  }
}

void attend_tile(const QueryBlock& block, const Panel& p, int64_t tile, const float* k,
                 const float* v, float* scores) {
  const AttentionMath& math = *block.math;
  const int64_t from = p.key_begin > tile ? p.key_begin - tile : 0;
  const int64_t to = p.key_end - tile < kTile ? p.key_end - tile : kTile;
  if (from >= to) return;
  multiply({k + from * math.dk, math.dk, 1, p.q, math.dk, scores + from * kPanel, nullptr},
           to - from, p.vectors);
  if (math.soft_cap > 0) cap_scores(scores, from, to, p.vectors, math.soft_cap);
  if (block.bias || block.mask) add_bias(block, p, tile, from, to, scores);
  float factor[kPanel];
  softmax_tile(p, tile, from, to, scores, factor);
  multiply({v + from * math.dv, 1, math.dv, scores + from * kPanel, to - from, p.y, factor},
           math.dv, p.vectors);
}

// Adding 0 at the end makes a zero positive, whatever signs of zero were added before.
void finish_panel(const QueryBlock& block, const Panel& p) {
  const AttentionMath& math = *block.math;
  for (int lane = 0; lane < p.rows; ++lane) {
    const int64_t query = block.first + (p.row0 + lane) / block.group;
    const int64_t head = (p.row0 + lane) % block.group;
    float factor = 1, total = p.total[lane];
    if (block.sinks) {
      const float sink = block.sinks[head];
      const F top = max(set1(p.top[lane]), set1(sink));
      factor = max_lane(exp(set1(p.top[lane]) - top));
      total = total * factor + max_lane(exp(set1(sink) - top));
    }
    factor = total == 0 ? 0 : factor / total;
    float* y = block.y + query * block.y_stride + head * block.y_head_stride;
    for (int64_t i = 0; i < math.dv; ++i) y[i] = p.y[i * kPanel + lane] * factor + 0.0f;
  }
}

int64_t panels(int64_t rows) { return (rows + kPanel - 1) / kPanel; }

int64_t scratch_bytes(const AttentionMath& math, int64_t rows) {
  const int64_t floats = panels(rows) * Panel::floats(math) + kTile * (math.dk + math.dv + kPanel);
  return floats * static_cast<int64_t>(sizeof(float)) +
         panels(rows) * static_cast<int64_t>(sizeof(Panel));
}

void run(const QueryBlock& block, float* scratch) {
  const AttentionMath& math = *block.math;
  const int64_t n_panels = panels(block.rows());
  Panel* panel = reinterpret_cast<Panel*>(scratch);
  float* scores = reinterpret_cast<float*>(panel + n_panels);
  float* k = scores + kTile * kPanel;
  float* v = k + kTile * math.dk;
  float* memory = v + kTile * math.dv;
  int64_t begin = block.n_keys, end = 0;
  for (int64_t i = 0; i < n_panels; ++i) {
    panel[i] = make_panel(block, i * kPanel, memory + i * Panel::floats(math));
    if (panel[i].key_begin < begin) begin = panel[i].key_begin;
    if (panel[i].key_end > end) end = panel[i].key_end;
  }
  for (int64_t tile = begin / kTile * kTile; tile < end; tile += kTile) {
    const int64_t tile_end = end < tile + kTile ? end : tile + kTile;
    unpack_tile(block.k, tile, tile_end, math.dk, k);
    unpack_tile(block.v, tile, tile_end, math.dv, v);
    for (int64_t i = 0; i < n_panels; ++i) attend_tile(block, panel[i], tile, k, v, scores);
  }
  for (int64_t i = 0; i < n_panels; ++i) finish_panel(block, panel[i]);
}

}  // namespace bulk
}  // namespace lamella::cpu::LAMELLA_ISA
