// A plan as an Executable: what a planned back end's build() returns.
#pragma once

#include <memory>

#include "lamella/backends/planned/plan.h"

namespace lamella::planned {

std::shared_ptr<const Executable> make_executable(std::shared_ptr<const Plan> plan);

}  // namespace lamella::planned
