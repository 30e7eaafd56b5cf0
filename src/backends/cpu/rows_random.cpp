// Random numbers.
#include "lamella/backends/cpu/kernels.h"
#include "lamella/backends/cpu/operands.h"
#include "lamella/ir/tensor.h"
#include "lamella/kernels/cpu/random.h"
#include "lamella/ops/random/fold_in.h"
#include "lamella/ops/random/normal.h"
#include "lamella/ops/random/uniform.h"

namespace lamella::cpu {
namespace {

RandomKey key_of(const planned::Operand& key) {
  return {static_cast<uint64_t>(load_int(key.dtype, key.data)),
          static_cast<uint64_t>(load_int(key.dtype, key.data + sizeof(int64_t)))};
}

bool plain_accepts(const Graph&, const Node& n, const void*) {
  return elem_of(n.outputs[0].dtype).has_value();
}

planned::Status launch_uniform(const planned::StepCx& cx) {
  const auto& a = cx.attrs<Uniform::Attrs>();
  const planned::Operand& y = cx.out(0);
  fill_uniform(
      {key_of(cx.in(0)), y.numel(), Uniform::bits(a.to), a.low, a.high, *elem_of(y.dtype), y.data},
      *device_of(cx).pool);
  return {};
}

planned::Status launch_normal(const planned::StepCx& cx) {
  const auto& a = cx.attrs<Normal::Attrs>();
  const planned::Operand& y = cx.out(0);
  fill_normal({key_of(cx.in(0)), y.numel(), a.mean, a.deviation, *elem_of(y.dtype), y.data},
              *device_of(cx).pool);
  return {};
}

planned::Status launch_fold_in(const planned::StepCx& cx) {
  const planned::Operand &data = cx.in(1), &y = cx.out(0);
  const auto words = random_block(
      key_of(cx.in(0)), static_cast<uint64_t>(load_int(data.dtype, data.data)), FoldIn::kTweak);
  for (size_t i = 0; i < 2; ++i)
    y.as<uint64_t>()[i] = words[2 * i] | uint64_t{words[2 * i + 1]} << 32;
  return {};
}

}  // namespace

std::span<const planned::Row> random_rows() {
  static constexpr planned::Row kRows[] = {
      {.op = &op<FoldIn>, .name = "fold_in", .accepts = plain_accepts, .launch = launch_fold_in},
      {.op = &op<Normal>, .name = "normal", .accepts = plain_accepts, .launch = launch_normal},
      {.op = &op<Uniform>, .name = "uniform", .accepts = plain_accepts, .launch = launch_uniform},
  };
  return kRows;
}

}  // namespace lamella::cpu
