#include "lamella/kernels/cpu/state_space.h"

#include <algorithm>

#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/scratch.h"

namespace lamella::cpu {
namespace {

const StateSpaceKernels& kernels(Isa isa) { return LAMELLA_BY_ISA(isa, kStateSpace); }

}  // namespace

Status check_starts(const Sequences& s) {
  for (int64_t i = 0; i <= s.n; ++i) {
    const int64_t low = i == 0 ? 0 : s.q_start[i - 1], high = i == 0 ? 0 : s.tokens;
    if (s.q_start[i] < low || s.q_start[i] > high || (i == s.n && s.q_start[i] != s.tokens))
      return {.code = Status::Code::index_out_of_range, .index = i};
  }
  return {};
}

Status check_slots(const Sequences& s) {
  const Scratch taken(std::max<int64_t>(s.slots, 1));
  if (!taken.ok()) return {.code = Status::Code::no_memory};
  auto* seen = taken.at<uint8_t>();
  std::fill_n(seen, s.slots, uint8_t{0});
  for (int64_t i = 0; i < s.n; ++i) {
    const bool bad = s.slot[i] < 0 || s.slot[i] >= s.slots;
    if (bad || (s.has_tokens(i) && seen[s.slot[i]]++ > 0 && !s.kept))
      return {.code = Status::Code::index_out_of_range, .index = i};
  }
  return {};
}

Status check_kept(const Sequences& s) {
  const Scratch memory(std::max<int64_t>(s.slots, 1) * static_cast<int64_t>(sizeof(int64_t)));
  if (!memory.ok()) return {.code = Status::Code::no_memory};
  auto* writer = memory.at<int64_t>();
  std::fill_n(writer, s.slots, int64_t{-1});
  for (int64_t i = 0; i < s.n * s.n_kept; ++i) {
    const int64_t seq = i / s.n_kept, slot = s.kept[i];
    if (!s.has_tokens(seq)) continue;
    const bool is_last = (i + 1) % s.n_kept == 0;
    if (slot < 0 && !is_last) continue;
    if (slot < 0 || slot >= s.slots || writer[slot] >= 0)
      return {.code = Status::Code::index_out_of_range, .index = i};
    writer[slot] = i;
  }
  for (int64_t i = 0; i < s.n; ++i) {
    const int64_t by = writer[s.slot[i]];
    if (s.has_tokens(i) && by >= 0 && by / s.n_kept != i)
      return {.code = Status::Code::index_out_of_range, .index = by};
  }
  return {};
}

void causal_conv(const CausalConv& job, ThreadPool& pool, Isa isa) {
  pool.run_ranges(job.channels, 64, [&](int64_t begin, int64_t end, int) {
    kernels(isa).causal_conv(job, begin, end);
  });
}

namespace {

// Heads of one group at a time share its products, if that leaves every thread a task.
int64_t heads_at_once(const StateSpace& job, int threads) {
  constexpr int64_t kMost = 4;
  const int64_t in_group = job.heads / job.groups;
  int64_t n = std::min(kMost, in_group);
  while (n > 1 && job.seqs.n * job.groups * ((in_group + n - 1) / n) < 2 * threads) n /= 2;
  return n;
}

Status space_in_chunks(const StateSpace& job, ThreadPool& pool, Isa isa) {
  if (job.heads == 0) return {};
  const int64_t in_group = job.heads / job.groups, width = heads_at_once(job, pool.size());
  const int64_t floats = StateSpace::padded(job.scratch_floats(width));
  const Scratch scratch(floats * pool.size() * static_cast<int64_t>(sizeof(float)));
  if (!scratch.ok()) return {.code = Status::Code::no_memory};
  const int64_t parts = (in_group + width - 1) / width, tasks = job.groups * parts;
  pool.run(job.seqs.n * tasks, [&](int64_t task, int worker) {
    const int64_t group = task % tasks / parts, first = task % parts * width;
    kernels(isa).space_chunks(job, task / tasks, group * in_group + first,
                              group * in_group + std::min(first + width, in_group),
                              scratch.at<float>() + worker * floats);
  });
  return {};
}

int64_t longest_of(const Sequences& s) {
  int64_t longest = 0;
  for (int64_t i = 0; i < s.n; ++i)
    longest = std::max<int64_t>(longest, s.q_start[i + 1] - s.q_start[i]);
  return longest;
}

// to[i] = the sum of n parts of `size`, in order.
void add_parts(const float* parts, int64_t n, int64_t size, float* to, ThreadPool& pool) {
  pool.run_ranges(size, 4096, [&](int64_t begin, int64_t end, int) {
    std::copy(parts + begin, parts + end, to + begin);
    for (int64_t part = 1; part < n; ++part)
      for (int64_t i = begin; i < end; ++i) to[i] += parts[part * size + i];
  });
}

Status scan_grad(StateSpaceGrad job, ThreadPool& pool, Isa isa) {
  const int64_t size = job.rule.seqs.tokens * job.rule.n;
  const int64_t blocks = (job.rule.heads + StateSpaceGrad::kBlock - 1) / StateSpaceGrad::kBlock;
  const int64_t floats = StateSpace::padded(job.scratch_floats(longest_of(job.rule.seqs)));
  const Scratch scratch((floats * pool.size() + 2 * blocks * size) *
                        static_cast<int64_t>(sizeof(float)));
  if (!scratch.ok()) return {.code = Status::Code::no_memory};
  job.d_b_parts = scratch.at<float>() + floats * pool.size();
  job.d_c_parts = job.d_b_parts + blocks * size;
  pool.run(blocks, [&](int64_t block, int worker) {
    kernels(isa).scan_block_grad(job, block, scratch.at<float>() + worker * floats);
  });
  if (blocks == 0) std::fill_n(job.d_b, size, 0.0f), std::fill_n(job.d_c, size, 0.0f);
  if (blocks == 0) return {};
  add_parts(job.d_b_parts, blocks, size, job.d_b, pool);
  add_parts(job.d_c_parts, blocks, size, job.d_c, pool);
  return {};
}

}  // namespace

Status state_space(const StateSpace& job, ThreadPool& pool, Isa isa) {
  if (job.chunked) return space_in_chunks(job, pool, isa);
  const int64_t grain = std::max<int64_t>(1, 64 / std::max<int64_t>(job.p, 1));
  for (int64_t seq = 0; seq < job.seqs.n; ++seq)
    pool.run_ranges(job.heads, grain, [&](int64_t begin, int64_t end, int) {
      kernels(isa).state_space(job, seq, begin, end);
    });
  return {};
}

int64_t StateSpaceGrad::scratch_floats(int64_t tokens) const {
  constexpr int64_t C = StateSpace::kChunk;
  const int64_t chunks = (tokens + C - 1) / C, n = rule.n, p = rule.p;
  if (rule.a_per_element) return (2 * C + 1) * n + chunks * kBlock * n;
  return chunks * p * n + C * (3 * C + 2 * n + 6 * p + 4) + n * p + 18 * 16;
}

Status state_space_grad(const StateSpaceGrad& job, ThreadPool& pool, Isa isa) {
  const StateSpace& r = job.rule;
  if (r.a_per_element) return scan_grad(job, pool, isa);
  const int64_t floats = StateSpace::padded(job.scratch_floats(longest_of(r.seqs)));
  const Scratch scratch(floats * pool.size() * static_cast<int64_t>(sizeof(float)));
  if (!scratch.ok()) return {.code = Status::Code::no_memory};
  pool.run(r.seqs.n * r.heads, [&](int64_t task, int worker) {
    kernels(isa).space_head_grad(job, task / r.heads, task % r.heads,
                                 scratch.at<float>() + worker * floats);
  });
  return {};
}

Status delta_rule(const DeltaRule& job, ThreadPool& pool, Isa isa) {
  const int64_t floats = (job.scratch_floats() + 15) / 16 * 16;
  const Scratch scratch(floats * pool.size() * static_cast<int64_t>(sizeof(float)));
  if (!scratch.ok()) return {.code = Status::Code::no_memory};
  pool.run(job.seqs.n * job.hv, [&](int64_t task, int worker) {
    kernels(isa).delta_rule(job, task / job.hv, task % job.hv,
                            scratch.at<float>() + worker * floats);
  });
  return {};
}

int64_t DeltaRuleGrad::scratch_floats(int64_t tokens) const {
  constexpr int64_t C = DeltaRule::kChunk;
  const int64_t chunks = (tokens + C - 1) / C;
  const int64_t of_tokens = chunks * (rule.dk * rule.dv + 2 * C * rule.dv);
  const int64_t of_chunk =
      C * (5 * C + 8) + 3 * C * rule.dk + 6 * C * rule.dv + 2 * rule.dk * rule.dv;
  return of_tokens + of_chunk + 16 * 32;
}

Status delta_rule_grad(const DeltaRuleGrad& job, ThreadPool& pool, Isa isa) {
  const Sequences& s = job.rule.seqs;
  const int64_t floats = (job.scratch_floats(longest_of(s)) + 15) / 16 * 16;
  const Scratch scratch(floats * pool.size() * static_cast<int64_t>(sizeof(float)));
  if (!scratch.ok()) return {.code = Status::Code::no_memory};
  pool.run(s.n * job.rule.hv, [&](int64_t task, int worker) {
    kernels(isa).delta_rule_grad(job, task / job.rule.hv, task % job.rule.hv,
                                 scratch.at<float>() + worker * floats);
  });
  return {};
}

}  // namespace lamella::cpu
