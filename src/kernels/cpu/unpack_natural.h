// Weights in registers, 256 at a time, for vectors U of 32 bytes or less: the formats whose codes
// come out in natural order. The others go through Format::unpack.
//
// A format is one `unpack`, written with what U says about 32 bytes (U::Bytes) and eight floats
// (U::Eight); FastUnpack makes the rest of it. Everything depends on U, as in unpack_impl.h.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "lamella/kernels/cpu/gemv_impl.h"
#include "lamella/quant/iq4_nl.h"
#include "lamella/quant/mxfp4.h"

namespace lamella::cpu {

template <class U>
struct Codes {
  typename U::Bytes v[8];
};
// Eight scales and eight minimums side by side; or sixteen scales and, apart, sixteen minimums.
template <class U>
struct Scales {
  typename U::Parts scales, mins;
};

// Eight bytes in one number.
template <class U>
uint64_t eight_at(const uint8_t* at) {
  uint64_t bytes;
  __builtin_memcpy(&bytes, at, sizeof bytes);
  return bytes;
}
template <class U>
uint32_t four_at(const uint8_t* at) {
  uint32_t bytes;
  __builtin_memcpy(&bytes, at, sizeof bytes);
  return bytes;
}
// The same byte eight times.
constexpr uint64_t eight_times(uint64_t byte) { return byte * 0x0101010101010101u; }
// Bytes of 6 bits with 32 subtracted, as signed bytes.
template <class U>
uint64_t minus_32(uint64_t bytes) {
  return (bytes + eight_times(96)) ^ eight_times(128);
}

// What most formats are.
struct Plain {
  static constexpr int kOffset = 0;
  static constexpr bool kMins = false, kPairs = true, kPlusMins = false, kSigned = false;
};

template <class U>
struct Q4_0 : Plain {
  static constexpr std::string_view kName = "q4_0";
  static constexpr int kBlock = 32, kBlockBytes = 18, kOffset = 8;

  static void unpack(const uint8_t* at, Codes<U>& codes, Scales<U>& to) {
    each<8>([&](auto b) LAMELLA_INLINE { codes.v[b] = U::halves_at(at + b * 18 + 2); });
    to.scales.half[0] = U::template f16s_at<18>(at);
  }
};

template <class U>
struct Q4_1 : Plain {
  static constexpr std::string_view kName = "q4_1";
  static constexpr int kBlock = 32, kBlockBytes = 20;
  static constexpr bool kMins = true, kPlusMins = true;

  static void unpack(const uint8_t* at, Codes<U>& codes, Scales<U>& to) {
    each<8>([&](auto b) LAMELLA_INLINE { codes.v[b] = U::halves_at(at + b * 20 + 4); });
    to.scales.half[0] = U::template f16s_at<20>(at);
    to.scales.half[1] = U::template f16s_at<20>(at + 2);
  }
};

// 32 fifth bits, then 16 bytes of low halves.
template <class U>
LAMELLA_INLINE inline typename U::Bytes five_bits_at(const uint8_t* at) {
  return U::either(U::halves_at(at + 4), U::both(U::bits_at(at), U::fill(16)));
}

template <class U>
struct Q5_0 : Plain {
  static constexpr std::string_view kName = "q5_0";
  static constexpr int kBlock = 32, kBlockBytes = 22, kOffset = 16;

  static void unpack(const uint8_t* at, Codes<U>& codes, Scales<U>& to) {
    each<8>([&](auto b) LAMELLA_INLINE { codes.v[b] = five_bits_at<U>(at + b * 22 + 2); });
    to.scales.half[0] = U::template f16s_at<22>(at);
  }
};

template <class U>
struct Q5_1 : Plain {
  static constexpr std::string_view kName = "q5_1";
  static constexpr int kBlock = 32, kBlockBytes = 24;
  static constexpr bool kMins = true, kPlusMins = true;

  static void unpack(const uint8_t* at, Codes<U>& codes, Scales<U>& to) {
    each<8>([&](auto b) LAMELLA_INLINE { codes.v[b] = five_bits_at<U>(at + b * 24 + 4); });
    to.scales.half[0] = U::template f16s_at<24>(at);
    to.scales.half[1] = U::template f16s_at<24>(at + 2);
  }
};

template <class U>
struct Q8_0 : Plain {
  static constexpr std::string_view kName = "q8_0";
  static constexpr int kBlock = 32, kBlockBytes = 34;
  static constexpr bool kSigned = true;

