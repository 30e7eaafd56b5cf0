// The table of block formats. To add one: its file, its include, its row.
#include <algorithm>

#include "lamella/quant/format.h"
#include "lamella/quant/iq1_m.h"
#include "lamella/quant/iq1_s.h"
#include "lamella/quant/iq2_s.h"
#include "lamella/quant/iq2_xs.h"
#include "lamella/quant/iq2_xxs.h"
#include "lamella/quant/iq3_s.h"
#include "lamella/quant/iq3_xxs.h"
#include "lamella/quant/iq4_nl.h"
#include "lamella/quant/iq4_xs.h"
#include "lamella/quant/mxfp4.h"
#include "lamella/quant/nvfp4.h"
#include "lamella/quant/q1_0.h"
#include "lamella/quant/q2_0.h"
#include "lamella/quant/q2_k.h"
#include "lamella/quant/q3_k.h"
#include "lamella/quant/q4_0.h"
#include "lamella/quant/q4_1.h"
#include "lamella/quant/q4_k.h"
#include "lamella/quant/q5_0.h"
#include "lamella/quant/q5_1.h"
#include "lamella/quant/q5_k.h"
#include "lamella/quant/q6_k.h"
#include "lamella/quant/q8_0.h"
#include "lamella/quant/q8_activation.h"
#include "lamella/quant/q8_k.h"
#include "lamella/quant/tq1_0.h"
#include "lamella/quant/tq2_0.h"

namespace lamella::quant {
namespace {

// In the order of GGUF ids, then those that no file has.
constexpr Format kFormats[] = {
    // clang-format off
    row<Q4_0>(),
    row<Q4_1>(),
    row<Q5_0>(),
    row<Q5_1>(),
    row<Q8_0>(),
    row<Q2_K>(),
    row<Q3_K>(),
    row<Q4_K>(),
    row<Q5_K>(),
    row<Q6_K>(),
    row<Q8_K>(),
    row<IQ2_XXS>(),
    row<IQ2_XS>(),
    row<IQ3_XXS>(),
    row<IQ1_S>(),
    row<IQ4_NL>(),
    row<IQ3_S>(),
    row<IQ2_S>(),
    row<IQ4_XS>(),
    row<IQ1_M>(),
    row<TQ1_0>(),
    row<TQ2_0>(),
    row<MXFP4>(),
    row<NVFP4>(),
    row<Q1_0>(),
    row<Q2_0>(),
    row<Q8_32>(),
    row<Q8_256>(),
    // clang-format on
};

const Format* find(auto&& matches) {
  const auto* found = std::find_if(std::begin(kFormats), std::end(kFormats), matches);
  return found == std::end(kFormats) ? nullptr : found;
}

}  // namespace

std::span<const Format> formats() { return kFormats; }

const Format* find_format(std::string_view name) {
  return find([&](const Format& format) { return format.name == name; });
}

const Format* find_gguf_format(uint32_t gguf_type) {
  if (gguf_type == Format::kNoGguf) return nullptr;
  return find([&](const Format& format) { return format.gguf_type == gguf_type; });
}

int64_t plane_offset(const Format& format, int plane, int64_t n_rows, int64_t k) {
  constexpr int64_t kAlign = 64;
  int64_t offset = 0;
  for (int p = 0; p < plane; ++p) {
    offset += n_rows * format.blocks(k) * format.planes[p].block_bytes;
    if (p + 1 < format.n_planes) offset = (offset + kAlign - 1) / kAlign * kAlign;
  }
  return offset;
}

void decode_row(const Format& format, const BlockPtr& row, int64_t k, float* values) {
  float last[kMaxBlock];
  BlockPtr block = row;
  for (int64_t begin = 0; begin < k; begin += format.block) {
    const bool whole = begin + format.block <= k;
    format.decode(block, whole ? values + begin : last);
    if (!whole) std::copy(last, last + (k - begin), values + begin);
    for (int p = 0; p < format.n_planes; ++p) block[p] += format.planes[p].block_bytes;
  }
}

void encode_row(const Format& format, const float* values, int64_t k, const MutableBlockPtr& row) {
  float last[kMaxBlock];
  MutableBlockPtr block = row;
  for (int64_t begin = 0; begin < k; begin += format.block) {
    const bool whole = begin + format.block <= k;
    if (!whole) std::fill(std::copy(values + begin, values + k, last), last + format.block, 0.0f);
    format.encode(whole ? values + begin : last, block);
    for (int p = 0; p < format.n_planes; ++p) block[p] += format.planes[p].block_bytes;
  }
}

}  // namespace lamella::quant
