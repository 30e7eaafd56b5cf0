// Cuts attention into tasks: query blocks for the bulk kernel, key partitions for decoding.
#include "lamella/kernels/cpu/attention.h"

#include <algorithm>

#include "lamella/base/function_ref.h"
#include "lamella/kernels/cpu/attention_tasks.h"
#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/scratch.h"

namespace lamella::cpu {
namespace {

constexpr int64_t kFloat = static_cast<int64_t>(sizeof(float));

// Sequences or batch entries; block(entry, kv_head) has all queries of it.
struct Problem {
  const AttentionMath& math;
  int64_t entries;
  FunctionRef<QueryBlock(int64_t entry, int64_t kv_head)> block;
  ThreadPool& pool;
  const AttentionTable& kernels;
  const BulkAttention& bulk;
};

// base + n; a tensor without elements may have no memory.
template <class T>
T* offset(T* base, int64_t n) {
  return base ? base + n : nullptr;
}

int64_t div_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Queries one task of the bulk kernel takes: all the panels it may, fewer where threads would idle.
int64_t queries_per_task(const Problem& p) {
  const int64_t panel = p.bulk.panel, group = p.math.heads / p.math.kv_heads;
  int64_t panels = 0;
  for (int64_t entry = 0; entry < p.entries; ++entry) {
    panels += div_up(p.block(entry, 0).rows(), panel) * p.math.kv_heads;
  }
  const int64_t wanted = std::clamp<int64_t>(panels / (4 * p.pool.size()), 1, p.bulk.most_panels);
  return std::max<int64_t>(1, wanted * panel / group);
}

Status run_bulk(const Problem& p) {
  struct Task {
    int64_t entry, first;
  };
  const int64_t queries = queries_per_task(p), group = p.math.heads / p.math.kv_heads;
  int64_t n_blocks = 0;
  for (int64_t entry = 0; entry < p.entries; ++entry) {
    n_blocks += div_up(p.block(entry, 0).last, queries);
  }
  const int64_t worker_bytes = Scratch::aligned(p.bulk.scratch(p.math, queries * group));
  const int64_t task_bytes = Scratch::aligned(n_blocks * static_cast<int64_t>(sizeof(Task)));
  Scratch scratch(task_bytes + worker_bytes * p.pool.size());
  if (!scratch.ok()) return {Status::Code::no_memory};
  Task* tasks = scratch.at<Task>();
  // Late queries see the most keys: they go first.
  int64_t n = 0;
  for (int64_t entry = 0; entry < p.entries; ++entry) {
    for (int64_t i = div_up(p.block(entry, 0).last, queries); i-- > 0;) {
      tasks[n++] = {entry, i * queries};
    }
  }
  p.pool.run(n_blocks * p.math.kv_heads, [&](int64_t task, int worker) {
    const Task& t = tasks[task / p.math.kv_heads];
    QueryBlock block = p.block(t.entry, task % p.math.kv_heads);
    block.first = t.first;
    block.last = std::min(block.last, t.first + queries);
    p.bulk.run(block, scratch.at<float>(task_bytes + worker * worker_bytes));
  });
  return {};
}

// One sequence's share of the decoding tasks: a task is a partition and some heads.
struct Decoding {
  int64_t first_task;
  int64_t begin, partitions;  // the partitions any of its queries sees
  int64_t rows;               // queries * group
  int64_t partials;           // where its partial results lie, in floats: [partition][kv_head][row]
  int64_t heads, groups;      // kv heads a task, tasks a partition

  int64_t tasks() const { return groups * std::max<int64_t>(1, partitions); }
};

class Decoder {
 public:
  explicit Decoder(const Problem& p) : p_(p), row_floats_(p.math.dv + 2) {}

  Status run() {
    Scratch list(p_.entries * static_cast<int64_t>(sizeof(Decoding)));
    if (!list.ok()) return {Status::Code::no_memory};
    list_ = list.at<Decoding>();
    plan();
    Scratch scratch(worker_bytes() * p_.pool.size() + n_floats_ * kFloat);
    if (!scratch.ok()) return {Status::Code::no_memory};
    workers_ = scratch.at<std::byte>();
    partials_ = scratch.at<float>(worker_bytes() * p_.pool.size());
    p_.pool.run(n_tasks_, [&](int64_t task, int worker) { run_task(task, worker); });
    const bool split =
        std::any_of(list_, list_ + p_.entries, [](const Decoding& d) { return d.partitions > 1; });
    if (!split) return {};
    p_.pool.run(p_.entries * p_.math.kv_heads, [&](int64_t task, int) {
      const int64_t entry = task / p_.math.kv_heads;
      if (list_[entry].partitions > 1) merge(entry, task % p_.math.kv_heads);
    });
    return {};
  }

 private:
  static constexpr int64_t kTaskRows = 64;

