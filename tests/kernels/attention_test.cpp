#include "lamella/kernels/cpu/attention.h"

#include <numbers>

#include "kernel_cases.h"
#include "lamella/kernels/cpu/kv_append.h"
#include "lamella/quant/format.h"

namespace lamella::cpu {
namespace {

struct Seq {
  int64_t n_queries, n_keys;
};

enum class Arithmetic { bulk, decode, bf16 };
template <class Fn>
void for_each_arithmetic(Isa isa, Fn fn) {
  fn(Arithmetic::bulk);
  fn(Arithmetic::decode);
  if (rounds_attention(isa)) fn(Arithmetic::bf16);
}

// Sequences with random queries, keys and values in a paged cache whose pages are shuffled.
struct PagedCase {
  PagedAttention job;
  KvAppend append;
  std::vector<Seq> seqs;
  std::vector<float> q, y, sinks;
  std::vector<std::vector<float>> k, v;  // [seq][key, kv head, d]
  std::vector<uint8_t> k_pages, v_pages;
  std::vector<int32_t> q_start{0}, kv_len, table;

  PagedCase(std::vector<Seq> s, AttentionMath math, KvType type, int64_t page, uint64_t seed)
      : seqs(std::move(s)) {
    Random random(seed);
    job.math = math;
    job.math.scale = 1.0f / std::sqrt(static_cast<float>(math.dk));
    job.page = page;
    job.k_type = job.v_type = type;
    job.n_seqs = static_cast<int64_t>(seqs.size());
    int64_t most = 1;
    for (const Seq& seq : seqs) {
      q_start.push_back(q_start.back() + static_cast<int32_t>(seq.n_queries));
      kv_len.push_back(static_cast<int32_t>(seq.n_keys));
      most = std::max(most, (seq.n_keys + page - 1) / page);
    }
    job.page_table_stride = most + 1;
    job.n_pages = most * job.n_seqs + 1;
    std::vector<int32_t> order(static_cast<size_t>(job.n_pages));
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
    std::shuffle(order.begin(), order.end(), random.bits);
    table.assign(static_cast<size_t>(job.n_seqs * job.page_table_stride), -1);
    for (int64_t seq = 0; seq < job.n_seqs; ++seq) {
      for (int64_t p = 0; p < (seqs[seq].n_keys + page - 1) / page; ++p) {
        table[seq * job.page_table_stride + p] = order.back();
        order.pop_back();
      }
    }
    fill_cache(random);
    q = random.floats(q_start.back() * math.heads * math.dk, -2, 2);
  }

  void fill_cache(Random& random) {
    const AttentionMath& m = job.math;
    const int64_t rows = job.n_pages * job.page * m.kv_heads;
    k_pages.assign(static_cast<size_t>(rows * kv_row_bytes(job.k_type, m.dk)), 0xff);
    v_pages.assign(static_cast<size_t>(rows * kv_row_bytes(job.v_type, m.dv)), 0xff);
    for (const Seq& seq : seqs) {
      k.push_back(random.floats(seq.n_keys * m.kv_heads * m.dk, -2, 2));
      v.push_back(random.floats(seq.n_keys * m.kv_heads * m.dv));
    }
    ThreadPool pool(1);
    for (int64_t seq = 0; seq < job.n_seqs; ++seq) {
      const int32_t start[2] = {0, kv_len[seq]};
      KvAppend a{.kv_heads = m.kv_heads, .n_seqs = 1, .q_start = start, .kv_len = &kv_len[seq]};
      a.page_table = table.data() + seq * job.page_table_stride;
      a.page_table_stride = job.page_table_stride;
      a.type = job.k_type;
      a.n_pages = job.n_pages;
      a.page = job.page;
      append_one(a, k[seq], m.dk, k_pages, pool);
      append_one(a, v[seq], m.dv, v_pages, pool);
    }
  }
  static void append_one(KvAppend a, std::vector<float>& x, int64_t d, std::vector<uint8_t>& pages,
                         ThreadPool& pool) {
    a.x = x.data();
    a.d = d;
    a.head_stride = d;
    a.token_stride = a.kv_heads * d;
    a.pages = pages.data();
    ASSERT_TRUE(kv_append(a, pool, Isa::scalar).ok());
    round_trip(a.type, x);
  }
  // x as the cache holds it.
  static void round_trip(KvType type, std::vector<float>& x) {
    if (type == KvType::f16)
      for (float& v : x) v = static_cast<float>(f16::from(v));
    if (type == KvType::bf16)
      for (float& v : x) v = static_cast<float>(bf16::from(v));
    if (type == KvType::q8_0 || type == KvType::q4_0) {
      const auto& format = *quant::find_format(type == KvType::q8_0 ? "q8_0" : "q4_0");
      std::vector<uint8_t> block(64);
      for (size_t i = 0; i < x.size(); i += 32) {
        format.encode(&x[i], {block.data()});
        format.decode({block.data()}, &x[i]);
      }
    }
  }

