// Bodies of the kernels between the products of a decoder's layer: norms, rotations, states and
// attention over pages. Elements may be f32, f16 or bf16; sums are f32.
#include <vector>

#include "lamella/backends/mlx/gpu_source.h"
#include "lamella/base/error.h"

namespace lamella::on_mlx {
namespace {

// A group a row of N; a thread's part of it, eights, stays in registers. All is read before
// anything is written, so that the reads are under way together.
constexpr const char* kNormBody = R"(
constexpr int each = ((N + 7) / 8 + 255) / 256;
const u64 start = (u64)group_at.x * N;
SHARED float partial[8];
float v[each][8], total = 0.0f;
#if HAS_RESIDUAL
float other[each][8];
#endif
UNROLLED
for (int i = 0; i < each; ++i) {
  const int at = (i * 256 + local_at) * 8;
  for (int j = 0; j < 8; ++j) v[i][j] = 0.0f;
  if (at >= N) continue;
  load_eight(x + start, at, N, v[i]);
#if HAS_RESIDUAL
  load_eight(residual + start, at, N, other[i]);
#endif
}
UNROLLED
for (int i = 0; i < each; ++i) {
  const int at = (i * 256 + local_at) * 8;
  if (at >= N) continue;
#if HAS_RESIDUAL
  for (int j = 0; j < 8; ++j) v[i][j] += other[i][j];
  store_part(sum + start, at, N, v[i]);
#endif
  for (int j = 0; j < 8; ++j) total += v[i][j] * v[i][j];
}
total = WARP_SUM(total);
if (local_at % 32 == 0) partial[local_at / 32] = total;
BARRIER;
total = 0.0f;
for (int i = 0; i < 8; ++i) total += partial[i];
const float inverse = 1.0f / SQRT(total / N + f32(EPS));
UNROLLED
for (int i = 0; i < each; ++i) {
  const int at = (i * 256 + local_at) * 8;
  if (at >= N) continue;
  float by[8];
#if HAS_WEIGHT
  load_eight(weight, at, N, by);
  for (int j = 0; j < 8; ++j) by[j] *= v[i][j] * inverse;
#else
  for (int j = 0; j < 8; ++j) by[j] = v[i][j] * inverse;
#endif
  store_part(y + start, at, N, by);
}
)";

// A thread an element. The halves of a pair lie APART.
constexpr const char* kRopeBody = R"(
const int e = group_at.x * 256 + local_at;
if (e < x_shape[0] * HEADS * DIM) {
  const int i = e % DIM, token = e / (HEADS * DIM);
  if (i >= TURNED) {
    put(y, e, get(x, e));
  } else {
    const bool is_second = i / APART % 2 == 1;
    const u64 pair = ((u64)at[token] * (TURNED / 2) + (APART == 1 ? i / 2 : i % APART)) * 2;
    const float c = turns[pair], s = turns[pair + 1];
    put(y, e, is_second ? get(x, e - APART) * s + get(x, e) * c
                        : get(x, e) * c - get(x, e + APART) * s);
  }
}
)";

// A group a token. What is written is the state itself; y only says that it has been.
constexpr const char* kAppendBody = R"(
const int token = group_at.x;
PLACES
const u64 row = (u64)pages[position / PAGE] * PAGE + position % PAGE;
for (int i = local_at; i < WIDTH; i += 128)
  overwrite(state, row * WIDTH + i, get(x, (u64)token * WIDTH + i));
if (token == 0 && local_at == 0) y[0] = 0.0f;
)";

// y[kv_heads, positions, DIM] of one sequence's pages. A group a position and a head.
constexpr const char* kPageRowsBody = R"(
const int position = group_at.x, head = group_at.y;
const u64 row = ((u64)table[position / PAGE] * PAGE + position % PAGE) * KV_HEADS + head;
for (int i = local_at; i < DIM; i += 64)
  put(y, ((u64)head * groups.x + position) * DIM + i, get(state, row * DIM + i));
)";

