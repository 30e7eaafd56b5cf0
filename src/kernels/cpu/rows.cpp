#include "lamella/kernels/cpu/rows.h"

#include <algorithm>

#include "lamella/kernels/cpu/by_isa.h"

namespace lamella::cpu {
namespace {

// Elements that are worth a task.
constexpr int64_t kTaskElements = 8192;
// Columns of a strided softmax that one task takes: whole cache lines.
constexpr int64_t kColumns = 256;

const RowTable& table(Isa isa) { return LAMELLA_BY_ISA(isa, kRowTable); }
int64_t grain(int64_t cols) {
  return std::max<int64_t>(1, kTaskElements / std::max<int64_t>(cols, 1));
}

}  // namespace

void softmax(const Softmax& job, ThreadPool& pool, Isa isa) {
  if (job.outer <= 0 || job.axis <= 0 || job.inner <= 0) return;
  const RowTable& rows = table(isa);
  if (job.inner == 1) {
    pool.run_ranges(job.outer, grain(job.axis),
                    [&](int64_t begin, int64_t end, int) { rows.softmax(job, begin, end); });
    return;
  }
  const int64_t blocks = (job.inner + kColumns - 1) / kColumns;
  pool.run_ranges(job.outer * blocks, grain(job.axis * std::min(job.inner, kColumns)),
                  [&](int64_t begin, int64_t end, int) {
                    for (int64_t i = begin; i < end; ++i) {
                      const int64_t column = i % blocks * kColumns;
                      rows.softmax_strided(job, i / blocks, column,
                                           std::min(column + kColumns, job.inner));
                    }
                  });
}

void norm(const Norm& job, ThreadPool& pool, Isa isa) {
  if (job.rows <= 0 || job.cols <= 0) return;
  const RowTable& rows = table(isa);
  pool.run_ranges(job.rows, grain(job.cols),
                  [&](int64_t begin, int64_t end, int) { rows.norm(job, begin, end); });
}

int64_t label_of(const CrossEntropy& job, int64_t row) {
  return job.label_type == Elem::i32 ? static_cast<const int32_t*>(job.labels)[row]
                                     : static_cast<const int64_t*>(job.labels)[row];
}

Status cross_entropy(const CrossEntropy& job, ThreadPool& pool, Isa isa) {
  if (!is_float(job.label_type)) {
    for (int64_t row = 0; row < job.rows; ++row) {
      const int64_t label = label_of(job, row);
      if (label != job.ignored && (label < 0 || label >= job.cols))
        return {Status::Code::index_out_of_range, row};
    }
  }
  const RowTable& rows = table(isa);
  if (job.rows > 0) {
    pool.run_ranges(job.rows, grain(job.cols),
                    [&](int64_t begin, int64_t end, int) { rows.cross_entropy(job, begin, end); });
  }
  return {};
}

}  // namespace lamella::cpu
