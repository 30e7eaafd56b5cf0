#include "lamella/ops/families.h"

#include "lamella/ops/math/abs.h"
#include "lamella/ops/math/add.h"
#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/ceil.h"
#include "lamella/ops/math/clamp.h"
#include "lamella/ops/math/cos.h"
#include "lamella/ops/math/div.h"
#include "lamella/ops/math/elementwise_region.h"
#include "lamella/ops/math/equal.h"
#include "lamella/ops/math/erf.h"
#include "lamella/ops/math/exp.h"
#include "lamella/ops/math/floor.h"
#include "lamella/ops/math/gelu.h"
#include "lamella/ops/math/greater.h"
#include "lamella/ops/math/greater_equal.h"
#include "lamella/ops/math/less.h"
#include "lamella/ops/math/less_equal.h"
#include "lamella/ops/math/log.h"
#include "lamella/ops/math/logical_and.h"
#include "lamella/ops/math/logical_not.h"
#include "lamella/ops/math/logical_or.h"
#include "lamella/ops/math/maximum.h"
#include "lamella/ops/math/minimum.h"
#include "lamella/ops/math/mod.h"
#include "lamella/ops/math/mul.h"
#include "lamella/ops/math/neg.h"
#include "lamella/ops/math/not_equal.h"
#include "lamella/ops/math/pow.h"
#include "lamella/ops/math/relu.h"
#include "lamella/ops/math/round.h"
#include "lamella/ops/math/rsqrt.h"
#include "lamella/ops/math/sigmoid.h"
#include "lamella/ops/math/sign.h"
#include "lamella/ops/math/silu.h"
#include "lamella/ops/math/sin.h"
#include "lamella/ops/math/sqrt.h"
#include "lamella/ops/math/square.h"
#include "lamella/ops/math/sub.h"
#include "lamella/ops/math/tanh.h"
#include "lamella/ops/math/where.h"

namespace lamella {

std::span<const Op* const> math_ops() {
  static constexpr const Op* kOps[] = {
      // sorted:begin
      &op<Abs>,        &op<Add>,          &op<Cast>,    &op<Ceil>,      &op<Clamp>, &op<Cos>,
      &op<Div>,        &op<Equals>,       &op<Erf>,     &op<Exp>,       &op<Floor>, &op<Gelu>,
      &op<Greater>,    &op<GreaterEqual>, &op<Less>,    &op<LessEqual>, &op<Log>,   &op<LogicalAnd>,
      &op<LogicalNot>, &op<LogicalOr>,    &op<Maximum>, &op<Minimum>,   &op<Mod>,   &op<Mul>,
      &op<Neg>,        &op<NotEqual>,     &op<Pow>,     &op<Relu>,      &op<Round>, &op<Rsqrt>,
      &op<Sigmoid>,    &op<Sign>,         &op<Silu>,    &op<Sin>,       &op<Sqrt>,  &op<Square>,
      &op<Sub>,        &op<Tanh>,         &op<Where>,
      // sorted:end
  };
  return kOps;
}

}  // namespace lamella
