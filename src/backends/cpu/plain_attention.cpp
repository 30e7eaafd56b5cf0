#include "lamella/backends/cpu/plain_attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lamella/backends/cpu/operands.h"
#include "lamella/ops/attention/kv_append.h"
#include "lamella/ops/attention/paged_attention.h"

namespace lamella::cpu {
namespace {

bool is_row_type(DType t) {
  return t.is_float() || (t.is_block() && t.info().format->n_planes == 1);
}

bool has_i32(const Graph& g, const Node& n, size_t first) {
  for (size_t i = first; i < first + 3; ++i)
    if (type_of_input(g, n, i).dtype != kI32) return false;
  return true;
}

// Rows of `d` elements that lie one after the other.
struct Rows {
  std::byte* data;
  DType dtype;
  int64_t d;

  std::byte* at(int64_t row) const {
    const quant::Format* f = dtype.info().format;
    const int64_t bytes = f ? f->blocks(d) * f->block_bytes() : d * dtype.bytes();
    return data + row * bytes;
  }
  void read(int64_t row, std::vector<double>& to) const {
    to.resize(static_cast<size_t>(d));
    const std::byte* from = at(row);
    if (const quant::Format* f = dtype.info().format) {
      std::vector<float> values(to.size());
      quant::decode_row(*f, {reinterpret_cast<const uint8_t*>(from)}, d, values.data());
      std::copy(values.begin(), values.end(), to.begin());
      return;
    }
    for (double& v : to) {
      v = load_double(dtype, from);
      from += dtype.bytes();
    }
  }
  void write(int64_t row, const double* values) const {
    std::byte* to = at(row);
    if (const quant::Format* f = dtype.info().format) {
      const std::vector<float> narrow(values, values + d);
      quant::encode_row(*f, narrow.data(), d, {reinterpret_cast<uint8_t*>(to)});
      return;
    }
    for (int64_t c = 0; c < d; ++c, to += dtype.bytes()) store_double(dtype, to, values[c]);
  }
};

Rows rows_of(const planned::Operand& x) { return {x.data, x.dtype, x.size(-1)}; }

// Sequences over pages, as the operands from `first` on say.
class Pages {
 public:
  Pages(const planned::StepCx& cx, size_t first, int64_t n_tokens, const planned::Operand& cache)
      : start_(cx.in(first).as<const int32_t>()),
        table_(cx.in(first + 1).as<const int32_t>()),
        length_(cx.in(first + 2).as<const int32_t>()),
        n_(cx.in(first + 2).size(0)),
        slots_(cx.in(first + 1).size(1)),
        n_tokens_(n_tokens),
        n_pages_(cache.size(0)),
        page_(cache.size(1)) {}

  int64_t n() const { return n_; }
  int64_t start(int64_t s) const { return start_[s]; }
  int64_t n_new(int64_t s) const { return start_[s + 1] - start_[s]; }
  int64_t length(int64_t s) const { return length_[s]; }
  int64_t position(int64_t s, int64_t i) const { return length_[s] - n_new(s) + i; }
  int64_t row(int64_t s, int64_t j) const {
    return int64_t{table_[s * slots_ + j / page_]} * page_ + j % page_;
  }

  // Sequence s fits in its tokens, and keys [begin, end) of it in their pages.
  bool fits(int64_t s) const {
    return start_[0] == 0 && start_[n_] == n_tokens_ && n_new(s) >= 0 && length_[s] >= n_new(s) &&
           length_[s] <= slots_ * page_;
  }
  bool has_pages(int64_t s, int64_t begin, int64_t end) const {
    for (int64_t p = begin / page_; p * page_ < end; ++p)
      if (table_[s * slots_ + p] < 0 || table_[s * slots_ + p] >= n_pages_) return false;
    return true;
  }

 private:
  const int32_t *start_, *table_, *length_;
  int64_t n_, slots_, n_tokens_, n_pages_, page_;
};

planned::Status bad_sequence(const Pages& pages, int64_t s) {
  return {planned::Status::bad_value, s, pages.length(s)};
}

struct Attention {
  const lamella::PagedAttention::Attrs& a;
  double scale;
  const planned::Operand& q;
  const planned::Operand& y;
  Rows k, v;
  int64_t kv_heads;
  const double* sinks;
  const Pages& pages;

  KeyRange keys(int64_t s, int64_t i) const {
    return visible_keys(pages.position(s, i), pages.length(s), a.causal, a.window);
  }

