#include "lamella/kernels/cpu/grouped_matmul.h"

#include <algorithm>
#include <cstring>

namespace lamella::cpu {
namespace {

constexpr int64_t kMostJobs = 8;  // of one product

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// Bytes of one row in each plane of x or w, and how many planes there are.
struct RowBytes {
  std::array<int64_t, quant::kMaxPlanes> bytes{};
  int n = 1;
};
RowBytes row_bytes(const quant::Format* format, Elem element, int64_t k) {
  RowBytes r;
  r.bytes[0] = k * elem_bytes(element);
  if (!format) return r;
  r.n = format->n_planes;
  for (int p = 0; p < r.n; ++p)
    r.bytes[static_cast<size_t>(p)] =
        format->blocks(k) * format->planes[static_cast<size_t>(p)].block_bytes;
  return r;
}

// Row `row` and what follows it.
quant::BlockPtr planes_at(const quant::BlockPtr& planes, const RowBytes& rows, int64_t row) {
  quant::BlockPtr at{};
  for (size_t p = 0; p < static_cast<size_t>(rows.n); ++p) at[p] = planes[p] + row * rows.bytes[p];
  return at;
}

class Run {
 public:
  Run(const GroupedMatmul& job, std::byte* workspace, ThreadPool& pool)
      : job_(job),
        pool_(pool),
        n_rows_(job.tokens * job.slots),
        x_rows_(row_bytes(job.x.format, job.x.element, job.k)),
        w_rows_(row_bytes(job.w.format, job.w.element, job.k)) {
    place(workspace);
  }

  int64_t bytes() const { return bytes_; }

  void all() {
    if (job_.tokens == 1 && job_.shares_x) return single_token();
    sort_by_expert();
    for (int64_t e = 0; e < job_.experts; ++e)
      if (starts_[e + 1] > starts_[e]) one_expert(e);
  }

 private:
  // Scratch: rows by expert, the x of one expert's rows, its products, and what these need. Without
  // a workspace only its size is found.
  void place(std::byte* workspace) {
    const auto take = [&](int64_t bytes) {
      std::byte* at = workspace ? workspace + bytes_ : nullptr;
      bytes_ += aligned(bytes);
      return at;
    };
    starts_ = reinterpret_cast<int64_t*>(
        take((job_.experts + 2) * static_cast<int64_t>(sizeof(int64_t))));
    order_ = reinterpret_cast<int64_t*>(take(n_rows_ * static_cast<int64_t>(sizeof(int64_t))));
    for (size_t p = 0; p < static_cast<size_t>(x_rows_.n); ++p)
      x_[p] = reinterpret_cast<uint8_t*>(take(n_rows_ * x_rows_.bytes[p]));
    y_ = reinterpret_cast<float*>(take(n_rows_ * job_.n * static_cast<int64_t>(sizeof(float))));
    const MatmulJob product{.w = job_.w, .n = job_.n};
    std::array<MatmulJob, kMostJobs> several;
    several.fill(product);
    const bool is_single = job_.tokens == 1 && job_.shares_x;
    const size_t n_jobs = is_single ? static_cast<size_t>(std::min(job_.slots, kMostJobs)) : 1;
    const MatmulCall call =
        call_of(is_single ? 1 : n_rows_, job_.x.planes, {several.data(), n_jobs});
    product_ = take(job_.slots == 0 ? 0 : matmul_workspace(call, pool_.size()));
  }

  MatmulCall call_of(int64_t m, const quant::BlockPtr& x, std::span<const MatmulJob> jobs) const {
    MatmulCall call{
        .isa = job_.isa, .phase = job_.phase, .m = m, .k = job_.k, .x = job_.x, .jobs = jobs};
    call.x.planes = x;
    call.x.row_stride = job_.k;
    return call;
  }

  MatmulJob job_of(int64_t expert, float* y) const {
    MatmulJob product{.w = job_.w, .n = job_.n, .y = y, .y_stride = job_.n};
    product.w.planes = planes_at(job_.w.planes, w_rows_, expert * job_.n);
    return product;
  }

  // The matrices of all its slots in one parallel region, as x is the same.
  void single_token() {
    for (int64_t slot = 0; slot < job_.slots; slot += kMostJobs) {
      std::array<MatmulJob, kMostJobs> jobs;
      const int64_t n = std::min(kMostJobs, job_.slots - slot);
      for (int64_t i = 0; i < n; ++i)
        jobs[static_cast<size_t>(i)] = job_of(job_.expert[slot + i], job_.y + (slot + i) * job_.n);
      matmul(call_of(1, job_.x.planes, {jobs.data(), static_cast<size_t>(n)}), product_, pool_);
    }
  }

  // order_[starts_[e] ...] become the rows that chose expert e.
  void sort_by_expert() {
    std::fill_n(starts_, job_.experts + 2, 0);
    for (int64_t r = 0; r < n_rows_; ++r) ++starts_[job_.expert[r] + 2];
    for (int64_t e = 2; e < job_.experts + 2; ++e) starts_[e] += starts_[e - 1];
    for (int64_t r = 0; r < n_rows_; ++r) order_[starts_[job_.expert[r] + 1]++] = r;
  }

  void one_expert(int64_t expert) {
    const int64_t* rows = order_ + starts_[expert];
    const int64_t m = starts_[expert + 1] - starts_[expert];
    quant::BlockPtr x{};
    for (size_t p = 0; p < static_cast<size_t>(x_rows_.n); ++p) {
      const int64_t bytes = x_rows_.bytes[p];
      for (int64_t i = 0; i < m; ++i)
        std::memcpy(x_[p] + i * bytes, job_.x.planes[p] + x_row(rows[i]) * bytes,
                    static_cast<size_t>(bytes));
      x[p] = x_[p];
    }
    const MatmulJob product = job_of(expert, y_);
    matmul(call_of(m, x, {&product, 1}), product_, pool_);
    for (int64_t i = 0; i < m; ++i)
      std::memcpy(job_.y + rows[i] * job_.n, y_ + i * job_.n,
                  static_cast<size_t>(job_.n) * sizeof(float));
  }

  int64_t x_row(int64_t row) const { return job_.shares_x ? row / job_.slots : row; }

  const GroupedMatmul& job_;
  ThreadPool& pool_;
  int64_t n_rows_;
  RowBytes x_rows_, w_rows_;
  int64_t bytes_ = 0;
  int64_t *starts_ = nullptr, *order_ = nullptr;
  std::array<uint8_t*, quant::kMaxPlanes> x_{};
  float* y_ = nullptr;
  std::byte* product_ = nullptr;
};

}  // namespace

int64_t grouped_matmul_workspace(const GroupedMatmul& job, ThreadPool& pool) {
  return Run(job, nullptr, pool).bytes();
}

Status grouped_matmul(const GroupedMatmul& job, std::byte* workspace, ThreadPool& pool) {
  for (int64_t i = 0; i < job.tokens * job.slots; ++i)
    if (job.expert[i] < 0 || job.expert[i] >= job.experts)
      return {Status::Code::index_out_of_range, i};
  Run(job, workspace, pool).all();
  return {};
}

}  // namespace lamella::cpu
