#include "lamella/ops/nn/rope_table.h"

#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/slice.h"

namespace lamella {

void RopeTable::type(TypeCx& cx, const Attrs&) {
  cx.require_float(0), cx.require_rank(0, 3);
  const Shape& x = cx.shape(0);
  for (size_t i : {1, 2}) {
    cx.require_float(i), cx.require_rank(i, 2);
    cx.require_equal(x[0], cx.shape(i)[0], str("tokens of x and ", cx.input_name(i)));
  }
  cx.require_equal(cx.shape(1)[1], cx.shape(2)[1], "pairs of cos and sin");
  cx.require_at_least(x[2], cx.shape(1)[1] * 2, "size of a head and the elements that turn");
  cx.out(cx.in(0).dtype, x);
}

Value RopeTable::expand(const Args& args, const Attrs& a) {
  const Value x = args[0];
  const Shape shape = x.shape();
  const Dim pairs = args[1].shape()[1], n = pairs * 2, tokens = shape[0];
  const bool halves = a.pairing == RopePairing::halves;
  const int64_t axis = halves ? 2 : 3;
  const Shape apart =
      halves ? Shape{tokens, shape[1], 2, pairs} : Shape{tokens, shape[1], pairs, 2};
  const Value all = reshape_to(wide(slice_axis(x, 2, 0, n)), apart);
  const Value u = slice_axis(all, axis, 0, 1), v = slice_axis(all, axis, 1, 2);
  const auto table = [&](Value t) {
    return reshape_to(as_dtype(t, u.dtype()),
                      halves ? Shape{tokens, 1, 1, pairs} : Shape{tokens, 1, pairs, 1});
  };
  const Value c = table(args[1]), s = table(args[2]);
  const Value turned = concat(u * c - v * s, u * s + v * c, {.axis = axis});
  const Value y = as_dtype(reshape_to(turned, {tokens, shape[1], n}), x.dtype());
  return shape[2] == n ? y : concat(y, slice_axis(x, 2, n, shape[2]), {.axis = 2});
}

void RopeTable::samples(Samples& s) {
  for (RopePairing pairing : {RopePairing::neighbours, RopePairing::halves}) {
    s.add({In{.shape = {3, 2, 6}}, In{.shape = {3, 3}}, In{.shape = {3, 3}}}, Attrs{pairing});
    s.add({In{.shape = {5, 1, 9}}, In{.shape = {5, 2}}, In{.shape = {5, 2}, .dtype = kF32}},
          Attrs{pairing});
    s.add({In{.shape = {0, 2, 4}}, In{.shape = {0, 2}}, In{.shape = {0, 2}}}, Attrs{pairing});
  }
  s.bad({In{.shape = {3, 2, 6}}, In{.shape = {2, 3}}, In{.shape = {3, 3}}}, Attrs{},
        "tokens of x and cos");
  s.bad({In{.shape = {3, 2, 6}}, In{.shape = {3, 3}}, In{.shape = {3, 2}}}, Attrs{},
        "pairs of cos and sin");
  s.bad({In{.shape = {3, 2, 6}}, In{.shape = {3, 4}}, In{.shape = {3, 4}}}, Attrs{},
        "elements that turn");
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
  s.expect(source, {In{.shape = {3, 2, 7}, .dtype = kF32, .values = {1.625, -0.375, 0.25, -1.625,
    -1.125, 1.875, -1.625, -0.875, 1.875, 0, 1.75, -1.375, 0.625, -1.25, 1.125, -2, 1.875, 0.75, 1,
    0.75, -0.75, 1.5, 1, -0.375, 0.5, 0, -1.25, -1, 0.25, 1.375, 1.875, 0.625, 1.875, -0.125,
    -0.625, -2, 1.75, 0.625, -1.125, 1.875, -0.625, -1.375}}, In{.shape = {3, 3}, .dtype = kF32,
    .values = {0.3153223623952687, 0.992197667229329, 0.8109631195052179, 1, -0.29953350618957414,
    0.6409968581633251, 0.3153223623952687, 1, 0.3153223623952687}}, In{.shape = {3, 3}, .dtype =
    kF32, .values = {-0.9489846193555862, -0.12467473338522769, -0.5850972729404622, 0,
    0.9540857816096938, 0.7675435022360271, -0.9489846193555862, 0, -0.9489846193555862}}},
    Attrs{.pairing = RopePairing::neighbours}, {Expect{{3, 2, 7}, {0.156529607, -1.66034589,
    0.0454529751, -1.64348989, 0.184723877, 2.17879028, -1.625, 1.50343909, 1.42159097, 0.218180783,
    1.73634592, -0.749388494, 1.3113607, -1.25, 1.125, -2, -1.27718966, 1.56426071, 0.0653392315,
    1.24829115, -0.75, 1.5, 1, -0.364717826, -0.507548921, 0.959429378, -0.801246073, -1,
    1.38368444, 0.196322093, 1.875, 0.625, 0.472606352, -1.81876146, -0.625, 1.03007836, 2.44978337,
    0.625, -1.125, -0.00188595761, -1.97642264, -1.375}}});
  s.expect(source, {In{.shape = {3, 2, 7}, .dtype = kF32, .values = {1.125, -0.75, -0.5, 1.5,
    -1.875, -0.875, 1.125, -0.5, 0, -0.125, -0.875, 1.25, 1.875, -0.625, 1.875, 0.875, -1, 1.25,
    -0.625, -2, -1.625, 1.5, 1.125, -0.75, 0, 0, -0.625, -2, -2, 1.75, 1.25, -1.75, -1.875, 1.75,
    1.75, 0, 1, 0.875, -0.875, 0.75, -0.75, -2}}, In{.shape = {3, 3}, .dtype = kF32, .values =
    {0.4311765167986662, 0.7316888688738209, -0.4161468365471424, 0.4311765167986662,
    0.19454770798898718, -0.17824605564949209, -0.05417713502693632, -0.17824605564949209,
    -0.17824605564949209}}, In{.shape = {3, 3}, .dtype = kF32, .values = {0.9022675940990952,
    0.6816387600233341, 0.9092974268256817, -0.9022675940990952, -0.9808930570231557,
    -0.9839859468739369, -0.9985313405398316, 0.9839859468739369, -0.9839859468739369}}},
    Attrs{.pairing = RopePairing::halves}, {Expect{{3, 2, 7}, {-0.86832781, 0.729306023, 1.00370867,
    1.66181582, -1.8831457, -0.0905202314, 1.125, 0.573895886, -0.85204845, -1.65291432,
    -0.828413249, 0.914611086, -0.893937497, -0.625, 1.93629046, -0.442828916, -1.78972584,
    -1.15278109, -0.979873742, 1.34047806, -1.625, 0.646764775, 0.218866171, -0.481306675,
    -1.35340139, -1.10350469, 0.849393245, -2, -1.63907558, 1.53304305, 1.49916784, 2.09187267,
    2.05618676, -1.54191303, 1.75, -0.873714923, -0.916235516, -0.893954759, 0.0474049931,
    0.850301405, -0.727303162, -2}}});
  // clang-format on
  // golden:end
}

}  // namespace lamella
