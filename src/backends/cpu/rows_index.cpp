// Looking rows up by index.
#include "lamella/backends/cpu/kernels.h"
#include "lamella/backends/cpu/operands.h"
#include "lamella/kernels/cpu/gather.h"
#include "lamella/ops/index/gather.h"

namespace lamella::cpu {
namespace {

// Rows of a matrix, decoded to f32.
bool table_accepts(const Graph& g, const Node& n, const void*) {
  const Type &x = type_of_input(g, n, 0), &ids = type_of_input(g, n, 1);
  const int64_t axis = n.attrs.as<Gather::Attrs>().axis;
  return x.rank() == 2 && (axis == 0 || axis == -2) && is_weight_type(x.dtype) && n.outputs[0].dtype == kF32 &&
         (ids.dtype == kI32 || ids.dtype == kI64);
}

planned::Status launch_table(const planned::StepCx& cx) {
  const planned::Operand &x = cx.in(0), &ids = cx.in(1);
  GatherCall call;
  call.table = weights_of(x);
  call.n = x.size(0);
  call.k = x.size(1);
  call.ids = ids.data;
  call.id_elem = *elem_of(ids.dtype);
  call.n_ids = ids.numel();
  call.y = cx.out(0).as<float>();
  call.y_stride = call.k;
  return status_of(gather_rows(call, *device_of(cx).pool), &ids);
}

}  // namespace

std::span<const planned::Row> index_rows() {
  static constexpr planned::Row kRows[] = {
      {.op = &op<Gather>, .name = "gather_rows", .accepts = table_accepts, .launch = launch_table},
  };
  return kRows;
}

}  // namespace lamella::cpu