  static void unpack(const uint8_t* at, Codes<U>& codes, Scales<U>& to) {
    each<8>([&](auto b) LAMELLA_INLINE { codes.v[b] = U::bytes_at(at + b * 34 + 2); });
    to.scales.half[0] = U::template f16s_at<34>(at);
  }
};

template <class U>
struct Q8_K : Plain {
  static constexpr std::string_view kName = "q8_k";
  static constexpr int kBlock = 256, kBlockBytes = 292;
  static constexpr bool kSigned = true;

  static void unpack(const uint8_t* at, Codes<U>& codes, Scales<U>& to) {
    each<8>([&](auto b) LAMELLA_INLINE { codes.v[b] = U::bytes_at(at + b * 32 + 4); });
    float d;
    __builtin_memcpy(&d, at, sizeof d);
    to.scales.half[0] = U::spread(d);
  }
};

template <class U>
struct IQ4_NL : Plain {
  static constexpr std::string_view kName = "iq4_nl";
  static constexpr int kBlock = 32, kBlockBytes = 18;
  static constexpr bool kSigned = true;

  static void unpack(const uint8_t* at, Codes<U>& codes, Scales<U>& to) {
    each<8>([&](auto b) LAMELLA_INLINE {
      codes.v[b] = U::look_up(quant::kIq4Values, 0, U::halves_at(at + b * 18 + 2));
    });
    to.scales.half[0] = U::template f16s_at<18>(at);
  }
};

template <class U>
struct MXFP4 : Plain {
  static constexpr std::string_view kName = "mxfp4";
  static constexpr int kBlock = 32, kBlockBytes = 17, kOffset = 12;

  static void unpack(const uint8_t* at, Codes<U>& codes, Scales<U>& to) {
    uint64_t exponents = 0;
    each<8>([&](auto b) LAMELLA_INLINE {
      codes.v[b] = U::look_up(quant::kFp4Values, kOffset, U::halves_at(at + b * 17 + 1));
      exponents |= uint64_t{at[b * 17]} << 8 * b;
    });
    to.scales.half[0] = U::half_powers(exponents);
  }
};

template <class U>
struct NVFP4 : Plain {
  static constexpr std::string_view kName = "nvfp4";
  static constexpr int kBlock = 64, kBlockBytes = 36, kOffset = 12;
  static constexpr bool kPairs = false;

  static void unpack(const uint8_t* at, Codes<U>& codes, Scales<U>& to) {
    each<8>([&](auto b) LAMELLA_INLINE {
      const uint8_t* halves = at + b / 2 * 36 + 4 + b % 2 * 16;
      codes.v[b] = U::look_up(quant::kFp4Values, kOffset, U::halves_by_8_at(halves));
    });
    each<2>([&](auto i) LAMELLA_INLINE {
      const uint64_t low = four_at<U>(at + i * 72), high = four_at<U>(at + i * 72 + 36);
      to.scales.half[i] = U::half_e4m3(low | high << 32);
    });
  }
};

template <class U>
struct Q1_0 : Plain {
  static constexpr std::string_view kName = "q1_0";
  static constexpr int kBlock = 128, kBlockBytes = 18, kOffset = 1;

  static void unpack(const uint8_t* at, Codes<U>& codes, Scales<U>& to) {
    each<8>([&](auto b) LAMELLA_INLINE {
      codes.v[b] = U::both(U::bits_at(at + b / 4 * 18 + 2 + b % 4 * 4), U::fill(2));
    });
    to.scales.half[0] = U::template f16s_at<18, 4>(at);
  }
};

template <class U>
struct Q2_0 : Plain {
  static constexpr std::string_view kName = "q2_0";
  static constexpr int kBlock = 64, kBlockBytes = 18, kOffset = 1;