// A group a token, HEADS_AT query heads of one kv head, and a part of the keys that they see. A
// warp takes KEYS keys at a time, a lane EACH elements of a head.
constexpr const char* kAttendBody = R"(
constexpr int each = (DIM + 31) / 32, each_v = (DIM_V + 31) / 32, warps = 4;
constexpr int sets = GROUP / HEADS_AT;
const int lane = local_at % 32, warp = local_at / 32;
const int set = group_at.x % sets, kv = group_at.x / sets % KV_HEADS,
          token = group_at.x / (sets * KV_HEADS), head = kv * GROUP + set * HEADS_AT;
PLACES
int begin = 0, end = CAUSAL ? position + 1 : length;
if (WINDOW > 0) {
  const int most = length > position + 1 ? length : position + 1;
  const int reach = WINDOW < most ? WINDOW : most;
  begin = position - reach + 1 > 0 ? position - reach + 1 : 0;
  end = position + reach < end ? position + reach : end;
}
const int n_parts = groups.y, per = (end - begin + n_parts - 1) / n_parts;
const int from = begin + (int)group_at.y * per, to = from + per < end ? from + per : end;
float own_q[HEADS_AT][each], best[HEADS_AT], sum[HEADS_AT], total[HEADS_AT][each_v];
for (int h = 0; h < HEADS_AT; ++h) {
  best[h] = -INF;
  sum[h] = 0.0f;
  for (int c = 0; c < each; ++c) {
    const int i = lane * each + c;
    own_q[h][c] = i < DIM ? get(q, ((u64)token * KV_HEADS * GROUP + head + h) * DIM + i) : 0.0f;
  }
  for (int c = 0; c < each_v; ++c) total[h][c] = 0.0f;
}
for (int first = from + warp * KEYS; first < to; first += warps * KEYS) {
  float key[KEYS][each], value[KEYS][each_v], score[KEYS][HEADS_AT];
  UNROLLED
  for (int a = 0; a < KEYS; ++a) {
    const int j = first + a < to ? first + a : to - 1;
    const u64 row = ((u64)pages[j / PAGE] * PAGE + j % PAGE) * KV_HEADS + kv;
    load_lane<DIM, each>(k + row * DIM, lane, key[a]);
    load_lane<DIM_V, each_v>(v + row * DIM_V, lane, value[a]);
  }
  UNROLLED
  for (int a = 0; a < KEYS; ++a)
    UNROLLED
    for (int h = 0; h < HEADS_AT; ++h) {
      float dot = 0.0f;
      for (int c = 0; c < each; ++c) dot += own_q[h][c] * key[a][c];
      dot = WARP_SUM(dot) * f32(SCALE);
      if (SOFT_CAP != 0) dot = f32(SOFT_CAP) * TANH(dot / f32(SOFT_CAP));
      score[a][h] = first + a < to ? dot : -INF;
    }
  UNROLLED
  for (int h = 0; h < HEADS_AT; ++h) {
    float top = best[h];
    for (int a = 0; a < KEYS; ++a) top = score[a][h] > top ? score[a][h] : top;
    const float kept = top == -INF ? 1.0f : EXP(best[h] - top);
    best[h] = top;
    sum[h] *= kept;
    for (int c = 0; c < each_v; ++c) total[h][c] *= kept;
    for (int a = 0; a < KEYS; ++a) {
      const float p = score[a][h] == -INF ? 0.0f : EXP(score[a][h] - top);
      sum[h] += p;
      for (int c = 0; c < each_v; ++c) total[h][c] += p * value[a][c];
    }
  }
}
SHARED float warp_best[warps][HEADS_AT];
SHARED float warp_sum_of[warps][HEADS_AT];
SHARED float warp_total[warps][HEADS_AT][each_v * 32];
for (int h = 0; h < HEADS_AT; ++h) {
  if (lane == 0) {
    warp_best[warp][h] = best[h];
    warp_sum_of[warp][h] = sum[h];
  }
  for (int c = 0; c < each_v; ++c) warp_total[warp][h][lane * each_v + c] = total[h][c];
}
BARRIER;
for (int e = local_at; e < HEADS_AT * DIM_V; e += 128) {
  const int h = e / DIM_V, i = e % DIM_V;
  float top = -INF, weight = 0.0f, out = 0.0f;
  for (int w = 0; w < warps; ++w) top = warp_best[w][h] > top ? warp_best[w][h] : top;
  for (int w = 0; w < warps; ++w) {
    if (warp_best[w][h] == -INF) continue;
    const float scale = EXP(warp_best[w][h] - top);
    weight += scale * warp_sum_of[w][h];
    out += scale * warp_total[w][h][i];
  }
  const u64 row = (u64)token * KV_HEADS * GROUP + head + h;
#if IS_WHOLE
#if HAS_SINKS
  {
    const float sink = get(sinks, head + h), above = sink > top ? sink : top;
    const float scale = top == -INF ? 0.0f : EXP(top - above);
    weight = weight * scale + EXP(sink - above);
    out *= scale;
  }
#endif
  put(y, row * DIM_V + i, weight == 0.0f ? 0.0f : out / weight);
#else
  const u64 part = row * n_parts + group_at.y;
  y[part * DIM_V + i] = out;
  if (i == 0) {
    rest[part * 2] = top;
    rest[part * 2 + 1] = weight;
  }
#endif
}
)";

