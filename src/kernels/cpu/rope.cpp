#include "lamella/kernels/cpu/rope.h"

#include <algorithm>

#include "lamella/kernels/cpu/by_isa.h"

namespace lamella::cpu {

void rope(const Rope& job, ThreadPool& pool, Isa isa) {
  constexpr int64_t kTaskElements = 8192;
  const int64_t row = std::max<int64_t>(1, job.heads * job.dim);
  const RopeRange range = LAMELLA_BY_ISA(isa, kRope);
  pool.run_ranges(job.tokens, std::max<int64_t>(1, kTaskElements / row),
                  [&](int64_t begin, int64_t end, int) { range(job, begin, end); });
}

}  // namespace lamella::cpu