  // Operands as both products take them.
  double round(double x) const {
    return job.math.bf16
               ? static_cast<double>(static_cast<float>(bf16::from(static_cast<float>(x))))
               : x;
  }

  Status run(Isa isa, int threads, Arithmetic arithmetic) {
    const bool decode = arithmetic == Arithmetic::decode;
    job.math.bf16 = arithmetic == Arithmetic::bf16;
    ThreadPool pool(threads);
    const AttentionMath& m = job.math;
    y.assign(static_cast<size_t>(q_start.back() * m.heads * m.dv), kNan);
    job.math.decode = decode;
    job.math.sinks = sinks.empty() ? nullptr : sinks.data();
    job.q = q.data();
    job.y = y.data();
    job.q_head_stride = m.dk;
    job.q_token_stride = m.heads * m.dk;
    job.y_head_stride = m.dv;
    job.y_token_stride = m.heads * m.dv;
    job.q_start = q_start.data();
    job.kv_len = kv_len.data();
    job.page_table = table.data();
    job.k_pages = k_pages.data();
    job.v_pages = v_pages.data();
    return paged_attention(job, pool, isa);
  }

  std::vector<double> expected(int64_t seq, int64_t query, int64_t head) const {
    const AttentionMath& m = job.math;
    const int64_t kv_head = head / (m.heads / m.kv_heads);
    const int64_t position = seqs[seq].n_keys - seqs[seq].n_queries + query;
    const int64_t lo = m.window > 0 ? std::max<int64_t>(0, position + 1 - m.window) : 0;
    const int64_t hi = m.causal ? position + 1 : seqs[seq].n_keys;
    const float* qr = &q[((q_start[seq] + query) * m.heads + head) * m.dk];
    std::vector<double> score, out(static_cast<size_t>(m.dv), 0.0);
    double top = sinks.empty() ? -INFINITY : sinks[head], total = 0;
    for (int64_t key = lo; key < hi; ++key) {
      double s = 0;
      for (int64_t i = 0; i < m.dk; ++i) {
        s += round(qr[i]) * round(k[seq][(key * m.kv_heads + kv_head) * m.dk + i]);
      }
      s *= m.scale;
      if (m.soft_cap > 0) s = m.soft_cap * std::tanh(s / m.soft_cap);
      score.push_back(s);
      top = std::max(top, s);
    }
    top = std::ceil(top / std::numbers::ln2) * std::numbers::ln2;
    if (!sinks.empty()) total = std::exp(sinks[head] - top);
    for (double& s : score) total += s = round(std::exp(s - top));
    for (int64_t key = lo; key < hi; ++key) {
      const double p = score[key - lo] / total;
      for (int64_t i = 0; i < m.dv; ++i) {
        out[i] += p * round(v[seq][(key * m.kv_heads + kv_head) * m.dv + i]);
      }
    }
    return out;
  }