  // Query i of sequence s, by head h.
  void run(int64_t s, int64_t i, int64_t h) const {
    const int64_t token = pages.start(s) + i, own = h / (q.size(1) / kv_heads);
    const double* query = q.as<const double>() + token * q.strides[0] + h * q.strides[1];
    const KeyRange seen = keys(s, i);
    std::vector<double> p, row;
    double most = sinks ? sinks[h] : -INFINITY;
    for (int64_t j = seen.begin; j < seen.end; ++j) {
      k.read(pages.row(s, j) * kv_heads + own, row);
      double score = 0;
      for (size_t c = 0; c < row.size(); ++c)
        score += query[static_cast<int64_t>(c) * q.strides[2]] * row[c];
      score *= scale;
      if (a.soft_cap > 0) score = a.soft_cap * std::tanh(score / a.soft_cap);
      p.push_back(score);
      most = std::max(most, score);
    }
    double* to = y.as<double>() + (token * y.size(1) + h) * v.d;
    std::fill_n(to, v.d, 0.0);
    if (most == -INFINITY) return;
    double total = sinks ? std::exp(sinks[h] - most) : 0;
    for (double& e : p) total += e = std::exp(e - most);
    for (size_t j = 0; j < p.size(); ++j) {
      v.read(pages.row(s, seen.begin + static_cast<int64_t>(j)) * kv_heads + own, row);
      for (size_t c = 0; c < row.size(); ++c) to[c] += p[j] / total * row[c];
    }
  }
};

}  // namespace

bool plain_paged_accepts(const Graph& g, const Node& n, const void*) {
  return type_of_input(g, n, 0).dtype == kF64 && is_row_type(type_of_input(g, n, 1).dtype) &&
         is_row_type(type_of_input(g, n, 2).dtype) && has_i32(g, n, 3) &&
         n.attrs.as<lamella::PagedAttention::Attrs>().compute == Compute::exact &&
         (!has_input(n, 6) || type_of_input(g, n, 6).dtype == kF64);
}

planned::Status launch_plain_paged(const planned::StepCx& cx) {
  const auto& a = cx.attrs<lamella::PagedAttention::Attrs>();
  const planned::Operand &q = cx.in(0), &k = cx.in(1), &v = cx.in(2), &y = cx.out(0);
  const Pages pages(cx, 3, q.size(0), k);
  const Attention job{a,          a.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(2)))),
                      q,          y,
                      rows_of(k), rows_of(v),
                      k.size(2),  cx.has(6) ? cx.in(6).as<const double>() : nullptr,
                      pages};
  for (int64_t s = 0; s < pages.n(); ++s) {
    if (!pages.fits(s)) return bad_sequence(pages, s);
    for (int64_t i = 0; i < pages.n_new(s); ++i)
      if (const KeyRange seen = job.keys(s, i); !pages.has_pages(s, seen.begin, seen.end))
        return bad_sequence(pages, s);
  }
  for (int64_t s = 0; s < pages.n(); ++s)
    device_of(cx).pool->run_ranges(pages.n_new(s) * q.size(1), 1,
                                   [&](int64_t begin, int64_t end, int) {
                                     for (int64_t r = begin; r < end; ++r)
                                       job.run(s, r / q.size(1), r % q.size(1));
                                   });
  return {};
}

bool plain_append_accepts(const Graph& g, const Node& n, const void*) {
  const DType t = type_of_input(g, n, 0).dtype;
  return type_of_input(g, n, 1).dtype == kF64 && is_row_type(t) &&
         (!t.is_block() || t.info().format->encode) && has_i32(g, n, 2);
}

planned::Status launch_plain_append(const planned::StepCx& cx) {
  const planned::Operand &x = cx.in(1), &y = cx.out(0);
  const Pages pages(cx, 2, x.size(0), y);
  for (int64_t s = 0; s < pages.n(); ++s)
    if (!pages.fits(s) || !pages.has_pages(s, pages.position(s, 0), pages.length(s)))
      return bad_sequence(pages, s);
  const Rows rows = rows_of(y);
  std::vector<double> values(static_cast<size_t>(rows.d));
  for (int64_t s = 0; s < pages.n(); ++s)
    for (int64_t i = 0; i < pages.n_new(s); ++i)
      for (int64_t h = 0; h < x.size(1); ++h) {
        const double* from =
            x.as<const double>() + (pages.start(s) + i) * x.strides[0] + h * x.strides[1];
        for (int64_t c = 0; c < rows.d; ++c)
          values[static_cast<size_t>(c)] = from[c * x.strides[2]];
        rows.write(pages.row(s, pages.position(s, i)) * x.size(1) + h, values.data());
      }
  return {};
}

}  // namespace lamella::cpu
