// Attention for many queries by AMX tiles, operands rounded to bf16, sums in f32. Both products
// have lanes = rows (query, head), 16 of them a panel: a tile of keys, then a tile of transposed
// values, is multiplied by pairs of elements of 16 rows, so no lane sees another.
//
// A key's weight is 2^(score * log2(e) - top), rounded, with a top that is whole: then a greater
// top later scales weights and sums by a power of two, and rounding does not depend on it. Rounded
// weights are also what the sum is divided by.
//
// The vectors are those of AVX-512, and this machine has more: no inline function of theirs may
// come out otherwise here.
#define LAMELLA_ISA avx512
#define LAMELLA_LANES 16
#include <limits>

#include "lamella/kernels/cpu/attention_tasks.h"
#include "lamella/kernels/cpu/kv_rows_impl.h"
#include "lamella/kernels/cpu/simd_math.h"
#include "lamella/kernels/cpu/tiles_amx.h"

namespace lamella::cpu {
namespace avx512 {
namespace {

constexpr int kPanel = kLanes;  // rows
constexpr int kMostPanels = 64;
constexpr int kTile = 128;  // keys a tile; borders at its multiples
constexpr int kDepth = 32;  // elements that a product of tiles sums
constexpr float kLog2E = 1.44269504f;
// Scores, in powers of two, of keys that are not seen, and the top before any key: so far apart
// that the first always get the weight 0, yet finite.
constexpr float kUnseen = -3e38f, kNoTop = -1e30f;

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// c[row][lane] = c[row][lane] (fresh: 0) + sum over i of a[row][i] * b[i][lane]: rows 16 at a time,
// i kDepth at a time, b as pairs of i.
struct Product {
  const uint16_t* a;
  int64_t a_stride;
  const uint16_t* b;
  int64_t n_steps;
  float* c;
  bool fresh;
};

// Tiles 0 to 3 are sums, 4 to 6 hold a, 7 b. (Tile numbers are literals of the instructions.)
template <int N>
void multiply_tiles(const Product& p) {
  constexpr int64_t kSums = 16 * kPanel, kBytes = kPanel * 4;
  if (p.fresh) {
    _tile_zero(0);
    if constexpr (N > 1) _tile_zero(1);
    if constexpr (N > 2) _tile_zero(2);
    if constexpr (N > 3) _tile_zero(3);
  } else {
    _tile_loadd(0, p.c, kBytes);
    if constexpr (N > 1) _tile_loadd(1, p.c + kSums, kBytes);
    if constexpr (N > 2) _tile_loadd(2, p.c + 2 * kSums, kBytes);
    if constexpr (N > 3) _tile_loadd(3, p.c + 3 * kSums, kBytes);
  }
  const uint16_t *a = p.a, *b = p.b;
  const int64_t rows = 16 * p.a_stride, a_bytes = p.a_stride * 2;
  for (int64_t step = 0; step < p.n_steps; ++step, a += kDepth, b += kDepth * kPanel) {
    _tile_loadd(7, b, kBytes);
    _tile_loadd(4, a, a_bytes);
    if constexpr (N > 1) _tile_loadd(5, a + rows, a_bytes);
    if constexpr (N > 2) _tile_loadd(6, a + 2 * rows, a_bytes);
    _tile_dpbf16ps(0, 4, 7);
    if constexpr (N > 3) _tile_loadd(4, a + 3 * rows, a_bytes);
    if constexpr (N > 1) _tile_dpbf16ps(1, 5, 7);
    if constexpr (N > 2) _tile_dpbf16ps(2, 6, 7);
    if constexpr (N > 3) _tile_dpbf16ps(3, 4, 7);
  }
  _tile_stored(0, p.c, kBytes);
  if constexpr (N > 1) _tile_stored(1, p.c + kSums, kBytes);
  if constexpr (N > 2) _tile_stored(2, p.c + 2 * kSums, kBytes);
  if constexpr (N > 3) _tile_stored(3, p.c + 3 * kSums, kBytes);
}

void multiply(Product p, int64_t n_rows) {
  static constexpr void (*kMultiply[])(const Product&) = {multiply_tiles<1>, multiply_tiles<2>,
                                                          multiply_tiles<3>, multiply_tiles<4>};
  for (int64_t tiles = n_rows / 16; tiles > 0; tiles -= 4) {
    kMultiply[tiles < 4 ? tiles - 1 : 3](p);
    p.a += 64 * p.a_stride;
    p.c += 64 * kPanel;
  }
}

// [low, high] rounded, one behind the other, or in pairs, lane by lane.
__m512i rounded(F low, F high) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high.v, low.v));
}
__m512i rounded_pairs(F low, F high) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(order, rounded(low, high));
}
F as_lanes(__m512i x) { return {_mm512_castsi512_ps(x)}; }

