// Decode products over vectors U: lanes are elements of k, weights are streamed once for up to
// kDecodeRows rows of x.
//
// Encoded x, one row of weights, per span: lane sums of four products (as many as `chain` vectors
// give) are converted and multiplied by (scale of w * scale of x) into two accumulators in turn;
// minimums * sums(x) are subtracted from the second. In the formats that have `kPairs`, scales and
// minimums are eight each, side by side in one vector, and so are the scales and sums of x: one
// multiplication gives both products. Lanes are added at the end of the row.
#pragma once

#include <cstdint>

#include "lamella/kernels/cpu/gemm_impl.h"
#include "lamella/kernels/cpu/matmul_kernels.h"
#include "lamella/kernels/cpu/unpack_impl.h"

namespace lamella::cpu {

// What the span adds to the two accumulators of one row of x; `at`: its number among x's spans.
template <class U, class Unpack>
LAMELLA_INLINE inline void add_lane_sums(const typename Unpack::Span& w, const DecodeX& x,
                                         int64_t at, typename U::F (&sum)[2]) {
  using I = typename U::I;
  constexpr int kSums = kSpan / U::kBytes / Unpack::kChain;
  const auto scales = U::mul_parts(w.scales, U::load_parts(x.scales + at * kSpanParts));
  const int8_t* codes = x.codes + at * kSpan;
  each<kSums>([&](auto i) LAMELLA_INLINE {
    I dot = Unpack::kStarts ? U::load_ints(x.starts + at * kSums * U::kLanes + i * U::kLanes)
                            : U::zero_ints();
    each<Unpack::kChain>([&](auto c) LAMELLA_INLINE {
      constexpr int kVector = i * Unpack::kChain + c;
      dot = U::template dot_at<Unpack::kSigned>(dot, w.codes[kVector], codes + kVector * U::kBytes);
    });
    sum[i % 2] = U::fma(U::convert(dot), U::template pick<Unpack, i>(scales), sum[i % 2]);
  });
  if constexpr (Unpack::kMins && Unpack::kPairs) {
    sum[1] = U::template add_mins<Unpack::kPlusMins>(scales, sum[1]);
  } else if constexpr (Unpack::kMins) {
    sum[1] = U::subtract_parts(w.mins, U::load_parts(x.sums + at * kSpanParts), sum[1]);
  }
}

template <class U, class Unpack, int kRows>
[[gnu::noinline]] void decode_few(const DecodeArgs& a, int64_t first) {
  using F = typename U::F;
  const DecodeX x = *a.x;
  const Unpack unpack(*a.w);
  for (int64_t row = 0; row < a.n_rows; ++row) {
    const typename Unpack::Row w_row(*a.w, a.row + row);
    F sum[kRows][2];
    each<kRows>([&](auto r) LAMELLA_INLINE { sum[r][0] = sum[r][1] = U::zero(); });
    for (int64_t span = 0; span < x.n_spans; ++span) {
      typename Unpack::Span w;
      w_row.prefetch(span, kAhead);
      unpack.to_registers(w_row, span, w);
      each<kRows>([&](auto r) LAMELLA_INLINE {
        add_lane_sums<U, Unpack>(w, x, (first + r) * x.n_spans + span, sum[r]);
      });
    }
    each<kRows>([&](auto r) LAMELLA_INLINE {
      a.c[(first + r) * a.ldc + row] = U::sum(U::add(sum[r][0], sum[r][1]));
    });
  }
}

template <class U, class Unpack>
void decode_encoded(const DecodeArgs& a) {
  int64_t first = 0;
  for (; first + 4 <= a.m; first += 4) decode_few<U, Unpack, 4>(a, first);
  switch (a.m - first) {
    case 1:
      return decode_few<U, Unpack, 1>(a, first);
    case 2:
      return decode_few<U, Unpack, 2>(a, first);
    case 3:
      return decode_few<U, Unpack, 3>(a, first);
    default:
      return;
  }
}

// What the kernel multiplies: the format's codes, none below 0; codes raised by -min_code; signed
// codes (where the dot product of wide unsigned codes would overflow).
enum class CodeRange { plain, raised, is_signed };

// Any format, by Format::unpack.
template <class U, bool kHasMins, CodeRange kCodes>
struct GenericUnpack {
  static constexpr bool kMins = kHasMins, kPairs = false;
  static constexpr bool kSigned = kCodes == CodeRange::is_signed;
  static constexpr bool kStarts = kCodes == CodeRange::raised;
  static constexpr int kChain = 1;

