// Elementwise ops and regions of them: all run on the tile engine.
#include <map>

#include "lamella/backends/cpu/kernels.h"
#include "lamella/backends/cpu/operands.h"
#include "lamella/kernels/cpu/tiles.h"
#include "lamella/ops/activation/softplus.h"
#include "lamella/ops/math/abs.h"
#include "lamella/ops/math/acos.h"
#include "lamella/ops/math/acosh.h"
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
#include "lamella/ops/math/is_inf.h"
#include "lamella/ops/math/is_nan.h"
#include "lamella/ops/math/less.h"
#include "lamella/ops/math/less_equal.h"
#include "lamella/ops/math/lgamma.h"
#include "lamella/ops/math/log.h"
#include "lamella/ops/math/log10.h"
#include "lamella/ops/math/log1p.h"
#include "lamella/ops/math/log2.h"
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
#include "lamella/ops/math/relu.h"
#include "lamella/ops/math/round.h"
#include "lamella/ops/math/rsqrt.h"
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

namespace lamella::cpu {
namespace {

struct OpcodeRow {
  const Op* op;
  TileOp code;
};
constexpr OpcodeRow kOpcodes[] = {
    {&op<Abs>, TileOp::abs},
    {&op<Acos>, TileOp::acos},
    {&op<Acosh>, TileOp::acosh},
    {&op<Add>, TileOp::add},
    {&op<Asin>, TileOp::asin},
    {&op<Asinh>, TileOp::asinh},
    {&op<Atan>, TileOp::atan},
    {&op<Atan2>, TileOp::atan2},
    {&op<Atanh>, TileOp::atanh},
    {&op<BitAnd>, TileOp::bit_and},
    {&op<BitNot>, TileOp::bit_not},
    {&op<BitOr>, TileOp::bit_or},
    {&op<BitXor>, TileOp::bit_xor},
    {&op<Cast>, TileOp::cast},
    {&op<Ceil>, TileOp::ceil},
    {&op<Cos>, TileOp::cos},
    {&op<Cosh>, TileOp::cosh},
    {&op<Digamma>, TileOp::digamma},
    {&op<Div>, TileOp::div},
    {&op<Equals>, TileOp::equal},
    {&op<Erf>, TileOp::erf},
    {&op<Erfinv>, TileOp::erfinv},
    {&op<Exp>, TileOp::exp},
    {&op<Exp2>, TileOp::exp2},
    {&op<Expm1>, TileOp::expm1},
    {&op<Floor>, TileOp::floor},
    {&op<Fmod>, TileOp::fmod},
    {&op<Gelu>, TileOp::gelu},
    {&op<Greater>, TileOp::greater},
    {&op<GreaterEqual>, TileOp::greater_equal},
    {&op<IsInf>, TileOp::is_inf},
    {&op<IsNan>, TileOp::is_nan},
    {&op<Less>, TileOp::less},
    {&op<LessEqual>, TileOp::less_equal},
    {&op<Lgamma>, TileOp::lgamma},
    {&op<Log>, TileOp::log},
    {&op<Log10>, TileOp::log10},
    {&op<Log1p>, TileOp::log1p},
    {&op<Log2>, TileOp::log2},
    {&op<LogicalAnd>, TileOp::logical_and},
    {&op<LogicalNot>, TileOp::logical_not},
    {&op<LogicalOr>, TileOp::logical_or},
    {&op<LogicalXor>, TileOp::logical_xor},
    {&op<Maximum>, TileOp::maximum},
    {&op<Minimum>, TileOp::minimum},
    {&op<Mod>, TileOp::mod},
    {&op<Mul>, TileOp::mul},
    {&op<Neg>, TileOp::neg},
    {&op<NotEqual>, TileOp::not_equal},
    {&op<Polygamma>, TileOp::polygamma},
    {&op<Pow>, TileOp::pow},
    {&op<Relu>, TileOp::relu},
    {&op<Round>, TileOp::round},
    {&op<Rsqrt>, TileOp::rsqrt},
    {&op<ShiftLeft>, TileOp::shift_left},
    {&op<ShiftRight>, TileOp::shift_right},
    {&op<Sigmoid>, TileOp::sigmoid},
    {&op<Sign>, TileOp::sign},
    {&op<Silu>, TileOp::silu},
    {&op<Sin>, TileOp::sin},
    {&op<Sinh>, TileOp::sinh},
    {&op<Softplus>, TileOp::softplus},
    {&op<Sqrt>, TileOp::sqrt},
    {&op<Square>, TileOp::square},
    {&op<Sub>, TileOp::sub},
    {&op<Tan>, TileOp::tan},
    {&op<Tanh>, TileOp::tanh},
    {&op<Trigamma>, TileOp::trigamma},
    {&op<Trunc>, TileOp::trunc},
    {&op<Where>, TileOp::select},
};

const OpcodeRow* opcode_of(const Op* op) {
  for (const OpcodeRow& row : kOpcodes)
    if (row.op == op) return &row;
  return nullptr;
}

// Builds a program register by register: each value gets one, which nothing else writes.
class ProgramBuilder {
 public:
  // False when the program has too many values, or a type the engine does not know.
  bool ok() const { return ok_; }

