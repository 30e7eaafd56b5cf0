#include "lamella/backends/planned/control.h"

#include "lamella/backends/planned/frame.h"
#include "lamella/base/error.h"

namespace lamella::planned {
bool is_control(const Node&) { return false; }
std::vector<Tensor> run_control(const Step&, const Node& n, std::vector<Tensor>, std::vector<std::unique_ptr<FrameState>>&) {
  throw InternalError(str("no control op ", n.op->info.name));
}
}  // namespace lamella::planned
