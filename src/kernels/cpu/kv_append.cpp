#include "lamella/kernels/cpu/kv_append.h"

#include <algorithm>
#include <cstring>

#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/quant/format.h"

namespace lamella::cpu {
namespace {

void encode_blocks(std::string_view name, const float* x, uint8_t* row, int64_t n) {
  const quant::Format& format = *quant::find_format(name);
  for (int64_t i = 0; i < n; i += format.block) {
    format.encode(x + i, {row});
    row += format.block_bytes();
  }
}

void encode(const KvAppendTable& table, KvType type, const float* x, uint8_t* row, int64_t n) {
  switch (type) {
    case KvType::f32:
      std::memcpy(row, x, static_cast<size_t>(n) * sizeof(float));
      return;
    case KvType::f16:
      table.to_f16(x, row, n);
      return;
    case KvType::bf16:
      table.to_bf16(x, row, n);
      return;
    case KvType::q8_0:
      encode_blocks("q8_0", x, row, n);
      return;
    case KvType::q4_0:
      encode_blocks("q4_0", x, row, n);
      return;
  }
}

// Place of a sequence's i-th new row, in rows of all kv heads; -1 when it is out of range.
int64_t place(const KvAppend& job, int64_t seq, int64_t i) {
  const int64_t n_new = job.q_start[seq + 1] - job.q_start[seq];
  const int64_t position = job.kv_len[seq] - n_new + i;
  if (position < 0 || position / job.page >= job.page_table_stride) return -1;
  const int64_t page = job.page_table[seq * job.page_table_stride + position / job.page];
  if (page < 0 || page >= job.n_pages) return -1;
  return page * job.page + position % job.page;
}

void append_token(const KvAppend& job, const KvAppendTable& table, int64_t seq, int64_t token) {
  const int64_t row_bytes = kv_row_bytes(job.type, job.d);
  uint8_t* row = static_cast<uint8_t*>(job.pages) +
                 place(job, seq, token - job.q_start[seq]) * job.kv_heads * row_bytes;
  for (int64_t head = 0; head < job.kv_heads; ++head) {
    const float* x = job.x + token * job.token_stride + head * job.head_stride;
    encode(table, job.type, x, row + head * row_bytes, job.d);
  }
}

}  // namespace

Status kv_append(const KvAppend& job, ThreadPool& pool, Isa isa) {
  if (job.n_seqs <= 0) return {};
  for (int64_t seq = 0; seq < job.n_seqs; ++seq) {
    const int64_t start = job.q_start[seq], n_new = job.q_start[seq + 1] - start;
    if (start < 0 || n_new < 0) return {Status::Code::index_out_of_range, start};
    for (int64_t i = 0; i < n_new; ++i) {
      if (place(job, seq, i) < 0) return {Status::Code::index_out_of_range, start + i};
    }
  }
  const KvAppendTable& table = LAMELLA_BY_ISA(isa, kKvAppendTable);
  const int64_t first = job.q_start[0], n_tokens = job.q_start[job.n_seqs] - first;
  constexpr int64_t kTaskElements = 16384;
  const int64_t grain =
      std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, job.kv_heads * job.d));
  pool.run_ranges(n_tokens, grain, [&](int64_t begin, int64_t end, int) {
    const int32_t* next = std::upper_bound(job.q_start, job.q_start + job.n_seqs,
                                           static_cast<int32_t>(first + begin));
    int64_t seq = next - job.q_start - 1;
    for (int64_t token = first + begin; token < first + end; ++token) {
      while (token >= job.q_start[seq + 1]) ++seq;
      append_token(job, table, seq, token);
    }
  });
  return {};
}

}  // namespace lamella::cpu