  struct Span {
    typename U::I codes[kSpan / U::kBytes];
    typename U::Parts scales, mins;
  };

  struct Row {
    const WeightView* w;
    int64_t index;
    Row(const WeightView& weights, int64_t row) : w(&weights), index(row) {}
    // What lies `ahead` bytes behind a span.
    void prefetch(int64_t span, int64_t ahead) const {
      const int n_blocks = kSpan / w->format->block;
      for (int p = 0; p < w->format->n_planes; ++p) {
        const int64_t bytes = n_blocks * w->format->planes[p].block_bytes;
        cpu::prefetch<U>(w->planes[p] + index * w->row_bytes[p] + span * bytes + ahead, bytes);
      }
    }
  };

  explicit GenericUnpack(const WeightView&) {}

  static void to_panel(const Row& row, int64_t span, uint8_t* codes, float* scales, float* mins) {
    const WeightView& w = *row.w;
    unpack_generic<U>(w, row.index, span, kStarts ? -w.format->min_code : 0, codes, scales, mins);
  }
  static void to_registers(const Row& row, int64_t span, Span& out) {
    RowSpan<U> s;
    to_panel(row, span, s.codes, s.scales, s.mins);
    for (int i = 0; i < kSpan / U::kBytes; ++i) {
      out.codes[i] = U::load_ints(s.codes + i * U::kBytes);
    }
    out.scales = U::load_parts(s.scales);
    if (kMins) out.mins = U::load_parts(s.mins);
  }
};

// What any decode kernel of the unpacker shares.
template <class U, class Unpack>
MatmulKernel bulk_kernel(int offset) {
  MatmulKernel kernel;
  kernel.wish.encoded = true;
  kernel.wish.offset = offset;
  kernel.wish.pairs = Unpack::kPairs;
  kernel.bulk = bulk_encoded<U, Unpack>;
  kernel.unpack = unpack_rows<U, Unpack>;
  return kernel;
}

template <class U, class Unpack>
MatmulKernel kernel_of(int offset) {
  MatmulKernel kernel = bulk_kernel<U, Unpack>(offset);
  kernel.wish.chain = Unpack::kChain;
  kernel.wish.vector = U::kBytes;
  kernel.decode = decode_encoded<U, Unpack>;
  return kernel;
}

template <class U>
MatmulKernel generic_kernel(const quant::Format& w) {
  const int offset = -w.min_code;
  if (offset == 0) {
    return w.has_min ? kernel_of<U, GenericUnpack<U, true, CodeRange::plain>>(0)
                     : kernel_of<U, GenericUnpack<U, false, CodeRange::plain>>(0);
  }
  if constexpr (U::kMaxUnsignedCode < 255) {
    if (w.max_code + offset > U::kMaxUnsignedCode) {
      return w.has_min ? kernel_of<U, GenericUnpack<U, true, CodeRange::is_signed>>(0)
                       : kernel_of<U, GenericUnpack<U, false, CodeRange::is_signed>>(0);
    }
  }
  return w.has_min ? kernel_of<U, GenericUnpack<U, true, CodeRange::raised>>(offset)
                   : kernel_of<U, GenericUnpack<U, false, CodeRange::raised>>(offset);
}

}  // namespace lamella::cpu
