#include "lamella/backends/mlx/emulated_kernel.h"

#include <mlx/backend/cpu/encoder.h>
#include <mlx/primitives.h>

#include <algorithm>

#include "lamella/backends/mlx/array.h"
#include "lamella/base/error.h"

namespace lamella::on_mlx {
namespace {

class EmulatedKernel final : public mx::Primitive {
 public:
  EmulatedKernel(mx::Stream stream, MlxEmulation::Launch launch, int groups_x, int groups_y)
      : Primitive(stream), launch_(std::move(launch)), groups_x_(groups_x), groups_y_(groups_y) {}

  void eval_cpu(const std::vector<mx::array>& inputs, std::vector<mx::array>& outputs) override {
    std::vector<mx::array> made;
    for (mx::array& y : outputs) {
      allocate(y);
      made.push_back(mx::array::unsafe_weak_copy(y));
    }
    mx::cpu::get_command_encoder(stream()).dispatch(
        [inputs, made, launch = launch_, x = groups_x_, y = groups_y_] {
          std::vector<Tensor> dense;
          std::vector<const void*> addresses;
          for (const mx::array& input : inputs) {
            if (input.flags().row_contiguous) {
              addresses.push_back(bytes_of(input));
            } else {
              dense.push_back(dense_copy(input));
              addresses.push_back(dense.back().data());
            }
            addresses.push_back(input.shape().data());
          }
          for (const mx::array& output : made) addresses.push_back(bytes_of(output));
          launch(addresses.data(), x, y);
        });
  }
  void eval_gpu(const std::vector<mx::array>&, std::vector<mx::array>&) override {
    throw InternalError("mlx: an emulated kernel was placed on a GPU");
  }
  const char* name() const override { return "LamellaEmulatedKernel"; }

 private:
  static Tensor dense_copy(const mx::array& x) {
    const Tensor dense(dtype_of(x.dtype()), {x.shape().begin(), x.shape().end()});
    const size_t item = x.itemsize();
    for (size_t e = 0; e < x.size(); ++e) {
      int64_t from = 0;
      size_t rest = e;
      for (int d = static_cast<int>(x.ndim()) - 1; d >= 0; --d) {
        const auto size = static_cast<size_t>(x.shape(d));
        from += static_cast<int64_t>(rest % size) * x.strides(d);
        rest /= size;
      }
      std::copy_n(bytes_of(x) + from * static_cast<int64_t>(item), item, dense.data() + e * item);
    }
    return dense;
  }

  MlxEmulation::Launch launch_;
  int groups_x_, groups_y_;
};

}  // namespace

std::shared_ptr<mx::Primitive> emulated_kernel(const MlxEmulation& emulation,
                                               const KernelCall& call, const Arrays& inputs,
                                               const std::vector<KernelOutput>& outputs,
                                               int groups_x, int groups_y, mx::Stream stream) {
  GpuSource source{call.kernel, call.format, call.constants, call.parts, {}, {}};
  for (size_t i = 0; i < inputs.size(); ++i)
    source.inputs.push_back({std::string(call.inputs[i]), dtype_of(inputs[i].dtype())});
  for (const KernelOutput& y : outputs)
    source.outputs.push_back({std::string(y.name), dtype_of(y.dtype)});
  return std::make_shared<EmulatedKernel>(stream, emulation.compile(source), groups_x, groups_y);
}

}  // namespace lamella::on_mlx