  void plan() {
    int64_t most_tasks = 0;
    for (int64_t entry = 0; entry < p_.entries; ++entry) {
      const QueryBlock block = p_.block(entry, 0);
      Decoding& d = list_[entry];
      d.rows = block.rows();
      d.begin = block.lo(0) / kPartition;
      d.partitions = d.rows == 0 ? 0 : div_up(block.hi(block.last - 1), kPartition) - d.begin;
      d.partitions = std::max<int64_t>(0, d.partitions);
      d.partials = n_floats_;
      n_floats_ += p_.math.kv_heads * d.partitions * d.rows * row_floats_;
      most_tasks += p_.math.kv_heads * d.partitions;
    }
    // Several heads a task read memory in order; but every thread shall have a few tasks.
    const int64_t heads =
        std::clamp<int64_t>(most_tasks / (3 * p_.pool.size()), 1, p_.math.kv_heads);
    for (int64_t entry = 0; entry < p_.entries; ++entry) {
      Decoding& d = list_[entry];
      d.heads = std::clamp<int64_t>(kTaskRows / std::max<int64_t>(1, d.rows), 1, heads);
      d.groups = div_up(p_.math.kv_heads, d.heads);
      d.first_task = n_tasks_;
      n_tasks_ += d.tasks();
      task_rows_ = std::max(task_rows_, d.heads * d.rows);
      task_heads_ = std::max(task_heads_, d.heads);
    }
  }

  int64_t block_bytes() const {
    return Scratch::aligned(task_heads_ * static_cast<int64_t>(sizeof(QueryBlock)));
  }
  int64_t worker_bytes() const {
    return block_bytes() + Scratch::aligned(p_.kernels.decode_scratch(p_.math, task_rows_));
  }
  float* partial(const Decoding& d, int64_t partition, int64_t kv_head) const {
    const int64_t head = partition * p_.math.kv_heads + kv_head;
    return partials_ + d.partials + head * d.rows * row_floats_;
  }

  void run_task(int64_t task, int worker) {
    const auto starts_after = [](int64_t t, const Decoding& x) { return t < x.first_task; };
    const Decoding* d = std::upper_bound(list_, list_ + p_.entries, task, starts_after) - 1;
    const int64_t entry = d - list_;
    const int64_t partition = (task - d->first_task) / d->groups;
    const int64_t first = (task - d->first_task) % d->groups * d->heads;
    const int64_t last = std::min(first + d->heads, p_.math.kv_heads);
    if (d->partitions > 0) {
      std::byte* memory = workers_ + worker * worker_bytes();
      QueryBlock* blocks = reinterpret_cast<QueryBlock*>(memory);
      for (int64_t h = first; h < last; ++h)
        new (&blocks[h - first]) QueryBlock(p_.block(entry, h));
      DecodeTask t{blocks, last - first};
      t.begin = (d->begin + partition) * kPartition;
      t.end = std::min(t.begin + kPartition, blocks->hi(blocks->last - 1));
      t.partials = partial(*d, partition, first);
      t.partial_stride = d->rows * row_floats_;
      p_.kernels.decode(t, reinterpret_cast<float*>(memory + block_bytes()));
    }
    if (d->partitions > 1) return;
    for (int64_t h = first; h < last; ++h) merge(entry, h);
  }

  void merge(int64_t entry, int64_t kv_head) {
    const Decoding& d = list_[entry];
    const QueryBlock block = p_.block(entry, kv_head);
    for (int64_t row = 0; row < d.rows; ++row) {
      p_.kernels.merge(block, row, partial(d, 0, kv_head) + row * row_floats_, d.partitions,
                       p_.math.kv_heads * d.rows * row_floats_);
    }
  }