template <class Load>
F load_or_zero(const uint8_t* row, int64_t i, int64_t n) {
  if (!row || i >= n) return zero();
  return Load::at(row, i, n - i < kLanes ? static_cast<int>(n - i) : kLanes);
}

// Rows of keys as they lie, each filled up with zeros to whole steps; null: a row of zeros.
template <KvType type>
void unpack_keys(const uint8_t* const* rows, int64_t n_rows, int64_t n, uint16_t* out) {
  const int64_t stride = round_up(n, kDepth);
  for (int64_t key = 0; key < n_rows; ++key, out += stride) {
    for (int64_t i = 0; i < n; i += kDepth) {
      _mm512_storeu_si512(out + i, rounded(load_or_zero<KvLoadOf<type>>(rows[key], i, n),
                                           load_or_zero<KvLoadOf<type>>(rows[key], i + kLanes, n)));
    }
  }
}

// Rows of values, kDepth at a time, become columns, kTile apart.
template <KvType type>
void unpack_values(const uint8_t* const* rows, int64_t n_rows, int64_t n, uint16_t* out) {
  for (int64_t key = 0; key < n_rows; key += kDepth) {
    for (int64_t i = 0; i < n; i += kLanes) {
      F pairs[kLanes];
      for (int j = 0; j < kLanes; ++j) {
        const uint8_t* const* pair = rows + key + 2 * j;
        pairs[j] = as_lanes(rounded_pairs(load_or_zero<KvLoadOf<type>>(pair[0], i, n),
                                          load_or_zero<KvLoadOf<type>>(pair[1], i, n)));
      }
      transpose(pairs);
      for (int j = 0; j < kLanes; ++j) {
        _mm512_storeu_ps(out + (i + j) * kTile + key, pairs[j].v);
      }
    }
  }
}

using Unpack = void (*)(const uint8_t* const*, int64_t, int64_t, uint16_t*);
struct Unpackers {
  Unpack keys, values;
};
template <KvType type>
constexpr Unpackers kUnpackersOf = {unpack_keys<type>, unpack_values<type>};
constexpr Unpackers kUnpackers[kKvTypes] = {kUnpackersOf<KvType::f32>, kUnpackersOf<KvType::f16>,
                                            kUnpackersOf<KvType::bf16>, kUnpackersOf<KvType::q8_0>,
                                            kUnpackersOf<KvType::q4_0>};

// State of one panel of rows: queries as pairs, outputs transposed, and the running softmax.
struct Panel {
  uint16_t* q;     // [dk / 2][kPanel][2]
  float* y;        // [dv][kPanel]
  F top, total;    // of the rows; total is of weights
  __m512i lo, hi;  // keys seen; lanes without a row see all
  int64_t row0;
  int rows;
  int64_t key_begin, key_end;  // keys that any row sees
  int64_t all_begin, all_end;  // keys that all rows see

