// tq1_0: 256 elements in 54 bytes, d (q - 1), q ternary.
//   48 bytes of five trits each, 4 bytes of four, f16 d. A byte is its trits, the first one
//   leading, as a fraction of 3^5 scaled to 256 and rounded up: 3 times it leaves a trit above 256
//   and the others below. The bytes come in runs of 32, 16 and 4; trit t of byte m of a run is
//   element t * run + m of that run.
#pragma once

#include "lamella/quant/block.h"
#include "lamella/quant/tq2_0.h"

namespace lamella::quant {

struct TQ1_0 {
  static constexpr Format format{.name = "tq1_0",
                                 .gguf_type = 34,
                                 .block = 256,
                                 .group = 256,
                                 .min_code = -1,
                                 .max_code = 1,
                                 .planes = {{{"blocks", 54}}}};

  struct Run {
    int bytes, trits, first_byte, first_element;
  };
  static constexpr Run kRuns[] = {{32, 5, 0, 0}, {16, 5, 32, 160}, {4, 4, 48, 240}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    scale[0] = load_f16(bytes[0] + 52);
    for (const Run& run : kRuns) {
      for (int m = 0; m < run.bytes; ++m) {
        unsigned fraction = bytes[0][run.first_byte + m];
        for (int t = 0; t < run.trits; ++t) {
          const unsigned tripled = fraction * 3;
          codes[run.first_element + t * run.bytes + m] = static_cast<int8_t>(int(tripled >> 8) - 1);
          fraction = tripled & 255;
        }
      }
    }
  }

  static void encode(const float* values, const MutableBlockPtr& bytes) {
    const TernaryScale scale(values);
    store_f16(bytes[0] + 52, scale.d);
    store_trits([&](int i) { return scale.code(values[i]); }, bytes[0]);
  }

  // Codes 0 to 2.
  static void store_trits(auto code, uint8_t* bytes) {
    for (const Run& run : kRuns) {
      for (int m = 0; m < run.bytes; ++m) {
        int number = 0;
        for (int t = 0; t < 5; ++t) {
          const int element = run.first_element + t * run.bytes + m;
          number = number * 3 + (t < run.trits ? code(element) : 0);
        }
        bytes[run.first_byte + m] = static_cast<uint8_t>((number * 256 + 242) / 243);
      }
    }
  }
};

}  // namespace lamella::quant