  const Problem& p_;
  int64_t row_floats_, n_floats_ = 0, n_tasks_ = 0, task_rows_ = 0, task_heads_ = 0;
  Decoding* list_ = nullptr;
  std::byte* workers_ = nullptr;
  float* partials_ = nullptr;
};

// The kernel of operands rounded to bf16; null: none.
const BulkAttention* rounding_kernel([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::amx) return &kAmxAttention;
#endif
  return nullptr;
}

Status run_attention(const AttentionMath& math, int64_t entries, ThreadPool& pool, Isa isa,
                     FunctionRef<QueryBlock(int64_t, int64_t)> block) {
  if (entries <= 0 || math.kv_heads <= 0) return {};
  const AttentionTable& kernels = LAMELLA_BY_ISA(isa, kAttentionTable);
  const BulkAttention* rounded = math.bf16 ? rounding_kernel(isa) : nullptr;
  const Problem p{math, entries, block, pool, kernels, rounded ? *rounded : kernels.bulk};
  return math.decode ? Decoder(p).run() : run_bulk(p);
}

KvRows paged_rows(const PagedAttention& job, KvType type, const void* pages, int64_t d, int64_t seq,
                  int64_t kv_head) {
  const int64_t head_bytes = kv_row_bytes(type, d);
  return {.type = type,
          .base = offset(static_cast<const uint8_t*>(pages), kv_head * head_bytes),
          .row_bytes = job.math.kv_heads * head_bytes,
          .pages = offset(job.page_table, seq * job.page_table_stride),
          .page = job.page,
          .page_bytes = job.page * job.math.kv_heads * head_bytes};
}

QueryBlock paged_block(const PagedAttention& job, int64_t seq, int64_t kv_head) {
  const AttentionMath& math = job.math;
  const int64_t group = math.heads / math.kv_heads, head = kv_head * group;
  const int64_t start = job.q_start[seq];
  QueryBlock b;
  b.math = &math;
  b.k = paged_rows(job, job.k_type, job.k_pages, math.dk, seq, kv_head);
  b.v = paged_rows(job, job.v_type, job.v_pages, math.dv, seq, kv_head);
  b.n_keys = job.kv_len[seq];
  b.group = group;
  b.last = job.q_start[seq + 1] - start;
  b.position0 = b.n_keys - b.last;
  b.q = offset(job.q, start * job.q_token_stride + head * job.q_head_stride);
  b.y = offset(job.y, start * job.y_token_stride + head * job.y_head_stride);
  b.q_stride = job.q_token_stride;
  b.q_head_stride = job.q_head_stride;
  b.y_stride = job.y_token_stride;
  b.y_head_stride = job.y_head_stride;
  b.sinks = math.sinks ? math.sinks + head : nullptr;
  return b;
}

bool sequence_in_range(const PagedAttention& job, int64_t seq) {
  const int64_t start = job.q_start[seq], n_queries = job.q_start[seq + 1] - start;
  const int64_t n_keys = job.kv_len[seq];
  if (start < 0 || n_queries < 0 || n_keys < n_queries) return false;
  if (n_queries == 0) return true;
  if (div_up(n_keys, job.page) > job.page_table_stride) return false;
  const int64_t window = job.math.window;
  const int64_t first = window > 0 ? std::max<int64_t>(0, n_keys - n_queries + 1 - window) : 0;
  const int32_t* pages = job.page_table + seq * job.page_table_stride;
  return std::all_of(pages + first / job.page, pages + div_up(n_keys, job.page),
                     [&](int32_t page) { return page >= 0 && page < job.n_pages; });
}

KvRows dense_rows(KvType type, const void* base, const Strides4& s, int64_t batch,
                  int64_t kv_head) {
  const int64_t bytes = kv_row_bytes(type, 1);
  return {.type = type,
          .base = offset(static_cast<const uint8_t*>(base),
                         (batch * s.batch + kv_head * s.head) * bytes),
          .row_bytes = s.row * bytes};
}

QueryBlock dense_block(const DenseAttention& job, int64_t batch, int64_t kv_head) {
  const AttentionMath& math = job.math;
  const int64_t group = math.heads / math.kv_heads, head = kv_head * group;
  const auto at = [&](auto* base, const Strides4& s) {
    return offset(base, batch * s.batch + head * s.head);
  };
  QueryBlock b;
  b.math = &math;
  b.k = dense_rows(job.k_type, job.k, job.k_strides, batch, kv_head);
  b.v = dense_rows(job.v_type, job.v, job.v_strides, batch, kv_head);
  b.n_keys = job.n_keys;
  b.group = group;
  b.last = job.n_queries;
  b.position0 = job.first_position;
  b.q = at(job.q, job.q_strides);
  b.y = at(job.y, job.y_strides);
  b.q_stride = job.q_strides.row;
  b.q_head_stride = job.q_strides.head;
  b.y_stride = job.y_strides.row;
  b.y_head_stride = job.y_strides.head;
  b.sinks = math.sinks ? math.sinks + head : nullptr;
  b.bias = at(job.bias, job.bias_strides);
  b.mask = at(job.mask, job.mask_strides);
  b.bias_strides = job.bias_strides;
  b.mask_strides = job.mask_strides;
  return b;
}

}  // namespace

bool rounds_attention(Isa isa) { return rounding_kernel(isa) != nullptr; }

Status paged_attention(const PagedAttention& job, ThreadPool& pool, Isa isa) {
  for (int64_t seq = 0; seq < job.n_seqs; ++seq) {
    if (!sequence_in_range(job, seq)) return {Status::Code::index_out_of_range, seq};
  }
  return run_attention(job.math, job.n_seqs, pool, isa, [&](int64_t seq, int64_t kv_head) {
    return paged_block(job, seq, kv_head);
  });
}

Status dense_attention(const DenseAttention& job, ThreadPool& pool, Isa isa) {
  return run_attention(job.math, job.batch, pool, isa, [&](int64_t batch, int64_t kv_head) {
    return dense_block(job, batch, kv_head);
  });
}

}  // namespace lamella::cpu
