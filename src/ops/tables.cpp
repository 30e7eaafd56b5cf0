// Every built-in op: the families' lists in order.
#include "lamella/ops/tables.h"

#include "lamella/ops/families.h"
#include "lamella/ops/op.h"

namespace lamella {

std::span<const OpFamily> op_families() {
  static const OpFamily families[] = {
      {"math", math_ops()},
      {"activation", activation_ops()},
      {"shape", shape_ops()},
      {"reduce", reduce_ops()},
      {"index", index_ops()},
      {"quant", quant_ops()},
      {"random", random_ops()},
      {"control", control_ops()},
      {"linalg", linalg_ops()},
      {"spatial", spatial_ops()},
      {"nn", nn_ops()},
      {"attention", attention_ops()},
      {"recurrent", recurrent_ops()},
      {"signal", signal_ops()},
  };
  return families;
}

std::span<const Op* const> all_ops() {
  static const std::vector<const Op*> ops = [] {
    std::vector<const Op*> all{&op<Constant>, &op<Input>, &op<Parameter>, &op<Sizes>};
    for (const OpFamily& family : op_families())
      all.insert(all.end(), family.ops.begin(), family.ops.end());
    return all;
  }();
  return ops;
}

const OpSet& builtin_ops() {
  static const OpSet set{all_ops()};
  return set;
}

}  // namespace lamella
