// A custom primitive for the views of planned/views.h: it only says where elements lie, and copies
// where a reshape meets elements that do not lie densely.
#pragma once

#include "lamella/backends/mlx/row_primitive.h"

namespace lamella::on_mlx {

class ViewPrimitive final : public mx::Primitive {
 public:
  ViewPrimitive(mx::Stream stream, std::shared_ptr<const BoundStep> bound,
                std::shared_ptr<RunState> run)
      : Primitive(stream), bound_(std::move(bound)), run_(std::move(run)) {}

  void eval_cpu(const std::vector<mx::array>& inputs, std::vector<mx::array>& outputs) override;
  void eval_gpu(const std::vector<mx::array>& inputs, std::vector<mx::array>& outputs) override;
  const char* name() const override { return "LamellaView"; }

 private:
  std::shared_ptr<const BoundStep> bound_;
  std::shared_ptr<RunState> run_;
};

}  // namespace lamella::on_mlx