  void check() const {
    const AttentionMath& m = job.math;
    for (int64_t seq = 0; seq < job.n_seqs; ++seq) {
      for (int64_t query = 0; query < seqs[seq].n_queries; ++query) {
        // A weight near the middle between two numbers may be rounded to the other one.
        const double bound = m.bf16 ? 1e-3 : 4e-6;
        for (int64_t head = 0; head < m.heads; ++head) {
          const auto want = expected(seq, query, head);
          const float* got = &y[((q_start[seq] + query) * m.heads + head) * m.dv];
          for (int64_t i = 0; i < m.dv; ++i) {
            ASSERT_NEAR(got[i], want[i], bound) << seq << " " << query << " " << head << " " << i;
          }
        }
      }
    }
  }
};

const std::vector<Seq> kMixed = {{5, 5}, {1, 700}, {0, 3}, {70, 130}, {33, 33}, {1, 1}, {2, 260}};

TEST(PagedAttention, MatchesTheFormula) {
  struct Shape {
    AttentionMath math;
    KvType type;
    int64_t page;
  };
  const Shape shapes[] = {
      {{.heads = 6, .kv_heads = 2, .dk = 64, .dv = 64}, KvType::f16, 64},
      {{.heads = 2, .kv_heads = 2, .dk = 80, .dv = 33}, KvType::f32, 7},
      {{.heads = 5, .kv_heads = 1, .dk = 5, .dv = 3, .window = 9}, KvType::bf16, 16},
      {{.heads = 9, .kv_heads = 3, .dk = 32, .dv = 96, .window = 300, .soft_cap = 3},
       KvType::f16,
       1024},
      {{.heads = 2, .kv_heads = 1, .dk = 64, .dv = 64, .causal = false}, KvType::q8_0, 32},
      {{.heads = 4, .kv_heads = 1, .dk = 128, .dv = 128}, KvType::q4_0, 64},
  };
  for_each_isa([&](Isa isa) {
    for (const Shape& shape : shapes) {
      for_each_arithmetic(isa, [&](Arithmetic arithmetic) {
        PagedCase c(kMixed, shape.math, shape.type, shape.page, 1);
        ASSERT_TRUE(c.run(isa, 2, arithmetic).ok());
        c.check();
        const auto y = c.y;
        for (const int threads : {1, 5}) {
          c.run(isa, threads, arithmetic);
          EXPECT_TRUE(same_bits(y, c.y));
        }
      });
    }
  });
}

TEST(PagedAttention, SinksTakeTheirShare) {
  for_each_isa([&](Isa isa) {
    for_each_arithmetic(isa, [&](Arithmetic arithmetic) {
      PagedCase c(kMixed, {.heads = 3, .kv_heads = 1, .dk = 16, .dv = 16}, KvType::f32, 8, 2);
      c.sinks = {0.5f, -3, 8};
      ASSERT_TRUE(c.run(isa, 2, arithmetic).ok());
      c.check();
    });
  });
}

// A sequence alone, in one chunk or in several, has the bits it has in a batch.
TEST(PagedAttention, BitsDependOnTheQueryAlone) {
  const AttentionMath math{.heads = 6, .kv_heads = 2, .dk = 48, .dv = 40, .window = 333};
  for_each_isa([&](Isa isa) {
    for_each_arithmetic(isa, [&](Arithmetic arithmetic) {
      PagedCase all({{9, 9}, {150, 600}, {1, 44}}, math, KvType::f16, 24, 3);
      ASSERT_TRUE(all.run(isa, 2, arithmetic).ok());
      const int64_t row = math.heads * math.dv;
      for (const auto& [first, last] :
           {std::array<int64_t, 2>{0, 150}, {0, 1}, {0, 64}, {64, 150}, {13, 18}, {149, 150}}) {
        PagedCase part = all;
        part.seqs = {{last - first, 450 + last}};
        part.q.assign(all.q.begin() + (9 + first) * math.heads * math.dk,
                      all.q.begin() + (9 + last) * math.heads * math.dk);
        part.job.n_seqs = 1;
        part.q_start = {0, static_cast<int32_t>(last - first)};
        part.kv_len = {static_cast<int32_t>(450 + last)};
        part.table.assign(all.table.begin() + all.job.page_table_stride,
                          all.table.begin() + 2 * all.job.page_table_stride);
        ASSERT_TRUE(part.run(isa, 3, arithmetic).ok());
        EXPECT_EQ(0, std::memcmp(part.y.data(), &all.y[(9 + first) * row],
                                 static_cast<size_t>((last - first) * row) * sizeof(float)))
            << "arithmetic " << static_cast<int>(arithmetic) << " queries " << first << ".."
            << last;
      }
    });
  });
}

TEST(PagedAttention, RefusesPagesAndLengthsOutOfRange) {
  const AttentionMath math{.heads = 1, .kv_heads = 1, .dk = 8, .dv = 8};
  for (const Arithmetic arithmetic : {Arithmetic::bulk, Arithmetic::decode}) {
    const PagedCase good({{2, 20}, {2, 20}}, math, KvType::f16, 8, 4);
    const auto run = [&](auto spoil) {
      PagedCase c = good;
      spoil(c);
      const Status status = c.run(Isa::scalar, 1, arithmetic);
      EXPECT_EQ(status.code, Status::Code::index_out_of_range);
      EXPECT_EQ(status.index, 1);
    };
    run([](PagedCase& c) {
      c.table[c.job.page_table_stride + 1] = static_cast<int32_t>(c.job.n_pages);
    });
    run([](PagedCase& c) { c.table[c.job.page_table_stride] = -1; });
    run([](PagedCase& c) { c.kv_len[1] = 1; });
    run([](PagedCase& c) { c.kv_len[1] = 1000; });
    run([](PagedCase& c) {
      c.q_start[2] = 1;
      c.q.resize(16);
    });
  }
}

TEST(PagedAttention, NanInAQueryStaysInItsRow) {
  for_each_isa([&](Isa isa) {
    for_each_arithmetic(isa, [&](Arithmetic arithmetic) {
      PagedCase c({{40, 40}}, {.heads = 2, .kv_heads = 1, .dk = 16, .dv = 16}, KvType::f32, 8, 5);
      c.q[(7 * 2 + 1) * 16 + 3] = kNan;
      ASSERT_TRUE(c.run(isa, 1, arithmetic).ok());
      for (int64_t row = 0; row < 80; ++row) EXPECT_EQ(std::isnan(c.y[row * 16]), row == 15);
    });
  });
}

struct DenseCase {
  DenseAttention job;
  std::vector<float> q, k, v, y, bias;
  std::vector<char> mask;

