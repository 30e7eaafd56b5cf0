// The gradient of a convolution in its kernel: dot products of g with the shifted rows of the
// input; and what the convolutions share.
#include "lamella/kernels/cpu/conv_layout.h"
#include "lamella/kernels/cpu/scratch.h"

namespace lamella::cpu {
namespace {

void plain_tile(const ConvTile<double>& tile) {
  for (int r = 0; r < tile.rows; ++r) {
    double* y = tile.y + r * kConvPlaces;
    std::fill(y, y + tile.n, 0.0);
    for (int64_t c = 0; c < tile.channels; ++c)
      for (int64_t t = 0; t < tile.taps; ++t) {
        const double w = tile.w[r][c * tile.w_channel + tile.w_at[t]];
        const double* x = tile.x + c * tile.x_channel + tile.x_at[t];
        for (int64_t j = 0; j < tile.n; ++j) y[j] += w * x[j];
      }
  }
}

void plain_dots(const ConvDots<double>& job) {
  for (int r = 0; r < job.rows; ++r)
    for (int c = 0; c < job.columns; ++c) {
      double sum = 0;
      for (int64_t j = 0; j < job.n; ++j) sum += job.g[r][j] * job.x[c][j];
      job.y[r * kConvDotColumns + c] += sum;
    }
}

void plain_most(const ConvMost<double>& job) {
  for (int64_t j = 0; j < job.n; ++j) {
    double most = job.x[job.x_at[0] + j];
    for (int64_t t = 1; t < job.taps; ++t) {
      const double x = job.x[job.x_at[t] + j];
      if (x > most || x != x) most = x;
    }
    job.y[j] = most;
  }
}

// Residues of stride that taps have along an axis, in order.
std::vector<int64_t> residues_of(const ConvAxis& x) {
  std::vector<int64_t> r;
  for (int64_t k = 0; k < x.kernel; ++k) r.push_back(k * x.dilation % x.stride);
  std::sort(r.begin(), r.end());
  r.erase(std::unique(r.begin(), r.end()), r.end());
  return r;
}

// What the tasks of conv_grad_w read: x and g laid out on the same grid.
template <class Sum>
struct Rows {
  const ConvKernels<Sum>* kernels;
  const Sum *x, *g;  // [images][groups * channels][...]
  const ConvTaps* taps;
  int64_t images, groups, x_channels, g_channels;
  int64_t x_size, g_size;  // of a channel
  int64_t used;            // elements up to the last of g
};

// Rows [row, row + rows) of g and columns [column, column + columns) of x's channels and taps, of
// one group; adds to dw.
template <class Sum>
void run_dots(const Rows<Sum>& s, int64_t group, int64_t row, int64_t column, int rows, int columns,
              Sum* dw) {
  const int64_t taps = static_cast<int64_t>(s.taps->x_at.size());
  const int64_t n_columns = s.x_channels * taps;
  Sum sums[kConvDotRows * kConvDotColumns] = {};
  ConvDots<Sum> job;
  job.rows = rows;
  job.columns = columns;
  job.n = s.used;
  job.y = sums;
  for (int64_t image = 0; image < s.images; ++image) {
    const int64_t at = image * s.groups + group;
    for (int r = 0; r < rows; ++r) job.g[r] = s.g + (at * s.g_channels + row + r) * s.g_size;
    for (int c = 0; c < columns; ++c)
      job.x[c] = s.x + (at * s.x_channels + (column + c) / taps) * s.x_size +
                 s.taps->x_at[static_cast<size_t>((column + c) % taps)];
    s.kernels->dots(job);
  }
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c)
      dw[(group * s.g_channels + row + r) * n_columns + column + c] +=
          sums[r * kConvDotColumns + c];
}

// The images that are laid out, all blocks of dw.
template <class Sum>
void add_images(const Rows<Sum>& rows, Sum* dw, ThreadPool& pool) {
  const int64_t row_blocks = conv_ceil_div(rows.g_channels, kConvDotRows),
                n_columns = rows.x_channels * static_cast<int64_t>(rows.taps->x_at.size()),
                column_blocks = conv_ceil_div(n_columns, kConvDotColumns);
  pool.run_ranges(
      rows.groups * row_blocks * column_blocks, 1, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t row = i / column_blocks % row_blocks * kConvDotRows,
                        column = i % column_blocks * kConvDotColumns;
          run_dots(rows, i / column_blocks / row_blocks, row, column,
                   static_cast<int>(std::min<int64_t>(kConvDotRows, rows.g_channels - row)),
                   static_cast<int>(std::min<int64_t>(kConvDotColumns, n_columns - column)), dw);
        }
      });
}