  static void unpack(const uint8_t* at, Codes<U>& codes, Scales<U>& to) {
    each<8>([&](auto b)
                LAMELLA_INLINE { codes.v[b] = U::quarters_at(at + b / 2 * 18 + 2 + b % 2 * 8); });
    to.scales.half[0] = U::template f16s_at<18, 2>(at);
  }
};

// Bits 2 t and 2 t + 1 of 32 bytes are codes 32 t to 32 t + 31 of each 128.
template <class U>
LAMELLA_INLINE inline void two_bits_at(const uint8_t* at, Codes<U>& codes) {
  const auto mask = U::fill(3);
  each<2>([&](auto half) LAMELLA_INLINE {
    const auto bytes = U::bytes_at(at + 32 * half);
    codes.v[4 * half] = U::both(bytes, mask);
    codes.v[4 * half + 1] = U::both(U::template shift<-2>(bytes), mask);
    codes.v[4 * half + 2] = U::both(U::template shift<-4>(bytes), mask);
    codes.v[4 * half + 3] = U::both(U::template shift<-6>(bytes), mask);
  });
}

template <class U>
struct TQ2_0 : Plain {
  static constexpr std::string_view kName = "tq2_0";
  static constexpr int kBlock = 256, kBlockBytes = 66, kOffset = 1;

  static void unpack(const uint8_t* at, Codes<U>& codes, Scales<U>& to) {
    two_bits_at<U>(at, codes);
    to.scales.half[0] = U::spread(U::f16_at(at + 64));
  }
};

template <class U>
struct Q2_K : Plain {
  static constexpr std::string_view kName = "q2_k";
  static constexpr int kBlock = 256, kBlockBytes = 84;
  static constexpr bool kMins = true, kPairs = false;

  static void unpack(const uint8_t* at, Codes<U>& codes, Scales<U>& to) {
    two_bits_at<U>(at + 16, codes);
    const auto d = U::spread(U::f16_at(at + 80)), dmin = U::spread(U::f16_at(at + 82));
    each<2>([&](auto i) LAMELLA_INLINE {
      const uint64_t packed = eight_at<U>(at + 8 * i), mask = eight_times(15);
      to.scales.half[i] = U::times(U::from_u8(packed & mask), d);
      to.mins.half[i] = U::times(U::from_u8(packed >> 4 & mask), dmin);
    });
  }
};

template <class U>
struct Q3_K : Plain {
  static constexpr std::string_view kName = "q3_k";
  static constexpr int kBlock = 256, kBlockBytes = 110, kOffset = 4;
  static constexpr bool kPairs = false;

  static void unpack(const uint8_t* at, Codes<U>& codes, Scales<U>& to) {
    two_bits_at<U>(at + 32, codes);
    const auto high = U::bytes_at(at), four = U::fill(4);
    each<8>([&](auto i) LAMELLA_INLINE {
      codes.v[i] = U::either(codes.v[i], U::both(U::template shift<2 - i>(high), four));
    });
    // Low four bits in the halves of eight bytes; top two in the quarters of four.
    const uint64_t low = eight_at<U>(at + 96), top = four_at<U>(at + 104);
    const auto d = U::spread(U::f16_at(at + 108));
    each<2>([&](auto i) LAMELLA_INLINE {
      const uint64_t two = (top >> 4 * i & 0x03030303u) | (top >> (4 * i + 2) & 0x03030303u) << 32;
      const uint64_t six = (low >> 4 * i & eight_times(15)) | two << 4;
      to.scales.half[i] = U::times(U::from_i8(minus_32<U>(six)), d);
    });
  }
};

// Eight 6-bit (scale, minimum) in 12 bytes (quant/k_scales.h), times the two f16 in front.
template <class U>
LAMELLA_INLINE inline void k_scales_at(const uint8_t* at, Scales<U>& to) {
  const uint32_t a = four_at<U>(at + 4), b = four_at<U>(at + 8), c = four_at<U>(at + 12);
  const uint32_t scales = (c & 0x0f0f0f0fu) | (a >> 2 & 0x30303030u);
  const uint32_t mins = (c >> 4 & 0x0f0f0f0fu) | (b >> 2 & 0x30303030u);
  to.scales.half[0] =
      U::times(U::from_u8((a & 0x3f3f3f3fu) | uint64_t{scales} << 32), U::spread(U::f16_at(at)));
  to.scales.half[1] =
      U::times(U::from_u8((b & 0x3f3f3f3fu) | uint64_t{mins} << 32), U::spread(U::f16_at(at + 2)));
}

template <class U>
struct Q4_K : Plain {
  static constexpr std::string_view kName = "q4_k";
  static constexpr int kBlock = 256, kBlockBytes = 144;
  static constexpr bool kMins = true;

