// The families of built-in ops by name: the folders of src/ops.
#pragma once

#include <span>
#include <string_view>

#include "lamella/ir/op.h"

namespace lamella {

struct OpFamily {
  std::string_view name;
  std::span<const Op* const> ops;
};

std::span<const OpFamily> op_families();

}  // namespace lamella
