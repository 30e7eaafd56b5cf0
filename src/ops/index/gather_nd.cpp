// The gradient of gather_nd, which needs scatter_nd as that needs gather_nd.
#include "lamella/ops/index/gather_nd.h"

#include "lamella/ops/index/scatter_nd.h"

namespace lamella {

void GatherNd::vjp(VjpCx& cx, const NoAttrs&) {
  const Value g = cx.grad();
  const Value zeros = full(cx.graph(), cx.in(0).shape(), g.dtype(), 0);
  cx.set(0, scatter_nd(zeros, cx.in(1), g, {.mode = Scatter::add}));
}

}  // namespace lamella
