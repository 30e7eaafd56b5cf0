#pragma once

#include "lamella/ops/op.h"

namespace lamella {

// What becomes of the losses of a batch.
enum class LossReduction : int { none, mean, sum };
template <>
struct EnumNames<LossReduction> {
  static constexpr std::array<std::string_view, 3> names{"none", "mean", "sum"};
};

struct SoftmaxCrossEntropy {
  static constexpr Info info{
      .name = "softmax_cross_entropy",
      .inputs = "x, labels",
      .outputs = "loss",
      .doc =
          "-sum over the classes c of q[c] log_softmax(x)[c], along axis, where q[c] = (1 - "
          "smoothing) w[c] + smoothing / classes; a class with q = 0 adds 0. Float labels, of the "
          "sizes of x, are w. Integer labels, of the sizes of x without the axis, name the class "
          "with w = 1: one that is ignore_index makes the loss of its row 0, another outside [0, "
          "classes) is an error. A row with NaN has the loss NaN. reduction: the sum of the rows' "
          "losses, or their mean over the rows that are not ignored (NaN of none).",
      .ulps = 8,
      .ulps_per_length = 0.5};
  struct Attrs {
    int64_t axis = -1;
    LossReduction reduction = LossReduction::mean;
    int64_t ignore_index = -100;
    double smoothing = 0;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("axis", &Attrs::axis), f("reduction", &Attrs::reduction),
          f("ignore_index", &Attrs::ignore_index), f("smoothing", &Attrs::smoothing);
    }
  };
  static void type(TypeCx& cx, const Attrs& a);
  // -log_softmax as (max - x) + log1p(the other exponentials): no sum of it cancels.
  static Value expand(const Args& args, const Attrs& a);
  static void vjp(VjpCx& cx, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<SoftmaxCrossEntropy> softmax_cross_entropy;

}  // namespace lamella
