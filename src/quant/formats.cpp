// The table of block formats. To add one: its file, its include, its place in a list.
#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "lamella/quant/format.h"
#include "lamella/quant/int_block.h"
#include "lamella/quant/iq1_m.h"
#include "lamella/quant/iq1_s.h"
#include "lamella/quant/iq2_s.h"
#include "lamella/quant/iq2_xs.h"
#include "lamella/quant/iq2_xxs.h"
#include "lamella/quant/iq3_s.h"
#include "lamella/quant/iq3_xxs.h"
#include "lamella/quant/iq4_nl.h"
#include "lamella/quant/iq4_xs.h"
#include "lamella/quant/mlx_affine.h"
#include "lamella/quant/mlx_float.h"
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

template <class... F>
constexpr std::array<Format, sizeof...(F)> rows() {
  return {row<F>()...};
}

// In the order of GGUF ids.
constexpr auto kGgufFormats = rows<
    // clang-format off
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2_K,
    Q3_K,
    Q4_K,
    Q5_K,
    Q6_K,
    Q8_K,
    IQ2_XXS,
    IQ2_XS,
    IQ3_XXS,
    IQ1_S,
    IQ4_NL,
    IQ3_S,
    IQ2_S,
    IQ4_XS,
    IQ1_M,
    TQ1_0,
    TQ2_0,
    MXFP4,
    NVFP4,
    Q1_0,
    Q2_0
    // clang-format on
    >();

using Scales = std::tuple<f16, bf16, float>;
template <size_t i>
using Scale = std::tuple_element_t<i % std::tuple_size_v<Scales>, Scales>;
constexpr size_t kScales = std::tuple_size_v<Scales>;

// Every number of bits, group and type of scale.
constexpr int kMlxBits[] = {1, 2, 3, 4, 5, 6, 8}, kMlxGroups[] = {32, 64, 128};
template <size_t... i>
constexpr auto mlx_affine_rows(std::index_sequence<i...>) {
  return rows<MlxAffine<kMlxBits[i / kScales / 3], kMlxGroups[i / kScales % 3], Scale<i>>...>();
}

// Every block and type of scale, without and with zero points. The widest is for bytes alone.
constexpr int kIntBlocks[] = {16, 32, 64, 128, 256};
template <template <int, bool, class> class Block, size_t kBlocks, size_t... i>
constexpr auto int_rows(std::index_sequence<i...>) {
  return rows<Block<kIntBlocks[i / kScales % kBlocks], (i / kScales >= kBlocks), Scale<i>>...>();
}
template <template <int, bool, class> class Block, size_t kBlocks>
constexpr auto int_rows() {
  return int_rows<Block, kBlocks>(std::make_index_sequence<2 * kBlocks * kScales>());
}

template <size_t... n>
constexpr auto concat(const std::array<Format, n>&... parts) {
  std::array<Format, (n + ...)> all{};
  auto* at = all.data();
  ((at = std::copy(parts.begin(), parts.end(), at)), ...);
  return all;
}

// Those of files, then the encodings of activations.
constexpr auto kFormats =
    concat(kGgufFormats, mlx_affine_rows(std::make_index_sequence<7 * 3 * kScales>()),
           rows<MlxFloat4<32>, MlxFloat8, MlxFloat4<16>>(), int_rows<Int8Block, 5>(),
           int_rows<Int4Block, 4>(), rows<Q8_32, Q8_256>());

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
