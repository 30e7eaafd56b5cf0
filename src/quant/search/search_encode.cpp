#include "lamella/quant/search/search_encode.h"

#include <algorithm>
#include <string_view>

#include "lamella/quant/search/float_search.h"
#include "lamella/quant/search/grid_coders.h"
#include "lamella/quant/search/int_coders.h"
#include "lamella/quant/search/min_fit.h"
#include "lamella/quant/search/scale_fit.h"

namespace lamella::quant {
namespace {

// One block of a format of one plane.
using Encoder = void (*)(const float* values, const float* weights, uint8_t* bytes);

struct Row {
  std::string_view format;
  Encoder encode;
};
constexpr Row kRows[] = {
    // sorted:begin
    {"iq1_m", encode_by_search<Iq1MCoder>},
    {"iq1_s", encode_by_search<Iq1SCoder>},
    {"iq2_s", encode_by_search<Iq2SCoder>},
    {"iq2_xs", encode_by_search<Iq2XsCoder>},
    {"iq2_xxs", encode_by_search<Iq2XxsCoder>},
    {"iq3_s", encode_by_search<Iq3SCoder>},
    {"iq3_xxs", encode_by_search<Iq3XxsCoder>},
    {"iq4_nl", encode_by_search<Iq4NlCoder>},
    {"iq4_xs", encode_by_search<Iq4XsCoder>},
    {"mxfp4", Mxfp4Search::encode},
    {"nvfp4", Nvfp4Search::encode},
    {"q1_0", encode_by_search<Q1_0Coder>},
    {"q2_0", encode_by_search<Q2_0Coder>},
    {"q2_k", encode_min_by_search<Q2_KCoder>},
    {"q3_k", encode_by_search<Q3_KCoder>},
    {"q4_0", encode_by_search<Q4_0Coder>},
    {"q4_1", Q4_1Search::encode},
    {"q4_k", encode_min_by_search<Q4_KCoder>},
    {"q5_0", encode_by_search<Q5_0Coder>},
    {"q5_1", Q5_1Search::encode},
    {"q5_k", encode_min_by_search<Q5_KCoder>},
    {"q6_k", encode_by_search<Q6_KCoder>},
    {"q8_0", encode_by_search<Q8_0Coder>},
    {"tq1_0", encode_by_search<TQ1_0Coder>},
    {"tq2_0", encode_by_search<TQ2_0Coder>},
    // sorted:end
};

Encoder find_encoder(const Format& format) {
  for (const Row& row : kRows)
    if (row.format == format.name) return row.encode;
  return nullptr;
}

}  // namespace

bool can_encode_best(const Format& format) { return find_encoder(format) || format.encode; }

void encode_row_best(const Format& format, const float* values, std::span<const float> importance,
                     int64_t k, const MutableBlockPtr& row) {
  const Encoder encode = find_encoder(format);
  if (!encode) return encode_row(format, values, k, row);
  float x[kMaxBlock], w[kMaxBlock];
  uint8_t* bytes = row[0];
  for (int64_t begin = 0; begin < k; begin += format.block, bytes += format.block_bytes()) {
    const int64_t n = std::min<int64_t>(k - begin, format.block);
    std::copy(values + begin, values + begin + n, x);
    std::fill(x + n, x + format.block, 0.0f);
    // Nobody reads what fills the last block up.
    std::fill(w, w + n, 1.0f);
    std::fill(w + n, w + format.block, 0.0f);
    // Weights of one block count against one another only; all 0 is as good as all 1.
    if (!importance.empty()) {
      const float* from = importance.data() + begin;
      const float most = *std::max_element(from, from + n);
      for (int64_t i = 0; i < n && most > 0; ++i) w[i] = from[i] / most;
    }
    encode(x, w, bytes);
  }
}

}  // namespace lamella::quant
