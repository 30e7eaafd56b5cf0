#include "lamella/kernels/cpu/max_pool.h"

#include <limits>

#include "lamella/kernels/cpu/conv_layout.h"
#include "lamella/kernels/cpu/scratch.h"

namespace lamella::cpu {
namespace {

// Where the first of the largest elements under window (a, b, c) lies.
template <class T>
int64_t place_of_most(const ConvJob& job, const T* x, const Places& window) {
  const Places size = wide_sizes(job);
  int64_t place = 0;
  ConvSum<T> most{};
  bool found = false;
  for (int64_t t = 0; t < conv_taps(job); ++t) {
    const Places tap{t / job.axes[2].kernel / job.axes[1].kernel,
                     t / job.axes[2].kernel % job.axes[1].kernel, t % job.axes[2].kernel};
    int64_t at = 0;
    bool inside = true;
    for (size_t i = 0; i < 3; ++i) {
      const ConvAxis& axis = job.axes[i];
      const int64_t p = window[i] * axis.stride + tap[i] * axis.dilation - axis.pad;
      inside = inside && p >= 0 && p < size[i];
      at = at * size[i] + p;
    }
    if (!inside) continue;
    const auto v = static_cast<ConvSum<T>>(x[at]);
    if (found && !(v > most || (v != v && most == most))) continue;
    most = v, place = at, found = true;
  }
  return place;
}

template <class T>
Status pool_all(const ConvJob& job, int64_t* places, ThreadPool& pool, Isa isa) {
  using Sum = ConvSum<T>;
  ConvTaps taps;
  const ConvLayout layout = wide_layout(job, taps);
  const Places in = wide_sizes(job), out = narrow_sizes(job);
  const int64_t each = layout.channel() + out[2];
  const Scratch scratch(each * pool.size() * static_cast<int64_t>(sizeof(Sum)));
  if (!scratch.ok()) return {.code = Status::Code::no_memory};
  const ConvKernels<Sum>& kernels = conv_kernels<Sum>(isa);
  pool.run_ranges(job.batch, 1, [&](int64_t begin, int64_t end, int worker) {
    Sum* laid_out = scratch.at<Sum>() + worker * each;
    Sum* row = laid_out + layout.channel();
    for (int64_t image = begin; image < end; ++image) {
      const T* x = static_cast<const T*>(job.wide) + image * product(in);
      T* y = static_cast<T*>(job.narrow) + image * product(out);
      lay_out(layout, in, x, laid_out, -std::numeric_limits<Sum>::infinity());
      for (int64_t r = 0; r < out[0] * out[1]; ++r) {
        const int64_t a = r / out[1], b = r % out[1];
        kernels.most({laid_out + (a * layout.sizes[1] + b) * layout.sizes[2], taps.x_at.data(),
                      static_cast<int64_t>(taps.x_at.size()), out[2], row});
        for (int64_t c = 0; c < out[2]; ++c) {
          y[r * out[2] + c] = conv_rounded<T>(row[c]);
          if (places)
            places[image * product(out) + r * out[2] + c] = place_of_most(job, x, {a, b, c});
        }
      }
    }
  });
  return {};
}

}  // namespace

Status max_pool(const ConvJob& job, int64_t* places, ThreadPool& pool, Isa isa) {
  return with_float(job.elem, [&]<class T>() { return pool_all<T>(job, places, pool, isa); });
}

}  // namespace lamella::cpu
