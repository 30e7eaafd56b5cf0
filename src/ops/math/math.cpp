#include "lamella/ops/families.h"

#include "lamella/ops/math/abs.h"
#include "lamella/ops/math/acos.h"
#include "lamella/ops/math/acosh.h"
#include "lamella/ops/math/add.h"
#include "lamella/ops/math/asin.h"
#include "lamella/ops/math/asinh.h"
#include "lamella/ops/math/atan.h"
#include "lamella/ops/math/atan2.h"
#include "lamella/ops/math/atanh.h"
#include "lamella/ops/math/bit_and.h"
#include "lamella/ops/math/bit_not.h"
#include "lamella/ops/math/bit_or.h"
#include "lamella/ops/math/bit_xor.h"
#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/ceil.h"
#include "lamella/ops/math/clamp.h"
#include "lamella/ops/math/cos.h"
#include "lamella/ops/math/cosh.h"
#include "lamella/ops/math/digamma.h"
#include "lamella/ops/math/div.h"
#include "lamella/ops/math/elementwise_region.h"
#include "lamella/ops/math/equal.h"
#include "lamella/ops/math/erf.h"
#include "lamella/ops/math/erfinv.h"
#include "lamella/ops/math/exp.h"
#include "lamella/ops/math/exp2.h"
#include "lamella/ops/math/expm1.h"
#include "lamella/ops/math/floor.h"
#include "lamella/ops/math/fmod.h"
#include "lamella/ops/math/gelu.h"
#include "lamella/ops/math/greater.h"
#include "lamella/ops/math/greater_equal.h"
#include "lamella/ops/math/is_finite.h"
#include "lamella/ops/math/is_inf.h"
#include "lamella/ops/math/is_nan.h"
#include "lamella/ops/math/less.h"
#include "lamella/ops/math/less_equal.h"
#include "lamella/ops/math/lgamma.h"
#include "lamella/ops/math/log.h"
#include "lamella/ops/math/log10.h"
#include "lamella/ops/math/log1p.h"
#include "lamella/ops/math/log2.h"
#include "lamella/ops/math/log_add_exp.h"
#include "lamella/ops/math/logical_and.h"
#include "lamella/ops/math/logical_not.h"
#include "lamella/ops/math/logical_or.h"
#include "lamella/ops/math/logical_xor.h"
#include "lamella/ops/math/maximum.h"
#include "lamella/ops/math/minimum.h"
#include "lamella/ops/math/mod.h"
#include "lamella/ops/math/mul.h"
#include "lamella/ops/math/neg.h"
#include "lamella/ops/math/not_equal.h"
#include "lamella/ops/math/polygamma.h"
#include "lamella/ops/math/pow.h"
#include "lamella/ops/math/reciprocal.h"
#include "lamella/ops/math/relu.h"
#include "lamella/ops/math/round.h"
#include "lamella/ops/math/rsqrt.h"
#include "lamella/ops/math/saturating_cast.h"
#include "lamella/ops/math/shift_left.h"
#include "lamella/ops/math/shift_right.h"
#include "lamella/ops/math/sigmoid.h"
#include "lamella/ops/math/sign.h"
#include "lamella/ops/math/silu.h"
#include "lamella/ops/math/sin.h"
#include "lamella/ops/math/sinh.h"
#include "lamella/ops/math/sqrt.h"
#include "lamella/ops/math/square.h"
#include "lamella/ops/math/sub.h"
#include "lamella/ops/math/tan.h"
#include "lamella/ops/math/tanh.h"
#include "lamella/ops/math/trigamma.h"
#include "lamella/ops/math/trunc.h"
#include "lamella/ops/math/where.h"

namespace lamella {

namespace {

constexpr const Op* kOps[] = {
    // sorted:begin
    &op<Abs>,       &op<Acos>,         &op<Acosh>,
    &op<Add>,       &op<Asin>,         &op<Asinh>,
    &op<Atan2>,     &op<Atan>,         &op<Atanh>,
    &op<BitAnd>,    &op<BitNot>,       &op<BitOr>,
    &op<BitXor>,    &op<Cast>,         &op<Ceil>,
    &op<Clamp>,     &op<Cos>,          &op<Cosh>,
    &op<Digamma>,   &op<Div>,          &op<ElementwiseRegion>,
    &op<Equals>,    &op<Erf>,          &op<Erfinv>,
    &op<Exp2>,      &op<Exp>,          &op<Expm1>,
    &op<Floor>,     &op<Fmod>,         &op<Gelu>,
    &op<Greater>,   &op<GreaterEqual>, &op<IsFinite>,
    &op<IsInf>,     &op<IsNan>,        &op<Less>,
    &op<LessEqual>, &op<Lgamma>,       &op<Log10>,
    &op<Log1p>,     &op<Log2>,         &op<Log>,
    &op<LogAddExp>, &op<LogicalAnd>,   &op<LogicalNot>,
    &op<LogicalOr>, &op<LogicalXor>,   &op<Maximum>,
    &op<Minimum>,   &op<Mod>,          &op<Mul>,
    &op<Neg>,       &op<NotEqual>,     &op<Polygamma>,
    &op<Pow>,       &op<Reciprocal>,   &op<Relu>,
    &op<Round>,     &op<Rsqrt>,        &op<SaturatingCast>,
    &op<ShiftLeft>, &op<ShiftRight>,   &op<Sigmoid>,
    &op<Sign>,      &op<Silu>,         &op<Sin>,
    &op<Sinh>,      &op<Sqrt>,         &op<Square>,
    &op<Sub>,       &op<Tan>,          &op<Tanh>,
    &op<Trigamma>,  &op<Trunc>,        &op<Where>,
    // sorted:end
};

}  // namespace

std::span<const Op* const> math_ops() { return kOps; }

}  // namespace lamella
