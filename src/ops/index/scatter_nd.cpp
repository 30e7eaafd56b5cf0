// The gradient of scatter_nd.
#include "lamella/ops/index/scatter_nd.h"

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/equal.h"
#include "lamella/ops/math/where.h"

namespace lamella {
namespace {

Value zeros_like(Value v) { return full(*v.graph, v.shape(), v.dtype(), 0); }
Value ones_like(Value v) { return full(*v.graph, v.shape(), v.dtype(), 1); }

// The place of each update, of a tensor like the output.
struct Places {
  Value indices;

  Value of(Value v) const { return gather_nd(v, indices); }
  Value scattered(Value onto, Value updates, Scatter mode) const {
    return scatter_nd(onto, indices, updates, {.mode = mode});
  }
};

// Each factor's share is the product of the others: beside one zero only that zero's is not 0.
void vjp_of_product(VjpCx& cx, const Places& places) {
  const Value x = cx.in(0), updates = cx.in(2), g = cx.grad(), zero = scalar_like(x, 0);
  cx.set(0, g * places.scattered(ones_like(x), updates, Scatter::mul));
  const Value is_zero = equal(updates, zero), nonzero = where(is_zero, scalar_like(x, 1), updates);
  const Value own = cast(is_zero, {.to = x.dtype()});
  const Value n_zeros = places.of(places.scattered(zeros_like(x), own, Scatter::add));
  const Value rest = places.of(places.scattered(x, nonzero, Scatter::mul)) / nonzero;
  cx.set(2, places.of(g) * where(equal(n_zeros - own, zero), rest, zero));
}

void vjp_of_extreme(VjpCx& cx, const Places& places) {
  const Value x = cx.in(0), updates = cx.in(2), y = cx.out(0), zero = scalar_like(x, 0);
  const Value x_wins = equal(x, y), wins = equal(updates, places.of(y));
  const Value n_winners = places.scattered(cast(x_wins, {.to = x.dtype()}),
                                           cast(wins, {.to = x.dtype()}), Scatter::add);
  const Value share = cx.grad() / n_winners;
  cx.set(0, where(x_wins, share, zero));
  cx.set(2, where(wins, places.of(share), zero));
}

}  // namespace

void ScatterNd::vjp(VjpCx& cx, const Attrs& a) {
  const Value g = cx.grad();
  const Places places{cx.in(1)};
  if (a.mode == Scatter::mul) return vjp_of_product(cx, places);
  if (a.mode == Scatter::min || a.mode == Scatter::max) return vjp_of_extreme(cx, places);
  cx.set(2, places.of(g));
  cx.set(0, a.mode == Scatter::add ? g : places.scattered(g, zeros_like(cx.in(2)), Scatter::none));
}

}  // namespace lamella
