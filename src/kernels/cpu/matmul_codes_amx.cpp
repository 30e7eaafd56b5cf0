// Products of codes by AMX tiles, of weights with at most two scales a span and no minimums. A tile
// of weights is 16 rows of 64 codes as they lie in the panel; a tile of x is 16 fours of codes of
// 16 rows, as prepared; products come out with lanes = rows of x.
#include "lamella/kernels/cpu/each.h"
#include "lamella/kernels/cpu/gemm_panels_impl.h"
#include "lamella/kernels/cpu/tiles_amx.h"

namespace lamella::cpu {
namespace {

constexpr int kTile = 16, kSteps = kSpan / 64;

using SumTile = int32_t[kTile][kTile];

// 16 rows of weights with 32 of x, one span. A unit's sums are stored behind the products of the
// unit after it, and scaled between the products of the one after that: so no product waits for
// a store, and vectors have work while tiles multiply.
struct Unit {
  const int8_t *w, *x[2];
  const int8_t* next_x[2];  // to ask for
  const float *w_scales, *x_scales[2];
  float* c[2];  // [16][16]
  bool fresh;   // c begins with 0
};

struct alignas(64) CodePanel {
  int8_t codes[kPanelRows][kSpan];
  float scales[kPanelRows][kSpanParts];
  float mins[kPanelRows][kSpanParts];  // of no use here
  SumTile sums[2][2][2] = {};          // [unit, even or odd][fold][tile of x]
  float nowhere[kTile][kTile] = {};    // products that nobody wants
};

// Lines of each tile of x asked for in a step, so that the next two are there after a panel.
constexpr int kLinesAhead = ceil_div(kTile * kSpan / 64, kPanelRows / kTile * kSteps);

// Tiles 0 and 1 are one set of sums, 2 and 3 the other. (Numbers of tiles are literals.)
template <int kSet>
void clear_sums() {
  if constexpr (kSet == 0) {
    _tile_zero(0);
    _tile_zero(1);
  } else {
    _tile_zero(2);
    _tile_zero(3);
  }
}

template <int kSet>
void store_sums(SumTile* sums) {
  if constexpr (kSet == 0) {
    _tile_stored(0, sums[0], 64);
    _tile_stored(1, sums[1], 64);
  } else {
    _tile_stored(2, sums[0], 64);
    _tile_stored(3, sums[1], 64);
  }
}

template <int kSet>
void multiply_step(const Unit& u, int step) {
  _tile_loadd(4, u.w + step * 64, kSpan);
  _tile_loadd(5, u.x[0] + step * kTile * 64, 64);
  _tile_loadd(6, u.x[1] + step * kTile * 64, 64);
  if constexpr (kSet == 0) {
    _tile_dpbssd(0, 4, 5);
    _tile_dpbssd(1, 4, 6);
  } else {
    _tile_dpbssd(2, 4, 5);
    _tile_dpbssd(3, 4, 6);
  }
}

// Rows [row, row + 8) of the products with one tile of x, in the order of multiply_tile.
template <int kFolds>
void scale_sums(const Unit& u, const SumTile (&sums)[2][2], int tile, int row) {
  const __m512 x_scale = _mm512_loadu_ps(u.x_scales[tile]);
  float* c = u.c[tile] + row * kTile;
  each<8>([&](auto r) LAMELLA_INLINE {
    __m512 part = _mm512_setzero_ps();
    for (int f = 0; f < kFolds; ++f) {
      const __m512 sum = _mm512_cvtepi32_ps(_mm512_load_si512(sums[f][tile][row + r]));
      const float w_scale = u.w_scales[(row + r) * kSpanParts + f * (kSpanParts / kFolds)];
      part = _mm512_fmadd_ps(sum, _mm512_set1_ps(w_scale), part);
    }
    const __m512 old = u.fresh ? _mm512_setzero_ps() : _mm512_loadu_ps(c + r * kTile);
    _mm512_storeu_ps(c + r * kTile, _mm512_fmadd_ps(part, x_scale, old));
  });
}

// Products of unit `u`, sums of `last`, scales of the one before, `old`. kOdd: u is an odd one.
template <int kFolds, int kOdd>
[[gnu::noinline]] void run_unit(const Unit& u, const Unit& old, SumTile (&sums)[2][2][2]) {
  constexpr int kSet = kFolds == 1 ? kOdd : 0, kFoldSteps = kSteps / kFolds;
  const auto step = [&]<int kOf>(int s) LAMELLA_INLINE {
    multiply_step<kOf>(u, s);
    for (int line = 0; line < kLinesAhead; ++line) {
      for (const int8_t* next : u.next_x)
        _mm_prefetch(next + (s * kLinesAhead + line) * 64, _MM_HINT_T0);
    }
    scale_sums<kFolds>(old, sums[kOdd], s / 2, s % 2 * 8);
  };
  clear_sums<kSet>();
  each<kFoldSteps>([&](auto s) LAMELLA_INLINE { step.template operator()<kSet>(s); });
  store_sums<1 - kSet>(sums[1 - kOdd][kFolds - 1]);
  if constexpr (kFolds == 2) {
    clear_sums<1>();
    each<kFoldSteps>([&](auto s) LAMELLA_INLINE { step.template operator()<1>(kFoldSteps + s); });
    store_sums<0>(sums[kOdd][0]);
  }
}

// The sums of the last unit and the scales of the last two.
template <int kFolds, int kOdd>
void end_units(const Unit& last, const Unit& old, SumTile (&sums)[2][2][2]) {
  store_sums<kFolds == 1 ? kOdd : 1>(sums[kOdd][kFolds - 1]);
  for (int s = 0; s < kSteps; ++s) scale_sums<kFolds>(old, sums[1 - kOdd], s / 2, s % 2 * 8);
  for (int s = 0; s < kSteps; ++s) scale_sums<kFolds>(last, sums[kOdd], s / 2, s % 2 * 8);
}

struct AmxInt8 {
  using Scope = TileScope;
  using Panel = CodePanel;
  static constexpr int kRows = kTile, kTileRows = kTile, kXBytes = 1;