  static void unpack(const uint8_t* at, Codes<U>& codes, Scales<U>& to) {
    each<4>([&](auto c) LAMELLA_INLINE {
      const auto bytes = U::bytes_at(at + 16 + c * 32);
      codes.v[2 * c] = U::low4(bytes);
      codes.v[2 * c + 1] = U::high4(bytes);
    });
    k_scales_at<U>(at, to);
  }
};

template <class U>
struct Q5_K : Plain {
  static constexpr std::string_view kName = "q5_k";
  static constexpr int kBlock = 256, kBlockBytes = 176;
  static constexpr bool kMins = true;

  static void unpack(const uint8_t* at, Codes<U>& codes, Scales<U>& to) {
    const auto fifth = U::bytes_at(at + 16), sixteen = U::fill(16);
    each<4>([&](auto c) LAMELLA_INLINE {
      const auto bytes = U::bytes_at(at + 48 + c * 32);
      codes.v[2 * c] = U::low4(bytes);
      codes.v[2 * c + 1] = U::high4(bytes);
    });
    each<8>([&](auto i) LAMELLA_INLINE {
      codes.v[i] = U::either(codes.v[i], U::both(U::template shift<4 - i>(fifth), sixteen));
    });
    k_scales_at<U>(at, to);
  }
};

template <class U>
struct Q6_K : Plain {
  static constexpr std::string_view kName = "q6_k";
  static constexpr int kBlock = 256, kBlockBytes = 210, kOffset = 32;
  static constexpr bool kPairs = false;

  static void unpack(const uint8_t* at, Codes<U>& codes, Scales<U>& to) {
    const auto top = U::fill(0x30);
    each<2>([&](auto half) LAMELLA_INLINE {
      const auto a = U::bytes_at(at + 64 * half), b = U::bytes_at(at + 64 * half + 32);
      const auto high = U::bytes_at(at + 128 + 32 * half);
      codes.v[4 * half] = U::either(U::low4(a), U::both(U::template shift<4>(high), top));
      codes.v[4 * half + 1] = U::either(U::low4(b), U::both(U::template shift<2>(high), top));
      codes.v[4 * half + 2] = U::either(U::high4(a), U::both(high, top));
      codes.v[4 * half + 3] = U::either(U::high4(b), U::both(U::template shift<-2>(high), top));
    });
    const auto d = U::spread(U::f16_at(at + 208));
    each<2>([&](auto i) LAMELLA_INLINE {
      to.scales.half[i] = U::times(U::from_i8(eight_at<U>(at + 192 + 8 * i)), d);
    });
  }
};

template <class U>
struct IQ4_XS : Plain {
  static constexpr std::string_view kName = "iq4_xs";
  static constexpr int kBlock = 256, kBlockBytes = 136;
  static constexpr bool kSigned = true;

  static void unpack(const uint8_t* at, Codes<U>& codes, Scales<U>& to) {
    each<8>([&](auto b) LAMELLA_INLINE {
      codes.v[b] = U::look_up(quant::kIq4Values, 0, U::halves_at(at + 8 + b * 16));
    });
    // Eight halves, and eight quarters, to a byte each.
    uint64_t low = four_at<U>(at + 4), top = four_at<U>(at) >> 16;
    low = (low | low << 16) & 0x0000ffff0000ffffu;
    low = (low | low << 8) & 0x00ff00ff00ff00ffu;
    low = (low | low << 4) & eight_times(15);
    top = (top | top << 24) & 0x000000ff000000ffu;
    top = (top | top << 12) & 0x000f000f000f000fu;
    top = (top | top << 6) & eight_times(3);
    to.scales.half[0] = U::times(U::from_i8(minus_32<U>(low | top << 4)), U::spread(U::f16_at(at)));
  }
};

// What the products want, from one of the formats above.
template <class U, class Format>
struct FastUnpack : Format {
  static constexpr bool kStarts = Format::kOffset != 0;
  static constexpr int kVectors = 32 / U::kBytes;  // that 32 codes take
  static constexpr int kChain = Format::kPairs ? kVectors : 1;
  struct Span {
    typename U::I codes[8 * kVectors];
    typename U::Parts scales, mins;
  };

