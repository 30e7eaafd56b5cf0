// Cuts a call into tasks: panels of weights for bulk, runs of rows for decode.
#include "lamella/kernels/cpu/matmul.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/matmul_kernels.h"

namespace lamella::cpu {
namespace {

const MatmulKernels& kernels_of(Isa isa) { return LAMELLA_BY_ISA(isa, kMatmul); }

WeightView view_of(const Weights& w, int64_t k) {
  WeightView view{.format = w.format, .element = w.element, .planes = w.planes, .k = k};
  if (w.format) {
    view.n_blocks = w.format->blocks(k);
    for (int p = 0; p < w.format->n_planes; ++p) {
      view.row_bytes[p] = view.n_blocks * w.format->planes[p].block_bytes;
    }
  } else {
    view.row_bytes[0] = k * elem_bytes(w.element);
  }
  return view;
}

// The kernels for weights of a format: looked up once for all formats of the table, as products are
// called for every step of a model.
class EncodedKernels {
 public:
  EncodedKernels() {
    for (Isa isa : usable_isas()) {
      for (const quant::Format& format : quant::formats()) {
        known_[static_cast<size_t>(isa)].push_back(kernels_of(isa).encoded(format));
      }
    }
  }
  MatmulKernel operator()(Isa isa, const quant::Format& format) const {
    const auto table = quant::formats();
    const bool known = &format >= table.data() && &format < table.data() + table.size();
    return known ? known_[static_cast<size_t>(isa)][&format - table.data()]
                 : kernels_of(isa).encoded(format);
  }

 private:
  static constexpr size_t kIsas = static_cast<size_t>(Isa::neon) + 1;  // the last one
  std::array<std::vector<MatmulKernel>, kIsas> known_;
};

MatmulKernel encoded_kernel(Isa isa, const quant::Format& format) {
  static const EncodedKernels kernels;
  return kernels(isa, format);
}

// Whether x has what integer products need; other encodings of x are multiplied as f32.
bool has_sums(const quant::Format* x) { return x && x->planes[2].name == "sums"; }

// Whether the integer view gives the decoded values bit for bit, as rounding them to bf16 needs.
// Bytes with a minimum are decoded with one rounding less.
bool view_is_exact(const quant::Format& f) {
  return f.unpack && !(f.has_min && f.min_code == -128);
}

// Measured on a Xeon with AMX and on Zen 4 (docs/decisions/decode_reads.md).
int64_t ahead_in_runs(Isa isa) { return isa == Isa::amx ? kAheadInRuns : 0; }

// Null: not by tiles.
BulkKernel int8_tiles([[maybe_unused]] Isa isa, [[maybe_unused]] const quant::Format& w) {
#if defined(__x86_64__)
  if (isa == Isa::amx && w.unpack && !w.has_min && w.group >= 128 && w.group % 128 == 0) {
    return kAmxInt8;
  }
#endif
  return nullptr;
}

// One weight operand with the kernel that multiplies it.
struct Operand {
  WeightView w;
  MatmulKernel kernel;
  // How products by tiles read encoded weights.
  UnpackRows unpack = nullptr;
  int offset = 0;
  bool pairs = false;
  int64_t x_at = 0;  // where in the workspace x is, as the kernel wants it
};

constexpr size_t kMostJobs = 8;         // in a parallel region
constexpr int64_t kMostTaskRows = 256;  // of weights, in decode

// Bytes of an element of x as tiles multiply it; 0: none of the call's products are by tiles.
int tile_bytes(const MatmulCall& call) {
  if (call.phase != Phase::bulk) return 0;
  if (call.bf16) return 2;
  if (!has_sums(call.x.format) || call.x.format->block != kSpan) return 0;
  const auto by_tiles = [&](const Weights& w) {
    return w.format && int8_tiles(call.isa, *w.format);
  };
  return std::all_of(call.jobs.begin(), call.jobs.end(), [&](const MatmulJob& job) {
    return by_tiles(job.w) && (!job.gated || by_tiles(*job.gated));
  });
}

struct Plan {
  struct Job {
    const MatmulJob* job;
    Operand w, gated;
    int64_t first_task = 0;
  };
  struct Prepared {
    XWish wish;
    int64_t at;
  };
  std::array<Job, kMostJobs> jobs;
  size_t n_jobs = 0;
  std::array<Prepared, 2 * kMostJobs> prepared;
  size_t n_prepared = 0;
  int64_t chunk_rows = 0;     // rows of x in a round
  int tile_bytes = 0;         // see above
  int tile_rows = kTileRows;  // rows of x in a tile (bulk)
  int64_t product_at = 0;     // per-worker products
  int64_t product_bytes = 0;  // of one worker
  int64_t task_rows = 0;      // rows of weights in a task
  int64_t n_tasks = 0;
  int64_t total_bytes = 0;