  DenseCase(AttentionMath math, int64_t batch, int64_t n_queries, int64_t n_keys, uint64_t seed) {
    Random random(seed);
    job.math = math;
    job.math.scale = 0.3f;
    job.batch = batch;
    job.n_queries = n_queries;
    job.n_keys = n_keys;
    job.first_position = n_keys - n_queries;
    // q and y as [batch, query, head, d], k as [batch, head, key, d + 1], v as [key, batch, head,
    // d].
    job.q_strides = {n_queries * math.heads * math.dk, math.dk, math.heads * math.dk, 1};
    job.y_strides = {n_queries * math.heads * math.dv, math.dv, math.heads * math.dv, 1};
    job.k_strides = {math.kv_heads * n_keys * (math.dk + 1), n_keys * (math.dk + 1), math.dk + 1,
                     1};
    job.v_strides = {math.kv_heads * math.dv, math.dv, batch * math.kv_heads * math.dv, 1};
    q = random.floats(batch * n_queries * math.heads * math.dk, -2, 2);
    k = random.floats(batch * math.kv_heads * n_keys * (math.dk + 1), -2, 2);
    v = random.floats(batch * math.kv_heads * n_keys * math.dv);
    bias = random.floats(batch * n_queries * n_keys, -2, 2);
    for (int64_t i = 0; i < math.heads * n_keys; ++i) mask.push_back(random.below(3) > 0);
  }
  void run(Isa isa, bool with_bias, bool with_mask, bool decode) {
    ThreadPool pool(2);
    job.math.decode = decode;
    y.assign(static_cast<size_t>(job.batch * job.n_queries * job.math.heads * job.math.dv), kNan);
    job.q = q.data();
    job.k = k.data();
    job.v = v.data();
    job.y = y.data();
    job.bias = with_bias ? bias.data() : nullptr;
    job.bias_strides = {job.n_queries * job.n_keys, 0, job.n_keys, 1};
    job.mask = with_mask ? reinterpret_cast<const bool*>(mask.data()) : nullptr;
    job.mask_strides = {0, job.n_keys, 0, 1};
    ASSERT_TRUE(dense_attention(job, pool, isa).ok());
  }
  static int64_t at(const Strides4& s, int64_t b, int64_t h, int64_t r, int64_t c) {
    return b * s.batch + h * s.head + r * s.row + c * s.column;
  }
  double score(int64_t b, int64_t h, int64_t i, int64_t key) const {
    const AttentionMath& m = job.math;
    const int64_t position = job.first_position + i, kv = h / (m.heads / m.kv_heads);
    if (m.causal && key > position) return -INFINITY;
    if (m.window > 0 && (key <= position - m.window || key >= position + m.window))
      return -INFINITY;
    if (job.mask && !job.mask[at(job.mask_strides, b, h, i, key)]) return -INFINITY;
    double s = 0;
    for (int64_t d = 0; d < m.dk; ++d) {
      s += double{q[at(job.q_strides, b, h, i, d)]} * k[at(job.k_strides, b, kv, key, d)];
    }
    s *= m.scale;
    return s + (job.bias ? job.bias[at(job.bias_strides, b, h, i, key)] : 0);
  }
  void check_row(int64_t b, int64_t h, int64_t i) const {
    const AttentionMath& m = job.math;
    std::vector<double> s, out(static_cast<size_t>(m.dv), 0.0);
    double top = -INFINITY, total = 0;
    for (int64_t key = 0; key < job.n_keys; ++key) {
      s.push_back(score(b, h, i, key));
      top = std::max(top, s.back());
    }
    for (double x : s) total += top == -INFINITY ? 0 : std::exp(x - top);
    for (int64_t key = 0; key < job.n_keys && total > 0; ++key) {
      const double p = std::exp(s[key] - top) / total;
      for (int64_t d = 0; d < m.dv; ++d) {
        out[d] += p * v[at(job.v_strides, b, h / (m.heads / m.kv_heads), key, d)];
      }
    }
    for (int64_t d = 0; d < m.dv; ++d) {
      ASSERT_NEAR(y[at(job.y_strides, b, h, i, d)], out[d], 4e-6) << b << " " << h << " " << i;
    }
  }
  void check() const {
    for (int64_t b = 0; b < job.batch; ++b) {
      for (int64_t h = 0; h < job.math.heads; ++h) {
        for (int64_t i = 0; i < job.n_queries; ++i) check_row(b, h, i);
      }
    }
  }
};

TEST(DenseAttention, MatchesTheFormula) {
  for_each_isa([&](Isa isa) {
    for (const bool causal : {false, true}) {
      for (const auto& [n_queries, n_keys] :
           {std::array<int64_t, 2>{1, 1}, {1, 300}, {50, 50}, {9, 70}, {70, 9}, {3, 0}, {0, 3}}) {
        for (int variant = 0; variant < 8; ++variant) {
          DenseCase c({.heads = 4, .kv_heads = 2, .dk = 24, .dv = 17, .causal = causal}, 2,
                      n_queries, n_keys, 7);
          c.run(isa, variant & 1, variant & 2, variant & 4);
          c.check();
        }
      }
    }
  });
}

TEST(KvAppend, RefusesPlacesOutOfRange) {
  ThreadPool pool(1);
  std::vector<float> x(4 * 8, 1.0f), pages(64, kNan);
  const int32_t q_start[] = {0, 1, 4}, kv_len[] = {3, 8}, table[] = {0, 1, 2, 4};
  KvAppend job{.x = x.data(), .token_stride = 8, .head_stride = 8, .kv_heads = 1, .d = 8};
  job.n_seqs = 2;
  job.q_start = q_start;
  job.kv_len = kv_len;
  job.page_table = table;
  job.page_table_stride = 2;
  job.type = KvType::f32;
  job.pages = pages.data();
  job.n_pages = 4;
  job.page = 6;
  const Status status = kv_append(job, pool, Isa::scalar);
  EXPECT_EQ(status.code, Status::Code::index_out_of_range);
  EXPECT_EQ(status.index, 2);  // positions 5, 6, 7: the second one is in page 4
  for (float v : pages) EXPECT_TRUE(std::isnan(v));
}

TEST(KvAppend, RoundsToNearestEvenOnEveryIsa) {
  ThreadPool pool(2);
  Random random(9);
  std::vector<float> x = random.floats(5 * 3 * 21, -70000, 70000);
  x[0] = kNan;
  x[1] = kInfinity;
  x[2] = 1.00048828125f;  // half-way between two f16
  const int32_t q_start[] = {0, 5}, kv_len[] = {5}, table[] = {2, 0};
  for_each_isa([&](Isa isa) {
    for (const KvType type : {KvType::f16, KvType::bf16}) {
      std::vector<uint16_t> pages(3 * 3 * 3 * 21, 0x7e77);
      KvAppend job{.x = x.data(), .token_stride = 63, .head_stride = 21, .kv_heads = 3, .d = 21};
      job.n_seqs = 1;
      job.q_start = q_start;
      job.kv_len = kv_len;
      job.page_table = table;
      job.page_table_stride = 2;
      job.type = type;
      job.pages = pages.data();
      job.n_pages = 3;
      job.page = 3;
      ASSERT_TRUE(kv_append(job, pool, isa).ok());
      for (int64_t token = 0; token < 5; ++token) {
        for (int64_t i = 0; i < 63; ++i) {
          const int64_t row = table[token / 3] * 3 + token % 3;
          const float value = x[token * 63 + i];
          const uint16_t want =
              type == KvType::f16 ? f16::from(value).bits : bf16::from(value).bits;
          ASSERT_EQ(pages[row * 63 + i], want) << value;
        }
      }
      for (int64_t i = 0; i < 63; ++i) EXPECT_EQ(pages[(2 + 0) * 63 + i], 0x7e77);  // unused row
    }
  });
}

}  // namespace
}  // namespace lamella::cpu