// The parts of kAttend as one: a group a token and a head. At most 64 parts, a thread each.
constexpr const char* kMergeBody = R"(
const u64 row = group_at.x;
const int n_parts = x_shape[1];
SHARED float best[64];
SHARED float share[64];
SHARED float part_sum[64];
if (local_at < n_parts) {
  best[local_at] = rest[(row * n_parts + local_at) * 2];
  part_sum[local_at] = rest[(row * n_parts + local_at) * 2 + 1];
}
BARRIER;
float above = -INF;
for (int p = 0; p < n_parts; ++p) above = best[p] > above ? best[p] : above;
#if HAS_SINKS
const float sink = get(sinks, row % HEADS);
above = sink > above ? sink : above;
float weight = EXP(sink - above);
#else
float weight = 0.0f;
#endif
if (local_at < n_parts)
  share[local_at] = best[local_at] == -INF ? 0.0f : EXP(best[local_at] - above);
BARRIER;
for (int p = 0; p < n_parts; ++p) weight += share[p] * part_sum[p];
for (int i = local_at; i < DIM_V; i += 64) {
  float out = 0.0f;
  UNROLLED_BY_8
  for (int p = 0; p < n_parts; ++p) out += share[p] * x[(row * n_parts + p) * DIM_V + i];
  put(y, row * DIM_V + i, weight == 0.0f ? 0.0f : out / weight);
}
)";

// activation(x) * up, a thread eight elements, the last perhaps fewer.
constexpr const char* kGateBody = R"(
const u64 size = (u64)x_shape[0] * x_shape[1];
const u64 at = ((u64)group_at.x * 256 + local_at) * 8;
if (at + 8 <= size) {
  float a[8], b[8];
  load_eight(x + at, 0, 8, a);
  load_eight(up + at, 0, 8, b);
  for (int j = 0; j < 8; ++j) a[j] = activate(a[j], ACTIVATION) * b[j];
  store_eight(y + at, a);
} else {
  for (u64 e = at; e < size; ++e) put(y, e, activate(get(x, e), ACTIVATION) * get(up, e));
}
)";

}  // namespace

const GpuKernel kNorm{"norm", kNormBody, 256};
const GpuKernel kRope{"rope", kRopeBody, 256};
const GpuKernel kAppend{"append", kAppendBody, 128};
const GpuKernel kPageRows{"page_rows", kPageRowsBody, 64};
const GpuKernel kAttend{"attend", kAttendBody, 128};
const GpuKernel kMerge{"merge", kMergeBody, 64};
// y[10 n], the sizes of n inputs: numbers that come with the launch and lie in no memory before it.
std::span<const GpuKernel> gpu_numbers() {
  static const std::vector<std::string> bodies = [] {
    std::vector<std::string> all;
    std::string text;
    for (int i = 0; i < kMostNumbers / kNumbersInOne; ++i) {
      text += str("y[", i * kNumbersInOne, " + local_at] = n", i, "_shape[local_at];\n");
      all.push_back(str("if (local_at < ", kNumbersInOne, ") {\n", text, "}\n"));
    }
    return all;
  }();
  static const std::vector<GpuKernel> kernels = [] {
    std::vector<GpuKernel> all;
    for (const std::string& body : bodies) all.push_back({"numbers", body, 32});
    return all;
  }();
  return kernels;
}

const GpuKernel kGate{"gate", kGateBody, 256};

}  // namespace lamella::on_mlx