  std::span<const Prepared> all_prepared() const { return {prepared.data(), n_prepared}; }
};

Operand operand_of(const MatmulCall& call, const Weights& w, Plan& plan, int64_t& bytes) {
  const quant::Format* x = call.x.format;
  Operand operand{.w = view_of(w, call.k), .kernel = kernels_of(call.isa).exact};
  if (call.bf16) {
    operand.kernel = MatmulKernel{};
    operand.kernel.wish.bf16 = true;
    const Bf16Unit& unit = *bf16_unit(call.isa);
    operand.kernel.wish.tile_rows =
        call.phase == Phase::bulk ? unit.tile_rows : unit.decode_tile_rows;
    operand.kernel.bulk = unit.bulk;
    operand.kernel.decode = unit.decode;
    if (w.format && view_is_exact(*w.format)) {
      const MatmulKernel encoded = encoded_kernel(call.isa, *w.format);
      operand.unpack = encoded.unpack;
      operand.offset = encoded.wish.offset;
      operand.pairs = encoded.wish.pairs;
    }
  } else if (w.format && w.format->unpack && has_sums(x)) {
    operand.kernel = encoded_kernel(call.isa, *w.format);
    if (plan.tile_bytes == 1) {
      operand.kernel.bulk = int8_tiles(call.isa, *w.format);
      operand.unpack = operand.kernel.unpack;
      operand.offset = std::exchange(operand.kernel.wish.offset, 0);
      operand.kernel.wish.tile_rows = kAmxTileRows;
    }
  }
  XWish& wish = operand.kernel.wish;
  wish = wish_of(operand.kernel, w.format, x);
  if (call.phase == Phase::bulk) {
    wish.chain = wish.vector = 0;
    wish.pairs = false;
    wish.units = nullptr;
  } else {
    wish.fold = 0;
  }
  for (const auto& prepared : plan.all_prepared()) {
    if (prepared.wish == wish) {
      operand.x_at = prepared.at;
      return operand;
    }
  }
  operand.x_at = bytes;
  plan.prepared[plan.n_prepared++] = {wish, bytes};
  bytes += call.phase == Phase::bulk ? bulk_x_bytes(wish, plan.chunk_rows, call.k, x)
                                     : decode_x_bytes(wish, plan.chunk_rows, call.k);
  return operand;
}

// Rows of weights a decode task does: about 256 KiB, as a kernel reads them in up to four streams,
// each of which the processor should follow for some pages; a few tasks for each thread, and as
// many for one as for another in the largest job.
int64_t decode_task_rows(const MatmulCall& call, int n_threads) {
  int64_t n = 0, most = 1, row_bytes = 1;
  for (const MatmulJob& job : call.jobs) {
    n += job.n;
    most = std::max(most, job.n);
    row_bytes = std::max(row_bytes, job.w.format
                                        ? job.w.format->blocks(call.k) * job.w.format->block_bytes()
                                        : call.k * elem_bytes(job.w.element));
  }
  const int64_t by_size = 262144 / row_bytes, by_threads = n / (4 * n_threads);
  const int64_t rows = std::clamp<int64_t>(std::min(by_size, by_threads), 1, kMostTaskRows);
  const int64_t n_tasks = round_up(ceil_div(most, rows), n_threads);
  // That a kernel takes at a time.
  const int64_t step = call.bf16 ? bf16_unit(call.isa)->decode_rows : call.m < 8 ? 4 : 8;
  return round_up(ceil_div(most, n_tasks), step);
}

// Panels of weights a bulk task does: several where x is too long to stay in the cache.
int64_t task_panels(const MatmulCall& call, int tile_bytes, int n_threads) {
  if (std::min<int64_t>(call.m, kMostSharedRows) * call.k * tile_bytes <= kBlockBytes) return 1;
  int64_t n_panels = 0;
  for (const MatmulJob& job : call.jobs) n_panels += ceil_div(job.n, kPanelRows);
  return std::clamp<int64_t>(n_panels / (4 * n_threads), 1, kMostPanels);
}

Plan plan_of(const MatmulCall& call, int n_threads) {
  Plan plan;
  const bool bulk = call.phase == Phase::bulk;
  plan.tile_bytes = tile_bytes(call);
  const int64_t n_panels = bulk ? task_panels(call, plan.tile_bytes, n_threads) : 1;
  plan.chunk_rows = std::min<int64_t>(call.m, !bulk          ? kDecodeRows
                                              : n_panels > 1 ? kMostSharedRows
                                                             : kChunkRows);
  if (plan.tile_bytes > 0)
    plan.tile_rows = call.bf16 ? bf16_unit(call.isa)->tile_rows : kAmxTileRows;
  plan.task_rows = bulk ? n_panels * kPanelRows : decode_task_rows(call, n_threads);
  int64_t bytes = 0;
  for (const MatmulJob& job : call.jobs) {
    Plan::Job& planned = plan.jobs[plan.n_jobs++];
    planned.job = &job;
    planned.w = operand_of(call, job.w, plan, bytes);
    if (job.gated) planned.gated = operand_of(call, *job.gated, plan, bytes);
    planned.first_task = plan.n_tasks;
    plan.n_tasks += ceil_div(job.n, plan.task_rows);
  }
  const int64_t lanes = bulk ? round_up(plan.chunk_rows, kTileRows) : plan.chunk_rows;
  plan.product_at = bytes;
  plan.product_bytes =
      round_up(lanes * (bulk ? plan.task_rows : kMostTaskRows) * sizeof(float), 64);
  plan.total_bytes = bytes + 2 * plan.product_bytes * n_threads;
  return plan;
}

// The rows [first, first + m) of x in one parallel region.
struct Round {
  const MatmulCall* call;
  const Plan* plan;
  std::byte* workspace;
  int64_t first, m;
  EpilogueKernel epilogue;
  Movers movers;
  // How x is cut too when there are few panels (bulk).
  int64_t tiles_per_task = 1, n_tile_ranges = 1;

