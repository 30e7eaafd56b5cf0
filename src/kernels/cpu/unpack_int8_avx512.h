// Signed bytes with an f32 scale a block, in two planes, on AVX-512. For files compiled for it
// only.
#pragma once

#include <bit>

#include "lamella/kernels/cpu/unpack_avx512.h"
#include "lamella/quant/int_block.h"

namespace lamella::cpu {
namespace {

template <int kGroup>
struct Int8Unpack : Natural {
  static constexpr std::string_view kName = quant::Int8Block<kGroup, false, float>::kName.view();
  static constexpr int kOffset = 128, kPerSpan = kSpan / kGroup;
  static constexpr bool kPairs = false, kSigned = false, kStarts = true;
  static constexpr const UnitOrder& kUnitOrder = kOfParts;
  using Unit = LaneUnit<1>;
  struct Row {
    const uint8_t *codes, *scales;
    int64_t n_blocks;
    Row(const WeightView& w, int64_t row)
        : codes(w.planes[0] + row * w.row_bytes[0]),
          scales(w.planes[1] + row * w.row_bytes[1]),
          n_blocks(w.n_blocks) {}
    LAMELLA_INLINE void prefetch(int64_t span, int64_t ahead) const {
      cpu::prefetch<Avx512>(codes + span * kSpan + ahead, kSpan);
    }
  };

  explicit Int8Unpack(const WeightView&) {}

  LAMELLA_INLINE inline void unpack_span(const Row& row, int64_t span, Codes& out,
                                         __m512& scales) const {
    const int64_t left = row.n_blocks - span * kPerSpan;
    const int64_t n = (left < kPerSpan ? left : kPerSpan) * kGroup;
    const __m512i raise = _mm512_set1_epi8(static_cast<char>(kOffset));
    for (int i = 0; i < 4; ++i) {
      const __m512i codes =
          _mm512_maskz_loadu_epi8(Partial::mask(n - 64 * i), row.codes + span * kSpan + 64 * i);
      out.v[i] = _mm512_add_epi8(codes, raise);
    }
    // Scale i / (parts a block) in lane i.
    const __m512i block =
        _mm512_srli_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                          std::countr_zero(static_cast<unsigned>(kGroup / 16)));
    const auto known = static_cast<__mmask16>((1u << (n / kGroup)) - 1);
    scales = _mm512_permutexvar_ps(block,
                                   _mm512_maskz_loadu_ps(known, row.scales + span * kPerSpan * 4));
  }
  LAMELLA_INLINE inline void to_unit(const Row& row, int64_t unit, Unit& out) const {
    static constexpr LaneTable kLanes = lane_table(kUnitOrder);
    Codes codes;
    __m512 scales;
    unpack_span(row, unit, codes, scales);
    to_lanes(codes);
    for (int i = 0; i < 4; ++i) out.codes[i] = codes.v[i];
    out.scales = _mm512_permutexvar_ps(_mm512_load_si512(kLanes.lane), scales);
  }
  void to_panel(const Row& row, int64_t span, uint8_t* out, float* scales, float*) const {
    Codes codes;
    __m512 packed;
    unpack_span(row, span, codes, packed);
    store(codes, out);
    _mm512_storeu_ps(scales, packed);
  }
};

}  // namespace
}  // namespace lamella::cpu