  static int64_t bytes(const AttentionMath& math) {
    return round_up(math.dk, kDepth) * kPanel * 2 + round_up(math.dv, 16) * kPanel * 4;
  }
};

void load_queries(const QueryBlock& block, const Panel& p) {
  const int64_t dk = block.math->dk;
  const uint8_t* rows[kPanel];
  for (int lane = 0; lane < kPanel; ++lane) {
    const int64_t query = block.first + (p.row0 + lane) / block.group;
    const int64_t head = (p.row0 + lane) % block.group;
    const float* q = block.q + query * block.q_stride + head * block.q_head_stride;
    rows[lane] = lane < p.rows ? reinterpret_cast<const uint8_t*>(q) : nullptr;
  }
  for (int64_t i = 0; i < dk; i += kDepth) {
    F pairs[kLanes];
    for (int lane = 0; lane < kPanel; ++lane) {
      using Load = KvLoadOf<KvType::f32>;
      pairs[lane] = as_lanes(rounded(load_or_zero<Load>(rows[lane], i, dk),
                                     load_or_zero<Load>(rows[lane], i + kLanes, dk)));
    }
    transpose(pairs);
    for (int j = 0; j < kLanes; ++j) {
      _mm512_storeu_ps(p.q + i * kPanel + j * 2 * kPanel, pairs[j].v);
    }
  }
}

void make_panel(const QueryBlock& block, int64_t row0, std::byte* memory, Panel& p) {
  const AttentionMath& math = *block.math;
  p.q = reinterpret_cast<uint16_t*>(memory);
  p.y = reinterpret_cast<float*>(p.q + round_up(math.dk, kDepth) * kPanel);
  p.top = set1(kNoTop);
  p.total = zero();
  p.row0 = row0;
  const int64_t left = block.rows() - row0;
  p.rows = static_cast<int>(left < kPanel ? left : kPanel);
  p.key_begin = p.all_end = block.n_keys;
  p.key_end = p.all_begin = 0;
  alignas(64) int32_t los[kPanel], his[kPanel];
  for (int lane = 0; lane < kPanel; ++lane) {
    los[lane] = 0;
    his[lane] = std::numeric_limits<int32_t>::max();
    if (lane >= p.rows) continue;
    const int64_t query = block.first + (row0 + lane) / block.group;
    const int64_t lo = block.lo(query), hi = block.hi(query);
    los[lane] = static_cast<int32_t>(lo);
    his[lane] = static_cast<int32_t>(hi);
    if (lo > p.all_begin) p.all_begin = lo;
    if (hi < p.all_end) p.all_end = hi;
    if (lo >= hi) continue;
    if (lo < p.key_begin) p.key_begin = lo;
    if (hi > p.key_end) p.key_end = hi;
  }
  p.lo = _mm512_load_si512(los);
  p.hi = _mm512_load_si512(his);
  for (int64_t i = 0; i < round_up(math.dv, 16); ++i) store(p.y + i * kPanel, zero());
  load_queries(block, p);
}

