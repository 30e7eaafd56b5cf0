// Every built-in op: the families' lists in order.
#include "lamella/ops/families.h"
#include "lamella/ops/op.h"

namespace lamella {

std::span<const Op* const> all_ops() {
  static const std::vector<const Op*> ops = [] {
    std::vector<const Op*> all{&op<Constant>, &op<Input>, &op<Parameter>, &op<Sizes>};
    for (auto family : {math_ops, activation_ops, shape_ops, reduce_ops, index_ops, quant_ops,
                        random_ops, control_ops, linalg_ops, spatial_ops, nn_ops, attention_ops}) {
      const auto list = family();
      all.insert(all.end(), list.begin(), list.end());
    }
    return all;
  }();
  return ops;
}

const OpSet& builtin_ops() {
  static const OpSet set{all_ops()};
  return set;
}

}  // namespace lamella
