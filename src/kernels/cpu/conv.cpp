// Convolution and its transpose as products of rows of weights with shifted rows of the input.
#include "lamella/kernels/cpu/conv.h"

#include "lamella/kernels/cpu/conv_layout.h"
#include "lamella/kernels/cpu/scratch.h"

namespace lamella::cpu {
namespace {

// One row of products: its first weight within the group, its output channel within the group, and
// where place 0 of the grid lies in the output.
struct ProductRow {
  int64_t w, channel;
  Places first;
};

// Rows that read the same elements.
struct ProductClass {
  ConvTaps taps;
  std::vector<ProductRow> rows;
};

// What conv and its transpose have in common: out[row at first + q * step] = sums at place q.
struct Products {
  ConvLayout layout;
  Places in_sizes, out_sizes, out_step;
  Places grid;  // places q that are wanted; the layout's sizes are the pitch
  int64_t in_channels, out_channels, w_channel;
  std::vector<ProductClass> classes;
};

// A run of the grid that one task makes, for rows [row, row_end) of a class.
struct Piece {
  const ProductClass* of;
  int64_t row, row_end, place, place_end;
};

constexpr int64_t kPieceRows = 64, kPiecePlaces = 384;

// Runs of adjacent places; the places between the wanted ones are computed too where they are few.
std::vector<std::array<int64_t, 2>> runs_of(const Products& p) {
  const Places& pitch = p.layout.sizes;
  const bool by_row = pitch[2] - p.grid[2] > p.grid[2] / 2 + 8;
  std::vector<std::array<int64_t, 2>> runs;
  for (int64_t i = 0; i < p.grid[0]; ++i) {
    const int64_t start = i * pitch[1] * pitch[2];
    if (!by_row) {
      runs.push_back({start, start + (p.grid[1] - 1) * pitch[2] + p.grid[2]});
      continue;
    }
    for (int64_t j = 0; j < p.grid[1]; ++j)
      runs.push_back({start + j * pitch[2], start + j * pitch[2] + p.grid[2]});
  }
  return runs;
}

std::vector<Piece> pieces_of(const Products& p) {
  std::vector<Piece> pieces;
  if (product(p.grid) == 0) return pieces;
  const auto runs = runs_of(p);
  for (const ProductClass& c : p.classes)
    for (const auto& [start, end] : runs)
      for (int64_t place = start; place < end; place += kPiecePlaces)
        for (size_t row = 0; row < c.rows.size(); row += kPieceRows)
          pieces.push_back({&c, static_cast<int64_t>(row),
                            static_cast<int64_t>(std::min(row + kPieceRows, c.rows.size())), place,
                            std::min(place + kPiecePlaces, end)});
  return pieces;
}

// Writes the sums of places [place, place + n) of one row.
template <class T>
void store_row(const Products& p, const ProductRow& row, int64_t place, int64_t n,
               const ConvSum<T>* sums, ConvSum<T> bias, T* out) {
  const Places &pitch = p.layout.sizes, &size = p.out_sizes, &step = p.out_step;
  const int64_t low = std::max<int64_t>(0, conv_ceil_div(-row.first[2], step[2]));
  const int64_t high = std::min(p.grid[2], conv_ceil_div(size[2] - row.first[2], step[2]));
  for (int64_t j = 0; j < n;) {
    const int64_t q = (place + j) % pitch[2], above = (place + j) / pitch[2];
    const int64_t run = std::min(pitch[2] - q, n - j);
    const int64_t a = above / pitch[1] * step[0] + row.first[0];
    const int64_t b = above % pitch[1] * step[1] + row.first[1];
    if (above % pitch[1] < p.grid[1] && a >= 0 && a < size[0] && b >= 0 && b < size[1]) {
      T* to = out + (a * size[1] + b) * size[2];
      for (int64_t i = std::max(low, q); i < std::min(high, q + run); ++i)
        to[i * step[2] + row.first[2]] = conv_rounded<T>(sums[j + i - q] + bias);
    }
    j += run;
  }
}

// What every task reads.
template <class T>
struct Shared {
  const Products* p;
  const ConvKernels<ConvSum<T>>* kernels;
  const ConvSum<T>* laid_out;  // [images][groups * in channels][layout]
  const ConvSum<T>* w;
  const T* bias;
  T* out;
};

template <class T>
void run_piece(const Shared<T>& s, const Piece& piece, int64_t image, int64_t out_image,
               int64_t group, int64_t groups, int64_t w_group) {
  using Sum = ConvSum<T>;
  const Products& p = *s.p;
  const int64_t x_channel = p.layout.channel();
  const Sum* x = s.laid_out + (image * groups + group) * p.in_channels * x_channel;
  T* out = s.out + (out_image * groups + group) * p.out_channels * product(p.out_sizes);
  Sum sums[kConvRows * kConvPlaces];
  ConvTile<Sum> tile;
  tile.x_at = piece.of->taps.x_at.data();
  tile.w_at = piece.of->taps.w_at.data();
  tile.taps = static_cast<int64_t>(piece.of->taps.x_at.size());
  tile.channels = p.in_channels;
  tile.x_channel = x_channel;
  tile.w_channel = p.w_channel;
  tile.y = sums;
  const int at_a_time =
      s.kernels->places_of_rows[std::min<int64_t>(s.kernels->rows, piece.row_end - piece.row)];
  for (int64_t place = piece.place; place < piece.place_end; place += at_a_time) {
    tile.n = std::min<int64_t>(at_a_time, piece.place_end - place);
    tile.x = x + place;
    for (int64_t row = piece.row; row < piece.row_end; row += tile.rows) {
      tile.rows = static_cast<int>(std::min<int64_t>(s.kernels->rows, piece.row_end - row));
      const ProductRow* rows = piece.of->rows.data() + row;
      for (int r = 0; r < tile.rows; ++r) tile.w[r] = s.w + group * w_group + rows[r].w;
      s.kernels->tile(tile);
      for (int r = 0; r < tile.rows; ++r) {
        const int64_t channel = rows[r].channel;
        const Sum bias =
            s.bias ? static_cast<Sum>(s.bias[group * p.out_channels + channel]) : Sum{};
        store_row<T>(p, rows[r], place, tile.n, sums + r * kConvPlaces, bias,
                     out + channel * product(p.out_sizes));
      }
    }
  }
}

// The layout is the input itself.
bool is_as_stored(const Products& p) {
  return p.layout.sizes == p.in_sizes && p.layout.residues.size() == 1 &&
         p.layout.residues[0] == Places{} && p.layout.first == Places{} &&
         p.layout.step == Places{1, 1, 1};
}

template <class T>
Status multiply(const ConvJob& job, const Products& p, const void* input, void* output,
                ThreadPool& pool, Isa isa) {
  using Sum = ConvSum<T>;
  constexpr bool kSame = std::is_same_v<T, Sum>;
  const int64_t w_group = job.narrow_channels * job.wide_channels * conv_taps(job);
  const int64_t n_w = kSame ? 0 : w_group * job.groups;
  const int64_t channels = job.groups * p.in_channels, image = channels * p.layout.channel();
  const bool as_stored = kSame && is_as_stored(p);
  const int64_t images =
      as_stored ? job.batch
                : images_at_a_time(job.batch, image * static_cast<int64_t>(sizeof(Sum)));
  const int64_t size = static_cast<int64_t>(sizeof(Sum));
  const Scratch scratch(Scratch::aligned(n_w * size) + (as_stored ? 0 : images * image * size));
  if (!scratch.ok()) return {.code = Status::Code::no_memory};
  const T *from = static_cast<const T*>(input), *w = static_cast<const T*>(job.w);
  Sum* laid_out = scratch.at<Sum>(Scratch::aligned(n_w * size));
  Shared<T> shared{&p,      &conv_kernels<Sum>(isa),         laid_out,
                   nullptr, static_cast<const T*>(job.bias), static_cast<T*>(output)};
  if constexpr (kSame) {
    shared.w = w;
    if (as_stored) shared.laid_out = from;
  } else {
    Sum* wide = scratch.at<Sum>();
    for (int64_t i = 0; i < n_w; ++i) wide[i] = static_cast<Sum>(w[i]);
    shared.w = wide;
  }
  const std::vector<Piece> pieces = pieces_of(p);
  const int64_t n_pieces = static_cast<int64_t>(pieces.size());
  for (int64_t first = 0; first < job.batch; first += images) {
    const int64_t n = std::min(images, job.batch - first);
    if (!as_stored)
      pool.run_ranges(n * channels, 1, [&](int64_t begin, int64_t end, int) {
        for (int64_t c = begin; c < end; ++c)
          lay_out(p.layout, p.in_sizes, from + (first * channels + c) * product(p.in_sizes),
                  laid_out + c * p.layout.channel());
      });
    pool.run(n * job.groups * n_pieces, [&](int64_t task, int) {
      const int64_t at = task / n_pieces;
      run_piece(shared, pieces[static_cast<size_t>(task % n_pieces)], at / job.groups,
                first + at / job.groups, at % job.groups, job.groups, w_group);
    });
  }
  return {};
}

Products conv_products(const ConvJob& job) {
  Products p;
  p.classes.resize(1);
  p.layout = wide_layout(job, p.classes[0].taps);
  p.in_sizes = wide_sizes(job);
  p.out_sizes = p.grid = narrow_sizes(job);
  p.out_step = {1, 1, 1};
  p.in_channels = job.wide_channels;
  p.out_channels = job.narrow_channels;
  p.w_channel = conv_taps(job);
  for (int64_t c = 0; c < job.narrow_channels; ++c)
    p.classes[0].rows.push_back({c * job.wide_channels * p.w_channel, c, {}});
  return p;
}

// Along one axis: the taps whose k * dilation leaves the residue r of stride.
struct ResidueTaps {
  int64_t residue;
  std::vector<int64_t> taps;
};

std::vector<ResidueTaps> residue_taps(const ConvAxis& x) {
  std::vector<ResidueTaps> all;
  for (int64_t r = 0; r < std::min(x.stride, x.wide); ++r) {
    // Of the residues, those that an output place has.
    const int64_t residue = conv_floor_div(r + x.pad, x.stride) * -x.stride + r + x.pad;
    all.push_back({residue, {}});
  }
  for (ResidueTaps& r : all)
    for (int64_t k = 0; k < x.kernel; ++k)
      if (k * x.dilation % x.stride == r.residue) r.taps.push_back(k);
  return all;
}

// One class of rows for each set of taps: output places of one residue of the strides take the
// same.
Products transpose_products(const ConvJob& job) {
  Products p;
  p.layout.residues = {Places{}};
  p.in_sizes = narrow_sizes(job);
  p.out_sizes = wide_sizes(job);
  p.in_channels = job.narrow_channels;
  p.out_channels = job.wide_channels;
  const int64_t n_taps = conv_taps(job);
  p.w_channel = job.wide_channels * n_taps;
  Places furthest, start;  // of taps in the grid; the grid's first place
  std::array<std::vector<ResidueTaps>, 3> axis;
  for (size_t i = 0; i < 3; ++i) {
    const ConvAxis& x = job.axes[i];
    furthest[i] = (x.kernel - 1) * x.dilation / x.stride;
    start[i] = conv_floor_div(x.pad, x.stride);
    p.grid[i] = x.wide == 0 ? 0 : conv_floor_div(x.wide - 1 + x.pad, x.stride) - start[i] + 1;
    p.layout.sizes[i] = p.grid[i] + furthest[i];
    p.layout.first[i] = start[i] - furthest[i];
    p.out_step[i] = x.stride;
    axis[i] = residue_taps(x);
  }
  const Places& pitch = p.layout.sizes;
  const auto shift = [&](size_t i, int64_t k) {
    return furthest[i] - k * job.axes[i].dilation / job.axes[i].stride;
  };
  for (const ResidueTaps& a : axis[0])
    for (const ResidueTaps& b : axis[1])
      for (const ResidueTaps& c : axis[2]) {
        ConvTaps taps;
        for (int64_t i : a.taps)
          for (int64_t j : b.taps)
            for (int64_t k : c.taps) {
              taps.x_at.push_back((shift(0, i) * pitch[1] + shift(1, j)) * pitch[2] + shift(2, k));
              taps.w_at.push_back((i * job.axes[1].kernel + j) * job.axes[2].kernel + k);
            }
        const int64_t base = taps.w_at.empty() ? 0 : taps.w_at[0];
        for (int64_t& at : taps.w_at) at -= base;
        auto found = std::find_if(p.classes.begin(), p.classes.end(),
                                  [&](const ProductClass& x) { return x.taps == taps; });
        if (found == p.classes.end()) {
          p.classes.push_back({std::move(taps), {}});
          found = p.classes.end() - 1;
        }
        const ResidueTaps* residues[] = {&a, &b, &c};
        Places first;
        for (size_t i = 0; i < 3; ++i)
          first[i] = start[i] * job.axes[i].stride + residues[i]->residue - job.axes[i].pad;
        for (int64_t channel = 0; channel < job.wide_channels; ++channel)
          found->rows.push_back({base + channel * n_taps, channel, first});
      }
  return p;
}

}  // namespace

Status conv(const ConvJob& job, ThreadPool& pool, Isa isa) {
  const Products p = conv_products(job);
  return with_float(
      job.elem, [&]<class T>() { return multiply<T>(job, p, job.wide, job.narrow, pool, isa); });
}

Status conv_transpose(const ConvJob& job, ThreadPool& pool, Isa isa) {
  const Products p = transpose_products(job);
  return with_float(
      job.elem, [&]<class T>() { return multiply<T>(job, p, job.narrow, job.wide, pool, isa); });
}

}  // namespace lamella::cpu