template <class T>
Status grad_w(const ConvJob& job, ThreadPool& pool, Isa isa) {
  using Sum = ConvSum<T>;
  ConvTaps taps;
  const ConvLayout wide = wide_layout(job, taps);
  ConvLayout narrow;
  narrow.residues = {Places{}};
  narrow.sizes = wide.sizes;  // zeros between the rows of g
  const Places in = wide_sizes(job), out = narrow_sizes(job);
  const int64_t used =
      product(out) == 0 ? 0 : ((out[0] - 1) * wide.sizes[1] + out[1] - 1) * wide.sizes[2] + out[2];
  const int64_t x_channels = job.groups * job.wide_channels,
                g_channels = job.groups * job.narrow_channels;
  const int64_t n_w = g_channels * job.wide_channels * conv_taps(job);
  const int64_t g_size = product(wide.sizes);
  const int64_t size = static_cast<int64_t>(sizeof(Sum)),
                image = (x_channels * wide.channel() + g_channels * g_size) * size;
  const int64_t images = images_at_a_time(job.batch, image), sums = Scratch::aligned(n_w * size);
  const Scratch scratch(sums + images * image);
  if (!scratch.ok()) return {.code = Status::Code::no_memory};
  Sum* dw = scratch.at<Sum>();
  std::fill(dw, dw + n_w, Sum{});
  Sum* x = scratch.at<Sum>(sums);
  Sum* g = x + images * x_channels * wide.channel();
  Rows<Sum> rows{&conv_kernels<Sum>(isa),
                 x,
                 g,
                 &taps,
                 0,
                 job.groups,
                 job.wide_channels,
                 job.narrow_channels,
                 wide.channel(),
                 g_size,
                 used};
  for (int64_t first = 0; first < job.batch && used > 0; first += images) {
    rows.images = std::min(images, job.batch - first);
    pool.run_ranges(
        rows.images * (x_channels + g_channels), 1, [&](int64_t begin, int64_t end, int) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t c = i - rows.images * x_channels;
            if (c < 0)
              lay_out(wide, in,
                      static_cast<const T*>(job.wide) + (first * x_channels + i) * product(in),
                      x + i * wide.channel());
            else
              lay_out(narrow, out,
                      static_cast<const T*>(job.narrow) + (first * g_channels + c) * product(out),
                      g + c * g_size);
          }
        });
    add_images(rows, dw, pool);
  }
  for (int64_t i = 0; i < n_w; ++i) static_cast<T*>(job.w)[i] = conv_rounded<T>(dw[i]);
  return {};
}

}  // namespace

const ConvKernels<double> kConvF64{
    plain_tile,
    plain_dots,
    plain_most,
    4,
    {kConvPlaces, kConvPlaces, kConvPlaces, kConvPlaces, kConvPlaces}};

ConvLayout wide_layout(const ConvJob& job, ConvTaps& taps) {
  ConvLayout layout;
  std::array<std::vector<int64_t>, 3> residues;
  for (size_t i = 0; i < 3; ++i) {
    const ConvAxis& x = job.axes[i];
    layout.sizes[i] = x.narrow + (x.kernel - 1) * x.dilation / x.stride;
    layout.step[i] = x.stride;
    layout.first[i] = -x.pad;
    residues[i] = residues_of(x);
  }
  for (int64_t a : residues[0])
    for (int64_t b : residues[1])
      for (int64_t c : residues[2]) layout.residues.push_back({a, b, c});
  // Which of an axis' residues the tap has, and its place in that copy.
  const auto copy_of = [&](size_t i, int64_t k) {
    const int64_t r = k * job.axes[i].dilation % job.axes[i].stride;
    return std::lower_bound(residues[i].begin(), residues[i].end(), r) - residues[i].begin();
  };
  const auto place_of = [&](size_t i, int64_t k) {
    return k * job.axes[i].dilation / job.axes[i].stride;
  };
  const int64_t n_b = static_cast<int64_t>(residues[1].size()),
                n_c = static_cast<int64_t>(residues[2].size()), copy = product(layout.sizes);
  for (int64_t i = 0; i < job.axes[0].kernel; ++i)
    for (int64_t j = 0; j < job.axes[1].kernel; ++j)
      for (int64_t k = 0; k < job.axes[2].kernel; ++k) {
        const int64_t at = (copy_of(0, i) * n_b + copy_of(1, j)) * n_c + copy_of(2, k);
        taps.x_at.push_back(at * copy +
                            (place_of(0, i) * layout.sizes[1] + place_of(1, j)) * layout.sizes[2] +
                            place_of(2, k));
        taps.w_at.push_back(static_cast<int64_t>(taps.w_at.size()));
      }
  return layout;
}

Status conv_grad_w(const ConvJob& job, ThreadPool& pool, Isa isa) {
  return with_float(job.elem, [&]<class T>() { return grad_w<T>(job, pool, isa); });
}

}  // namespace lamella::cpu
