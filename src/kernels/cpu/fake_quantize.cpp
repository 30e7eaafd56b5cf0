#include "lamella/kernels/cpu/fake_quantize.h"

#include <algorithm>
#include <cmath>

#include "lamella/kernels/cpu/by_isa.h"

namespace lamella::cpu {
namespace {

// Elements of a task; a channel is cut into pieces of as many.
constexpr int64_t kPiece = 16384;

const FakeQuantizeTable& table(Isa isa) { return LAMELLA_BY_ISA(isa, kFakeQuantizeTable); }

int64_t pieces(const FakeQuantize& job) { return (job.n + kPiece - 1) / kPiece; }

// fn(piece, channel, begin, end) for every piece of every channel; elements count over all of x.
template <class Fn>
void for_pieces(const FakeQuantize& job, ThreadPool& pool, Fn fn) {
  const int64_t each = pieces(job);
  if (each == 0) return;
  const int64_t grain = std::max<int64_t>(1, kPiece / std::max<int64_t>(job.n, 1));
  pool.run_ranges(job.channels * each, grain, [&](int64_t first, int64_t last, int) {
    for (int64_t piece = first; piece < last; ++piece) {
      const int64_t channel = piece / each, begin = piece % each * kPiece;
      fn(piece, channel, channel * job.n + begin,
         channel * job.n + std::min(begin + kPiece, job.n));
    }
  });
}

}  // namespace

int64_t magnitude_parts(const FakeQuantize& job) { return job.channels * pieces(job); }

void magnitudes(const FakeQuantize& job, float* parts, float* most, ThreadPool& pool, Isa isa) {
  const FakeQuantizeTable& on = table(isa);
  for_pieces(job, pool, [&](int64_t piece, int64_t, int64_t begin, int64_t end) {
    parts[piece] = on.magnitude(job, begin, end);
  });
  const int64_t each = pieces(job);
  for (int64_t channel = 0; channel < job.channels; ++channel) {
    float greatest = 0;
    for (int64_t i = 0; i < each; ++i) {
      const float part = parts[channel * each + i];
      if (part > greatest || std::isnan(part)) greatest = part;
      if (std::isnan(part)) break;
    }
    most[channel] = greatest;
  }
}

void fake_quantize(const FakeQuantize& job, ThreadPool& pool, Isa isa) {
  const FakeQuantizeTable& on = table(isa);
  for_pieces(job, pool, [&](int64_t, int64_t channel, int64_t begin, int64_t end) {
    on.quantize(job, job.scale[channel], begin, end);
  });
}

}  // namespace lamella::cpu
