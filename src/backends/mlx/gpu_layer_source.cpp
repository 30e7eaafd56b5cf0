// Bodies of the kernels between the products of a decoder's layer: norms, rotations, states and
// attention over pages. Elements may be f32, f16 or bf16; sums are f32.
#include "lamella/backends/mlx/gpu_source.h"

namespace lamella::on_mlx {
namespace {

// A group a row of N; a thread's part of it stays in registers.
constexpr const char* kNormBody = R"(
constexpr int each = (N + 255) / 256;
const u64 start = (u64)group_at.x * N;
SHARED float partial[8];
float v[each], total = 0.0f;
UNROLLED
for (int i = 0; i < each; ++i) {
  const int c = i * 256 + local_at;
  v[i] = c < N ? get(x, start + c) : 0.0f;
#if HAS_RESIDUAL
  if (c < N) {
    v[i] += get(residual, start + c);
    put(sum, start + c, v[i]);
  }
#endif
  total += v[i] * v[i];
}
total = WARP_SUM(total);
if (local_at % 32 == 0) partial[local_at / 32] = total;
BARRIER;
total = 0.0f;
for (int i = 0; i < 8; ++i) total += partial[i];
const float inverse = 1.0f / SQRT(total / N + f32(EPS));
UNROLLED
for (int i = 0; i < each; ++i) {
  const int c = i * 256 + local_at;
#if HAS_WEIGHT
  if (c < N) put(y, start + c, v[i] * inverse * get(weight, c));
#else
  if (c < N) put(y, start + c, v[i] * inverse);
#endif
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

// The parts of kAttend as one: a group a token and a head.
constexpr const char* kMergeBody = R"(
const u64 row = group_at.x;
const int n_parts = x_shape[1];
float top = -INF;
for (int p = 0; p < n_parts; ++p) {
  const float own = rest[(row * n_parts + p) * 2];
  top = own > top ? own : top;
}
#if HAS_SINKS
const float sink = get(sinks, row % HEADS);
const float above = sink > top ? sink : top;
float weight = EXP(sink - above);
#else
const float above = top;
float weight = 0.0f;
#endif
for (int p = 0; p < n_parts; ++p) {
  const float own = rest[(row * n_parts + p) * 2];
  if (own != -INF) weight += EXP(own - above) * rest[(row * n_parts + p) * 2 + 1];
}
for (int i = local_at; i < DIM_V; i += 64) {
  float out = 0.0f;
  for (int p = 0; p < n_parts; ++p) {
    const float own = rest[(row * n_parts + p) * 2];
    if (own != -INF) out += EXP(own - above) * x[(row * n_parts + p) * DIM_V + i];
  }
  put(y, row * DIM_V + i, weight == 0.0f ? 0.0f : out / weight);
}
)";

// activation(x) * up, a thread an element.
constexpr const char* kGateBody = R"(
const u64 e = ((u64)group_at.y * groups.x + group_at.x) * 256 + local_at;
if (e < (u64)x_shape[0] * x_shape[1]) put(y, e, activate(get(x, e), ACTIVATION) * get(up, e));
)";

}  // namespace

const GpuKernel kNorm{"norm", kNormBody, 256};
const GpuKernel kRope{"rope", kRopeBody, 256};
const GpuKernel kAppend{"append", kAppendBody, 128};
const GpuKernel kPageRows{"page_rows", kPageRowsBody, 64};
const GpuKernel kAttend{"attend", kAttendBody, 128};
const GpuKernel kMerge{"merge", kMergeBody, 64};
const GpuKernel kGate{"gate", kGateBody, 256};

}  // namespace lamella::on_mlx