  static void pad(Panel& panel, int from, int to) {
    std::memset(panel.codes[from], 0, static_cast<size_t>(to - from) * sizeof panel.codes[0]);
    std::memset(panel.scales[from], 0, static_cast<size_t>(to - from) * sizeof panel.scales[0]);
  }

  static void fill(const BulkArgs& a, int64_t row, int n_rows, int64_t span, Panel& panel) {
    auto* codes = reinterpret_cast<uint8_t*>(panel.codes[0]);
    a.unpack(*a.w, row, n_rows, span, {codes, panel.scales[0], panel.mins[0]});
    if (a.offset == 0) return;
    const __m512i raised_by = _mm512_set1_epi8(static_cast<char>(a.offset));
    for (int64_t i = 0; i < int64_t{n_rows} * kSpan; i += 64) {
      _mm512_store_si512(codes + i, _mm512_sub_epi8(_mm512_load_si512(codes + i), raised_by));
    }
  }

  template <int kFolds>
  static void multiply_folds(const BulkArgs& a, Panel& panel, int n_rows, int64_t span, float* c,
                             const RowsAhead& ahead) {
    const BulkX& x = *a.x;
    const int64_t n_tiles = a.tile_end - a.tile_begin, n_pairs = ceil_div(n_tiles, 2);
    const auto span_of = [&](int64_t tile, int64_t s) {
      return (a.tile_begin + tile) * x.n_spans + s;  // each is of 16 rows
    };
    const Unit none{.w = nullptr,
                    .x = {},
                    .next_x = {},
                    .w_scales = panel.scales[0],
                    .x_scales = {panel.nowhere[0], panel.nowhere[0]},
                    .c = {panel.nowhere[0], panel.nowhere[0]},
                    .fresh = true};
    Unit units[2] = {none, none};
    int odd = 1;
    for (int64_t pair = 0; pair < n_pairs; ++pair) {
      ask_rows(ahead, pair, n_pairs);
      Unit u = none;
      u.fresh = span == 0;
      for (int i = 0; i < 2; ++i) {
        const bool known = pair * 2 + i < n_tiles;
        const int64_t tile = pair * 2 + (known ? i : 0);
        u.x[i] = x.codes + span_of(tile, span) * kTile * kSpan;
        u.x_scales[i] = x.scales + span_of(tile, span) * kTile;
        if (known) u.c[i] = c + tile * kPanelRows * kTile;
        const bool again = tile + 2 >= n_tiles;  // from the first tile on
        u.next_x[i] = x.codes + span_of(again ? i : tile + 2, span + again) * kTile * kSpan;
      }
      for (int row = 0; row < n_rows; row += kTile) {
        odd = 1 - odd;
        const Unit old = units[odd];
        u.w = panel.codes[row];
        u.w_scales = panel.scales[row];
        units[odd] = u;
        (odd ? run_unit<kFolds, 1> : run_unit<kFolds, 0>)(u, old, panel.sums);
        for (const int8_t*& next : u.next_x) next += kSteps * kLinesAhead * 64;
        for (float*& products : u.c) {
          if (products != panel.nowhere[0]) products += kTile * kTile;
        }
      }
    }
    (odd ? end_units<kFolds, 1> : end_units<kFolds, 0>)(units[odd], units[1 - odd], panel.sums);
  }

  static void multiply(const BulkArgs& a, Panel& panel, int n_rows, int64_t span, float* c,
                       const RowsAhead& ahead) {
    (a.x->n_folds == 1 ? multiply_folds<1> : multiply_folds<2>)(a, panel, n_rows, span, c, ahead);
  }
};

}  // namespace

constinit const BulkKernel kAmxInt8 = bulk_panels<AmxInt8>;

}  // namespace lamella::cpu