  static constexpr int kPerSpan = kSpan / Format::kBlock;
  static constexpr int kBytes = kPerSpan * Format::kBlockBytes;
  struct Row {
    const uint8_t* at;
    int64_t n_blocks;
    Row(const WeightView& w, int64_t row)
        : at(w.planes[0] + row * w.row_bytes[0]), n_blocks(w.n_blocks) {}
    LAMELLA_INLINE void prefetch(int64_t span, int64_t ahead) const {
      cpu::prefetch<U>(at + span * kBytes + ahead, kBytes);
    }
  };

  explicit FastUnpack(const WeightView&) {}

  static LAMELLA_INLINE inline void unpack_span(const Row& row, int64_t span, Codes<U>& codes,
                                                Scales<U>& scales) {
    const uint8_t* at = row.at + span * kBytes;
    if (kPerSpan > 1 && (span + 1) * kPerSpan > row.n_blocks) [[unlikely]] {
      uint8_t last[kBytes] = {};
      std::memcpy(last, at,
                  static_cast<size_t>((row.n_blocks - span * kPerSpan) * Format::kBlockBytes));
      Format::unpack(last, codes, scales);
    } else {
      Format::unpack(at, codes, scales);
    }
  }
  static LAMELLA_INLINE inline void to_registers(const Row& row, int64_t span, Span& out) {
    Codes<U> codes;
    Scales<U> scales;
    unpack_span(row, span, codes, scales);
    each<8>([&](auto i) LAMELLA_INLINE {
      each<kVectors>([&](auto v)
                         LAMELLA_INLINE { out.codes[i * kVectors + v] = U::ints(codes.v[i], v); });
    });
    out.scales = scales.scales;
    if (Format::kMins && !Format::kPairs) out.mins = scales.mins;
  }
  static void to_panel(const Row& row, int64_t span, uint8_t* out, float* scales, float* mins) {
    Codes<U> codes;
    Scales<U> packed{};
    unpack_span(row, span, codes, packed);
    each<8>([&](auto i) LAMELLA_INLINE { U::store_bytes(out + 32 * i, codes.v[i]); });
    U::store_eight(scales, packed.scales.half[0]);
    if constexpr (!Format::kPairs) U::store_eight(scales + 8, packed.scales.half[1]);
    if constexpr (Format::kMins && Format::kPairs) {
      const auto sign = U::spread(Format::kPlusMins ? -1.0f : 1.0f);
      U::store_eight(mins, U::times(packed.scales.half[1], sign));
    } else if constexpr (Format::kMins) {
      U::store_eight(mins, packed.mins.half[0]);
      U::store_eight(mins + 8, packed.mins.half[1]);
    }
  }
};

template <class U, class Format>
MatmulKernel fast_kernel() {
  return kernel_of<U, FastUnpack<U, Format>>(Format::kOffset);
}

template <class U>
struct FormatRow {
  std::string_view name;
  MatmulKernel (*kernel)();
};
template <class U, class... Format>
constexpr std::array<FormatRow<U>, sizeof...(Format)> format_rows() {
  return {{{Format::kName, fast_kernel<U, Format>}...}};
}

template <class U>
MatmulKernel natural_kernel(const quant::Format& w) {
  constexpr auto kRows = format_rows<U, IQ4_NL<U>, IQ4_XS<U>, MXFP4<U>, NVFP4<U>, Q1_0<U>, Q2_0<U>,
                                     Q2_K<U>, Q3_K<U>, Q4_0<U>, Q4_1<U>, Q4_K<U>, Q5_0<U>, Q5_1<U>,
                                     Q5_K<U>, Q6_K<U>, Q8_0<U>, Q8_K<U>, TQ2_0<U>>();
  for (const FormatRow<U>& row : kRows) {
    if (row.name == w.name) return row.kernel();
  }
  return generic_kernel<U>(w);
}

}  // namespace lamella::cpu