  // Whether each thread takes neighbouring tasks, so that it knows which rows come next. Tiles of
  // bytes wait for memory; those of bf16 have twice as long for each weight.
  bool contiguous() const { return call->phase == Phase::decode || plan->tile_bytes == 1; }
};

void prepare(const Round& round, ThreadPool& pool) {
  const MatmulCall& call = *round.call;
  constexpr int64_t kWorthSharing = 1 << 16;
  for (const auto& [wish, at] : round.plan->all_prepared()) {
    std::byte* buffer = round.workspace + at;
    const auto fill = [&, &wish = wish](int64_t begin, int64_t end, int) {
      if (call.phase == Phase::bulk) {
        prepare_bulk(wish, call.x, round.first, begin, end, round.m, call.k,
                     bulk_x_view(wish, round.m, call.k, call.x.format, buffer), round.movers);
      } else {
        prepare_decode(wish, call.x, round.first, begin, end, round.m, call.k,
                       decode_x_view(wish, round.m, call.k, buffer), round.movers);
      }
    };
    if (round.m * call.k < kWorthSharing) {
      fill(0, round.m, 0);
    } else {
      pool.run_ranges(round.m, call.phase == Phase::bulk ? 16 : 1, fill);
    }
  }
}

// Rows of one operand.
struct RowsOf {
  const Operand* operand;
  int64_t row, n;
};

void multiply_bulk(const Round& round, const RowsOf& rows, const RowsOf& next, int64_t tile_range,
                   float* c) {
  const Operand& operand = *rows.operand;
  const BulkX x = bulk_x_view(operand.kernel.wish, round.m, round.call->k, round.call->x.format,
                              round.workspace + operand.x_at);
  const int64_t n_tiles = ceil_div(round.m, round.plan->tile_rows);
  const int64_t begin = tile_range * round.tiles_per_task;
  operand.kernel.bulk({.w = &operand.w,
                       .unpack = operand.unpack,
                       .offset = operand.offset,
                       .pairs = operand.pairs,
                       .row = rows.row,
                       .n_rows = static_cast<int>(rows.n),
                       .x = &x,
                       .m = round.m,
                       .tile_begin = begin,
                       .tile_end = std::min(begin + round.tiles_per_task, n_tiles),
                       .c = c,
                       .next_w = next.n > 0 ? &next.operand->w : nullptr,
                       .next_row = next.row,
                       .next_rows = std::min<int64_t>(next.n, kPanelRows)});
}

void multiply_decode(const Round& round, const Operand& operand, int64_t row, int64_t n_rows,
                     float* c, int64_t ldc) {
  const DecodeX x =
      decode_x_view(operand.kernel.wish, round.m, round.call->k, round.workspace + operand.x_at);
  operand.kernel.decode({.w = &operand.w,
                         .row = row,
                         .n_rows = n_rows,
                         .x = &x,
                         .m = round.m,
                         .c = c,
                         .ldc = ldc,
                         .ahead_in_runs = ahead_in_runs(round.call->isa)});
}

void run_task(const Round& round, int64_t task, int worker) {
  const Plan& plan = *round.plan;
  const auto after = std::upper_bound(
      plan.jobs.begin(), plan.jobs.begin() + plan.n_jobs, task,
      [&](int64_t t, const Plan::Job& job) { return t < job.first_task * round.n_tile_ranges; });
  const Plan::Job& planned = *(after - 1);
  const MatmulJob& job = *planned.job;
  task -= planned.first_task * round.n_tile_ranges;
  const int64_t tile_range = task % round.n_tile_ranges;
  const int64_t row = task / round.n_tile_ranges * plan.task_rows;
  const int64_t n_rows = std::min(plan.task_rows, job.n - row);
  auto* c =
      reinterpret_cast<float*>(round.workspace + plan.product_at + worker * 2 * plan.product_bytes);
  float* c_gated = job.gated ? c + plan.product_bytes / sizeof(float) : nullptr;
  EpilogueArgs out{.job = &job,
                   .row0 = round.first,
                   .m = round.m,
                   .col0 = row,
                   .n = n_rows,
                   .c = c,
                   .c_gated = c_gated,
                   .ldc = plan.task_rows,
                   .tile_rows = 0};
  if (round.call->phase != Phase::bulk) {
    multiply_decode(round, planned.w, row, n_rows, c, out.ldc);
    if (c_gated) multiply_decode(round, planned.gated, row, n_rows, c_gated, out.ldc);
    round.epilogue(out, round.movers.transpose);
    return;
  }
  const RowsOf gated{&planned.gated, row, n_rows};
  const RowsOf below{&planned.w, row + n_rows, round.contiguous() ? job.n - row - n_rows : 0};
  multiply_bulk(round, {&planned.w, row, n_rows}, c_gated ? gated : below, tile_range, c);
  if (c_gated) multiply_bulk(round, gated, below, tile_range, c_gated);
  out.tile_rows = plan.tile_rows;
  const int64_t first = tile_range * round.tiles_per_task * plan.tile_rows;
  out.row0 += first;
  out.m = std::min(round.tiles_per_task * plan.tile_rows, round.m - first);
  const int64_t panel_products = round_up(out.m, plan.tile_rows) * kPanelRows;
  for (; out.col0 < row + n_rows; out.col0 += kPanelRows) {
    out.n = std::min<int64_t>(kPanelRows, row + n_rows - out.col0);
    round.epilogue(out, round.movers.transpose);
    out.c += panel_products;
    if (out.c_gated) out.c_gated += panel_products;
  }
}

}  // namespace

const Bf16Unit* bf16_unit([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::amx) return &kAmxUnit;
  if (isa == Isa::avx512_bf16) return &kAvx512Bf16Unit;
#endif
  return nullptr;
}

bool has_bf16_unit(Isa isa) { return bf16_unit(isa) != nullptr; }

bool rounds_weights(Isa isa, const quant::Format& w) {
  return isa == Isa::amx && int8_tiles(isa, w) == nullptr;
}

XWish wish_of(const MatmulKernel& kernel, const quant::Format* w, const quant::Format* x) {
  XWish wish = kernel.wish;
  if (!wish.encoded) return wish;
  wish.fold = std::min(w->group, x->block);
  wish.sums = w->has_min;
  return wish;
}

namespace {

// As many of the call's jobs as fit one plan, from `job` on.
MatmulCall jobs_from(const MatmulCall& call, size_t job) {
  MatmulCall part = call;
  part.jobs = call.jobs.subspan(job, std::min(kMostJobs, call.jobs.size() - job));
  return part;
}

void run_part(const MatmulCall& call, std::byte* workspace, ThreadPool& pool) {
  const Plan plan = plan_of(call, pool.size());
  if (plan.n_tasks == 0) return;
  for (int64_t first = 0; first < call.m; first += plan.chunk_rows) {
    Round round{.call = &call,
                .plan = &plan,
                .workspace = workspace,
                .first = first,
                .m = std::min(plan.chunk_rows, call.m - first),
                .epilogue = LAMELLA_BY_ISA(call.isa, kEpilogue),
                .movers = {.transpose = kernels_of(call.isa).transpose}};
    if (const Bf16Unit* unit = bf16_unit(call.isa)) round.movers.round = unit->round;
    if (call.phase == Phase::bulk) {
      const int64_t n_tiles = ceil_div(round.m, plan.tile_rows);
      const int64_t wanted = ceil_div(int64_t{pool.size()} * 4, plan.n_tasks);
      round.tiles_per_task = ceil_div(n_tiles, std::clamp<int64_t>(wanted, 1, n_tiles));
      round.n_tile_ranges = ceil_div(n_tiles, round.tiles_per_task);
    }
    prepare(round, pool);
    const auto task = [&](int64_t task, int worker) { run_task(round, task, worker); };
    if (round.contiguous()) {
      pool.run_contiguous(plan.n_tasks * round.n_tile_ranges, task);
    } else {
      pool.run(plan.n_tasks * round.n_tile_ranges, task);
    }
  }
}

}  // namespace

int64_t matmul_workspace(const MatmulCall& call, int n_threads) {
  int64_t bytes = 0;
  for (size_t job = 0; job < call.jobs.size(); job += kMostJobs) {
    bytes = std::max(bytes, plan_of(jobs_from(call, job), n_threads).total_bytes);
  }
  return bytes;
}

void matmul(const MatmulCall& call, std::byte* workspace, ThreadPool& pool) {
  if (call.m == 0) return;
  for (size_t job = 0; job < call.jobs.size(); job += kMostJobs) {
    run_part(jobs_from(call, job), workspace, pool);
  }
}

const quant::Format* activation_encoding(const quant::Format& format, Phase phase) {
  if (!format.unpack) return nullptr;
  const bool wide = phase == Phase::bulk && (format.group >= 128 || format.block >= 256);
  return quant::find_format(wide ? "q8_256" : "q8_32");
}

}  // namespace lamella::cpu
