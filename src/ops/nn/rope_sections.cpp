#include "lamella/ops/nn/rope_sections.h"

#include <numeric>

#include "lamella/ops/index/gather.h"
#include "lamella/ops/math/cos.h"
#include "lamella/ops/math/sin.h"
#include "lamella/ops/nn/rope_table.h"
#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/transpose.h"

namespace lamella {
namespace {

int64_t rotated(const RopeSections::Attrs& a, Dim dim) {
  return a.n_rot != 0 ? a.n_rot : dim.value();
}

}  // namespace

std::vector<int64_t> RopeSections::sections_of(const Attrs& a, int64_t n_pairs) {
  const int64_t n = static_cast<int64_t>(a.sections.size());
  const int64_t all = std::accumulate(a.sections.begin(), a.sections.end(), int64_t{0});
  std::vector<int64_t> out;
  for (int64_t i = 0; i < n_pairs; ++i) {
    const int64_t j = i % all;
    int64_t section = 0, end = a.sections[0];
    if (a.interleaved)
      section = j % 3 < n && j < 3 * a.sections[static_cast<size_t>(j % 3)] ? j % 3 : n - 1;
    else
      while (j >= end) end += a.sections[static_cast<size_t>(++section)];
    out.push_back(section);
  }
  return out;
}

void RopeSections::type(TypeCx& cx, const Attrs& a) {
  cx.require_float(0), cx.require_int(1);
  cx.require_rank(0, 3), cx.require_rank(1, 2);
  const Shape &x = cx.shape(0), &positions = cx.shape(1);
  cx.require_equal(x[0], positions[1], "tokens of x and positions");
  cx.require_equal(positions[0], static_cast<int64_t>(a.sections.size()),
                   "rows of positions and sections");
  int64_t all = 0;
  for (int64_t n : a.sections) {
    cx.check(n >= 0 && n < int64_t{1} << 24, "a section is out of range; got ", n);
    all += n;
  }
  cx.check(all > 0, "the sections are empty");
  cx.check(a.n_rot >= 0 && a.n_rot % 2 == 0 && a.n_rot < int64_t{1} << 24,
           "n_rot is out of range; got ", a.n_rot, "; want an even number");
  cx.check(a.n_rot != 0 || (x[2].is_const() && x[2].value() % 2 == 0),
           "without n_rot the size of a head must be known and even; got ", cx.in(0));
  cx.require_at_least(x[2], a.n_rot, "size of a head and n_rot");
  Rope::check(cx, a.rope());
  if (cx.has(2)) {
    cx.require_float(2), cx.require_rank(2, 1);
    cx.require_equal(cx.shape(2)[0], rotated(a, x[2]) / 2, "freq_factors and pairs");
  }
  cx.out(cx.in(0).dtype, x);
}

Value RopeSections::expand(const Args& args, const Attrs& a) {
  Graph& g = args.graph();
  const int64_t n = rotated(a, args[0].shape()[2]);
  const std::vector<double> f = Rope::frequencies(a.rope(), n);
  const std::vector<int64_t> section = sections_of(a, n / 2);
  Value frequency = g.constant(Tensor::from(kF64, {1, n / 2}, std::span<const double>(f)));
  if (args.has(2)) frequency = frequency / as_dtype(args[2], kF64);
  const Value rows = g.constant(Tensor::from(kI64, {n / 2}, std::span<const int64_t>(section)));
  const Value positions = transpose(gather(args[1], rows), {.perm = {1, 0}});
  const Value angle = cast(positions, {.to = kF64}) * frequency;
  const double magnitude = Rope::magnitude(a.rope());
  const DType type = wide_dtype(args[0].dtype());
  return rope_table(args[0], as_dtype(cos(angle) * magnitude, type),
                    as_dtype(sin(angle) * magnitude, type), {.pairing = a.pairing});
}

void RopeSections::samples(Samples& s) {
  const auto at = [](std::vector<int64_t> shape, std::vector<double> v) {
    return In{.shape = std::move(shape), .dtype = kI32, .values = std::move(v)};
  };
  const In three = at({3, 2}, {0, 7, 3, 300, 1, 9});
  s.add({In{.shape = {2, 3, 12}}, three}, Attrs{.sections = {2, 3, 1}});
  s.add({In{.shape = {2, 3, 13}}, three},
        Attrs{.sections = {2, 1, 1}, .interleaved = true, .n_rot = 10});
  s.add({In{.shape = {2, 1, 8}}, three, In{.shape = {4}, .domain = {0.5, 2}}},
        Attrs{.sections = {1, 1, 0},
              .pairing = RopePairing::neighbours,
              .base = 500,
              .attn_factor = 0.75});
  s.add({In{.shape = {2, 1, 16}}, three}, Attrs{.sections = {4, 2, 2},
                                                .scaling = RopeScaling::yarn,
                                                .factor = 4,
                                                .original_context = 256});
  s.add({In{.shape = {0, 1, 4}}, In{.shape = {1, 0}, .dtype = kI32}}, Attrs{.sections = {2}});
  s.bad({In{.shape = {2, 3, 12}}, three}, Attrs{.sections = {2, 3}},
        "rows of positions and sections");
  s.bad({In{.shape = {2, 3, 12}}, three}, Attrs{.sections = {2, 3, -1}},
        "a section is out of range");
  s.bad({In{.shape = {2, 3, 12}}, three}, Attrs{.sections = {0, 0, 0}}, "sections are empty");
  s.bad({In{.shape = {3, 3, 12}}, three}, Attrs{.sections = {2, 3, 1}},
        "tokens of x and positions");
  s.bad({In{.shape = {2, 3, 12}}, three}, Attrs{.sections = {2, 3, 1}, .base = 0},
        "base is out of range");
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
  s.expect(source, {In{.shape = {3, 1, 12}, .dtype = kF32, .values = {-1.125, 1.25, 1.5, -0.875,
    -1.125, -2, 0.875, -0.375, 1.25, 2, -0.625, 1.25, -0.125, 1.125, 1.625, -0.875, -1.25, -0.75,
    -1.875, 0.25, 1.125, 0.875, 1.625, -1.625, -0.5, 1.75, -1.25, -1, -1.125, 0.875, 0, 0.25, 1.875,
    -1.625, 1.25, 1.125}}, In{.shape = {3, 3}, .dtype = kI32, .values = {0, 5, 31, 2, 3, 4, 7, 1,
    100}}}, Attrs{.sections = {1, 2, 1}}, {Expect{{3, 1, 12}, {-1.125, 1.29237338, 1.37766821,
    -1.01274282, -1.125, -2.00115954, 0.875, 0.181372673, 1.38366553, 1.93390201, -0.625,
    1.24814283, -1.83344079, 0.747521366, 1.45312327, -0.883706105, -1.26743192, -0.747736499,
    -0.412001063, 0.877118469, 1.3396577, 0.866206396, 1.61144076, -1.62604278, -0.457371179,
    0.949661538, -1.57464008, 0.827088044, -1.20591416, 0.872909778, 0.202018823, 1.49102078,
    1.6120278, -1.71946223, 1.17213312, 1.12662262}}});
  s.expect(source, {In{.shape = {3, 1, 12}, .dtype = kF32, .values = {-1.125, 1.25, 1.5, -0.875,
    -1.125, -2, 0.875, -0.375, 1.25, 2, -0.625, 1.25, -0.125, 1.125, 1.625, -0.875, -1.25, -0.75,
    -1.875, 0.25, 1.125, 0.875, 1.625, -1.625, -0.5, 1.75, -1.25, -1, -1.125, 0.875, 0, 0.25, 1.875,
    -1.625, 1.25, 1.125}}, In{.shape = {3, 3}, .dtype = kI32, .values = {0, 5, 31, 2, 3, 4, 7, 1,
    100}}}, Attrs{.sections = {2, 1, 2}, .interleaved = true, .n_rot = 10, .pairing =
    RopePairing::neighbours, .base = 500, .scaling = RopeScaling::linear, .factor = 4}, {Expect{{3,
    1, 12}, {-1.125, 1.25, 1.61021547, -0.650254669, -0.822716817, -2.14213959, 0.875, -0.375,
    1.22564857, 2.01501504, -0.625, 1.25, -1.10702299, 0.23611458, 1.77497785, -0.505671455,
    -1.23412, -0.775852959, -1.88166063, 0.193593051, 1.12348206, 0.876948155, 1.625, -1.625,
    -1.79244504, -0.315659264, -0.91377257, -1.31435143, -0.21362536, -1.40911824, -0.046275164,
    0.245679892, 2.12710196, -1.27737515, 1.25, 1.125}}});
  // clang-format on
  // golden:end
}

}  // namespace lamella