// 2^x, x from -infinity to 1 or so: within 2^-23.
F power_of_2(F x) {
  const __m512 f = _mm512_reduce_ps(x.v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  F sum = set1(0.0018775767f);
  for (const float c : {0.0089893397f, 0.055826318f, 0.24015361f, 0.69315308f, 0.99999994f}) {
    sum = fma(sum, {f}, set1(c));
  }
  return {_mm512_scalef_ps(sum.v, x.v)};
}

void cap_scores(const AttentionMath& math, int64_t from, int64_t to, float* scores) {
  const F bound = set1(math.soft_cap), scale = set1(math.scale / math.soft_cap);
  for (int64_t key = from; key < to; ++key) {
    store(scores + key * kPanel, bound * tanh(load(scores + key * kPanel) * scale));
  }
}

// Scores [from, to) of the tile times the factor; gives the greatest.
template <bool kMasked>
F scale_scores(const Panel& p, int64_t tile, int64_t from, int64_t to, float factor,
               float* scores) {
  constexpr int kTops = 4;
  F top[kTops];
  for (F& t : top) t = set1(kUnseen);
  const F by = set1(factor), least = set1(kUnseen);
  for (int64_t key = from; key < to; key += kTops) {
    for (int i = 0; i < kTops; ++i) {
      F x = max(least, load(scores + (key + i) * kPanel) * by);
      if constexpr (kMasked) {
        const __m512i at = _mm512_set1_epi32(static_cast<int32_t>(tile + key + i));
        const __mmask16 seen =
            _mm512_mask_cmplt_epi32_mask(_mm512_cmple_epi32_mask(p.lo, at), at, p.hi);
        x = select({seen}, x, least);
      }
      store(scores + (key + i) * kPanel, x);
      top[i] = max(x, top[i]);
    }
  }
  return max(max(top[0], top[1]), max(top[2], top[3]));
}

// Scores [from, to) of the tile become weights in pairs of keys; what was summed before is scaled.
void softmax_tile(const QueryBlock& block, Panel& p, int64_t tile, int64_t from, int64_t to,
                  float* scores, uint16_t* weights) {
  const AttentionMath& math = *block.math;
  if (math.soft_cap > 0) cap_scores(math, from, to, scores);
  const float factor = (math.soft_cap > 0 ? 1 : math.scale) * kLog2E;
  const bool all_seen = tile + from >= p.all_begin && tile + to <= p.all_end;
  const F most =
      (all_seen ? scale_scores<false> : scale_scores<true>)(p, tile, from, to, factor, scores);
  const F top = max(ceil(most), p.top);
  if (const M higher = less(p.top, top); any(higher)) {
    const F by = {_mm512_scalef_ps(set1(1).v, (p.top - top).v)};
    p.total = p.total * by;
    for (int64_t i = 0; i < round_up(math.dv, 16); ++i) {
      store(p.y + i * kPanel, load(p.y + i * kPanel) * by);
    }
    p.top = top;
  }
  const __m512bh ones = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3f80));
  __m512 total = p.total.v;
  for (int64_t key = from; key < to; key += 2) {
    const __m512i pair = rounded_pairs(power_of_2(load(scores + key * kPanel) - top),
                                       power_of_2(load(scores + (key + 1) * kPanel) - top));
    _mm512_storeu_si512(weights + key * kPanel, pair);
    total = _mm512_dpbf16_ps(total, reinterpret_cast<__m512bh>(pair), ones);
  }
  p.total = {total};
}

// Keys and values of a tile, shared by all panels.
struct Tile {
  int64_t key;  // the first
  uint16_t *k, *v;
  float* scores;
  uint16_t* weights;
};

void attend_tile(const QueryBlock& block, Panel& p, const Tile& t) {
  const int64_t from = (p.key_begin > t.key ? p.key_begin - t.key : 0) / kDepth * kDepth;
  const int64_t seen = p.key_end - t.key < kTile ? p.key_end - t.key : kTile;
  const int64_t to = round_up(seen > 0 ? seen : 0, kDepth);
  if (from >= to) return;
  const int64_t dk = round_up(block.math->dk, kDepth), dv = round_up(block.math->dv, 16);
  multiply({t.k + from * dk, dk, p.q, dk / kDepth, t.scores + from * kPanel, true}, to - from);
  softmax_tile(block, p, t.key, from, to, t.scores, t.weights);
  multiply({t.v + from, kTile, t.weights + from * kPanel, (to - from) / kDepth, p.y, false}, dv);
}