  struct Reg {
    uint8_t index = 0;
    TileType type = TileType::f32;
    bool is_bool = false;
  };

  Reg input(DType dtype) {
    const auto elem = elem_of(dtype);
    if (!elem) return fail();
    const Reg r = next(tile_type(*elem), dtype.is_bool());
    program_.inputs.push_back({*elem, r.index, r.type});
    return r;
  }
  Reg constant(const Tensor& value) {
    const auto elem = elem_of(value.dtype());
    if (!elem) return fail();
    const Reg r = next(tile_type(*elem), value.dtype().is_bool());
    TileConstant c{r.index, r.type, 0, 0};
    if (is_float(*elem))
      c.f = load_double(value.dtype(), value.data());
    else
      c.i = load_int(value.dtype(), value.data());
    program_.constants.push_back(c);
    return r;
  }

  Reg step(const Node& n, std::span<const Reg> args, std::span<const DType> types) {
    const OpcodeRow* row = opcode_of(n.op);
    const auto out = elem_of(n.outputs[0].dtype);
    if (!row || !out || !ok_) return fail();
    TileOp code = row->code;
    if (code == TileOp::gelu && n.attrs.as<Gelu::Attrs>().approximate != Approximate::none)
      code = TileOp::gelu_tanh;
    TileStep s{.op = code};
    if (code == TileOp::cast) return cast(args[0], *out, types[0], n.outputs[0].dtype);
    // A condition may come in another type than what it selects.
    const size_t typed = code == TileOp::select ? 1 : 0;
    s.type = args[typed].type;
    uint8_t* operands[] = {&s.a, &s.b, &s.c};
    for (size_t i = 0; i < args.size(); ++i)
      *operands[i] = args[i].type == s.type ? args[i].index : convert(args[i], s.type).index;
    const bool is_bool = n.outputs[0].dtype.is_bool();
    const Reg r = next(s.type, is_bool);
    s.dst = r.index;
    program_.steps.push_back(s);
    return is_bool || types[typed].is_bool() ? r : wrapped(r, *out);
  }

  void output(Reg r, DType dtype) {
    const auto elem = elem_of(dtype);
    if (!elem) {
      fail();
      return;
    }
    if (!dtype.is_bool() && r.type != tile_type(*elem)) r = convert(r, tile_type(*elem));
    program_.outputs.push_back({*elem, r.index, r.type});
  }

  TileProgram take() { return std::move(program_); }

 private:
  Reg fail() {
    ok_ = false;
    return {};
  }
  Reg next(TileType type, bool is_bool) {
    if (n_regs_ >= kTileRegisters) return fail();
    return {static_cast<uint8_t>(n_regs_++), type, is_bool};
  }
  Reg add_cast(Reg from, Elem elem) {
    const Reg r = next(tile_type(elem), elem == Elem::boolean);
    program_.steps.push_back(
        {.op = TileOp::cast, .type = from.type, .dst = r.index, .a = from.index, .elem = elem});
    return r;
  }
  Reg convert(Reg from, TileType type) {
    constexpr Elem kWidest[] = {Elem::f32, Elem::f64, Elem::i64, Elem::u64};
    return add_cast(from, kWidest[static_cast<int>(type)]);
  }
  // Narrow floats are kept as f32 between the steps of a region, rounded when stored; narrow
  // integers wrap.
  Reg wrapped(Reg r, Elem elem) {
    return !is_float(elem) && elem_bytes(elem) < 8 ? add_cast(r, elem) : r;
  }
  Reg cast(Reg from, Elem elem, DType, DType) { return add_cast(from, elem); }