// Adding 0 at the end makes a zero positive, whatever signs of zero were added before.
void finish_panel(const QueryBlock& block, const Panel& p) {
  const int64_t dv = block.math->dv;
  F total = p.total, factor = set1(1);
  float* y[kPanel];
  alignas(64) float sinks[kPanel];
  for (int lane = 0; lane < kPanel; ++lane) {
    const int64_t query = block.first + (p.row0 + lane) / block.group;
    const int64_t head = (p.row0 + lane) % block.group;
    y[lane] = block.y + query * block.y_stride + head * block.y_head_stride;
    sinks[lane] = block.sinks && lane < p.rows ? block.sinks[head] : kUnseen;
  }
  if (block.sinks) {
    const F sink = load(sinks) * set1(kLog2E), top = max(ceil(sink), p.top);
    factor = {_mm512_scalef_ps(factor.v, (p.top - top).v)};
    total = total * factor + power_of_2(sink - top);
  }
  factor = select(equal(total, zero()), zero(), factor / total);
  for (int64_t i = 0; i < dv; i += kLanes) {
    F columns[kLanes];
    for (int j = 0; j < kLanes; ++j) {
      columns[j] = load(p.y + (i + j) * kPanel) * factor + zero();
    }
    transpose(columns);
    const int n = dv - i < kLanes ? static_cast<int>(dv - i) : kLanes;
    for (int lane = 0; lane < p.rows; ++lane) store_lanes(y[lane] + i, columns[lane], n);
  }
}

int64_t panels(int64_t rows) { return (rows + kPanel - 1) / kPanel; }

int64_t tile_bytes(const AttentionMath& math) {
  return kTile * (2 * (round_up(math.dk, kDepth) + round_up(math.dv, 16)) + kPanel * 6);
}

int64_t scratch_bytes(const AttentionMath& math, int64_t rows) {
  return tile_bytes(math) +
         panels(rows) * (Panel::bytes(math) + static_cast<int64_t>(sizeof(Panel)));
}

void run(const QueryBlock& block, float* scratch) {
  const AttentionMath& math = *block.math;
  const TileScope scope;
  const int64_t n_panels = panels(block.rows());
  Panel* panel = reinterpret_cast<Panel*>(scratch);
  Tile t;
  t.scores = reinterpret_cast<float*>(panel + n_panels);
  t.weights = reinterpret_cast<uint16_t*>(t.scores + kTile * kPanel);
  t.k = t.weights + kTile * kPanel;
  t.v = t.k + kTile * round_up(math.dk, kDepth);
  auto* memory = reinterpret_cast<std::byte*>(t.v + kTile * round_up(math.dv, 16));
  int64_t begin = block.n_keys, end = 0;
  for (int64_t i = 0; i < n_panels; ++i) {
    make_panel(block, i * kPanel, memory + i * Panel::bytes(math), panel[i]);
    if (panel[i].key_begin < begin) begin = panel[i].key_begin;
    if (panel[i].key_end > end) end = panel[i].key_end;
  }
  for (t.key = begin / kTile * kTile; t.key < end; t.key += kTile) {
    const uint8_t *k[kTile], *v[kTile];
    for (int64_t i = 0; i < kTile; ++i) {
      const bool is_key = t.key + i >= begin && t.key + i < end;
      k[i] = is_key ? block.k.row(t.key + i) : nullptr;
      v[i] = is_key ? block.v.row(t.key + i) : nullptr;
    }
    const int64_t n_keys = end - t.key < kTile ? round_up(end - t.key, kDepth) : kTile;
    kUnpackers[static_cast<int>(block.k.type)].keys(k, n_keys, math.dk, t.k);
    kUnpackers[static_cast<int>(block.v.type)].values(v, n_keys, math.dv, t.v);
    for (int64_t i = 0; i < n_panels; ++i) attend_tile(block, panel[i], t);
  }
  for (int64_t i = 0; i < n_panels; ++i) finish_panel(block, panel[i]);
}

}  // namespace
}  // namespace avx512

constinit const BulkAttention kAmxAttention = {avx512::kPanel, avx512::kMostPanels,
                                               avx512::scratch_bytes, avx512::run};

}  // namespace lamella::cpu