  TileProgram program_;
  int n_regs_ = 0;
  bool ok_ = true;
};

std::optional<TileProgram> single_program(const Graph& g, const Node& n) {
  ProgramBuilder b;
  std::vector<ProgramBuilder::Reg> args;
  std::vector<DType> types;
  for (ValueId id : n.inputs) {
    types.push_back(g.type(id).dtype);
    args.push_back(b.input(types.back()));
  }
  if (b.ok()) b.output(b.step(n, args, types), n.outputs[0].dtype);
  if (!b.ok()) return std::nullopt;
  TileProgram p = b.take();
  return find_fault(p).empty() ? std::optional(std::move(p)) : std::nullopt;
}

std::optional<TileProgram> region_program(const Graph& body) {
  ProgramBuilder b;
  std::vector<ProgramBuilder::Reg> regs(body.nodes().size());
  for (size_t i = 0; i < body.nodes().size() && b.ok(); ++i) {
    const Node& n = body.nodes()[i];
    if (n.is(op<Input>))
      regs[i] = b.input(n.outputs[0].dtype);
    else if (n.is(op<Constant>))
      regs[i] = b.constant(n.attrs.as<Constant::Attrs>().value);
    else {
      std::vector<ProgramBuilder::Reg> args;
      std::vector<DType> types;
      for (ValueId id : n.inputs)
        args.push_back(regs[id.node]), types.push_back(body.type(id).dtype);
      regs[i] = b.step(n, args, types);
    }
  }
  const ValueId y = body.outputs()[0].id;
  if (b.ok()) b.output(regs[y.node], body.type(y).dtype);
  if (!b.ok()) return std::nullopt;
  TileProgram p = b.take();
  return find_fault(p).empty() ? std::optional(std::move(p)) : std::nullopt;
}

std::optional<TileProgram> program_of(const Graph& g, const Node& n) {
  if (n.is(op<ElementwiseRegion>))
    return region_program(*n.attrs.as<ElementwiseRegion::Attrs>().body);
  return single_program(g, n);
}

bool accepts(const Graph& g, const Node& n, const void*) { return program_of(g, n).has_value(); }

std::shared_ptr<const void> prepare(const Graph& g, const Node& n, const void*) {
  return std::make_shared<const TileProgram>(*program_of(g, n));
}

constexpr size_t kMaxOperands = ElementwiseRegion::kMaxInputs + 1, kMaxRank = 16;

planned::Status launch(const planned::StepCx& cx) {
  const planned::Operand& y = cx.out(0);
  const std::span<const int64_t> shape = y.sizes();
  int64_t strides[kMaxOperands][kMaxRank];
  TileOperand operands[kMaxOperands];
  const size_t n = cx.n_inputs();
  for (size_t i = 0; i <= n; ++i) {
    const planned::Operand& x = i < n ? cx.in(i) : y;
    broadcast_strides(x, shape, strides[i]);
    operands[i] = {x.data, {strides[i], shape.size()}};
  }
  run_tiles(cx.prepared<TileProgram>(), shape, {operands, n + 1}, *device_of(cx).pool,
            device_of(cx).isa);
  return {};
}

}  // namespace

std::span<const planned::Row> elementwise_rows() {
  static const std::vector<planned::Row> rows = [] {
    std::vector<planned::Row> all;
    auto add_row = [&](const Op* op, bool in_region) {
      planned::Row row{.op = op, .name = "tiles"};
      row.accepts = accepts;
      row.launch = launch;
      row.prepare = prepare;
      row.strided_inputs = ~0u;
      row.in_place_inputs = ~0u;
      row.in_region = in_region;
      all.push_back(row);
    };
    for (const OpcodeRow& o : kOpcodes) add_row(o.op, true);
    add_row(&op<ElementwiseRegion>, false);
    return all;
  }();
  return rows;
}

}  // namespace lamella::cpu
