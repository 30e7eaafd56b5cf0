#include "lamella/ops/linalg/dot_general.h"

#include <algorithm>

#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/transpose.h"

namespace lamella {
namespace {

std::vector<int64_t> positive(const std::vector<int64_t>& axes, size_t rank) {
  std::vector<int64_t> out = axes;
  for (int64_t& axis : out)
    if (axis < 0) axis += static_cast<int64_t>(rank);
  return out;
}

// One operand's axes in three groups, and its sizes along each.
struct Operand {
  std::vector<int64_t> batch, free, contract;
  Shape shape;

  Operand(const Shape& x, const std::vector<int64_t>& batch_axes,
          const std::vector<int64_t>& contracted)
      : batch(positive(batch_axes, x.rank())), contract(positive(contracted, x.rank())), shape(x) {
    for (int64_t i = 0; i < static_cast<int64_t>(x.rank()); ++i)
      if (std::count(batch.begin(), batch.end(), i) +
              std::count(contract.begin(), contract.end(), i) ==
          0)
        free.push_back(i);
  }
  Dim numel(const std::vector<int64_t>& axes) const {
    Dim n = 1;
    for (int64_t axis : axes) n = n * shape[axis];
    return n;
  }
  // [batch, free, contract].
  Value matrix(Value x) const {
    std::vector<int64_t> perm = batch;
    perm.insert(perm.end(), free.begin(), free.end());
    perm.insert(perm.end(), contract.begin(), contract.end());
    if (!std::is_sorted(perm.begin(), perm.end())) x = transpose(x, {.perm = perm});
    return reshape_to(x, {numel(batch), numel(free), numel(contract)});
  }
};

Shape result(const Operand& a, const Operand& b) {
  Shape y;
  for (int64_t axis : a.batch) y.dims.push_back(a.shape[axis]);
  for (int64_t axis : a.free) y.dims.push_back(a.shape[axis]);
  for (int64_t axis : b.free) y.dims.push_back(b.shape[axis]);
  return y;
}

void check_axes(TypeCx& cx, size_t input, const std::vector<int64_t>& batch,
                const std::vector<int64_t>& contract) {
  const size_t rank = cx.shape(input).rank();
  std::vector<bool> seen(rank, false);
  for (const auto* axes : {&batch, &contract})
    for (int64_t axis : *axes) {
      const size_t i = static_cast<size_t>(cx.axis(axis, rank));
      cx.check(!seen[i], "axis given twice; got ", axis, " for ", cx.in(input));
      seen[i] = true;
    }
}

}  // namespace

void DotGeneral::type(TypeCx& cx, const Attrs& at) {
  cx.require_same_dtype(0, 1);
  cx.check(cx.in(0).dtype.is_float() || cx.in(0).dtype.is_int(), "takes numbers; got ", cx.in(0));
  cx.check(at.contract_a.size() == at.contract_b.size(),
           "different numbers of contracted axes; got ", at.contract_a.size(), " and ",
           at.contract_b.size());
  cx.check(at.batch_a.size() == at.batch_b.size(), "different numbers of batch axes; got ",
           at.batch_a.size(), " and ", at.batch_b.size());
  check_axes(cx, 0, at.batch_a, at.contract_a);
  check_axes(cx, 1, at.batch_b, at.contract_b);
  const Operand a(cx.shape(0), at.batch_a, at.contract_a),
      b(cx.shape(1), at.batch_b, at.contract_b);
  for (size_t i = 0; i < a.contract.size(); ++i)
    cx.require_equal(a.shape[a.contract[i]], b.shape[b.contract[i]], "sizes of contracted axes");
  for (size_t i = 0; i < a.batch.size(); ++i)
    cx.require_equal(a.shape[a.batch[i]], b.shape[b.batch[i]], "sizes of batch axes");
  cx.out(cx.in(0).dtype, result(a, b));
}

Value DotGeneral::expand(const Args& args, const Attrs& at) {
  const Operand a(args[0].shape(), at.batch_a, at.contract_a),
      b(args[1].shape(), at.batch_b, at.contract_b);
  return reshape_to(matmul(a.matrix(args[0]), b.matrix(args[1])), result(a, b));
}

void DotGeneral::samples(Samples& s) {
  constexpr DType kTypes[] = {kF32, kF16, kBF16, kF64, kI32};
  s.types(kTypes);
  s.add({In{.shape = {3, 5}}, In{.shape = {4, 5}}}, Attrs{{1}, {1}, {}, {}}).length = 5;
  s.add({In{.shape = {2, 3, 4, 5}}, In{.shape = {5, 2, 7, 3}}}, Attrs{{1, -1}, {3, 0}, {0}, {1}})
      .length = 15;
  s.add({In{.shape = {3, 2}}, In{.shape = {2, 5, 3}}}, Attrs{{}, {}, {0, 1}, {2, 0}}).length = 1;
  s.add({In{.shape = {3}}, In{.shape = {3}}}, Attrs{{0}, {0}, {}, {}}).length = 3;
  s.add({In{.shape = {2}}, In{.shape = {3}}}, Attrs{});
  s.add({In{.shape = {}}, In{.shape = {}}}, Attrs{});
  s.add({In{.shape = {0, 3}}, In{.shape = {4, 3}}}, Attrs{{1}, {1}, {}, {}}).length = 3;
  s.bad({In{.shape = {3, 5}}, In{.shape = {4, 6}}}, Attrs{{1}, {1}, {}, {}},
        "sizes of contracted axes");
  s.bad({In{.shape = {3, 5}}, In{.shape = {4, 5}}}, Attrs{{1}, {1}, {0}, {0}},
        "sizes of batch axes");
  s.bad({In{.shape = {3, 5}}, In{.shape = {3, 5}}}, Attrs{{1}, {1}, {1}, {0}}, "axis given twice");
  s.bad({In{.shape = {3, 5}}, In{.shape = {3, 5}}}, Attrs{{1}, {}, {}, {}}, "different numbers");
  s.bad({In{.shape = {3}}, In{.shape = {3}}}, Attrs{{1}, {0}, {}, {}}, "axis out of range");
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
  s.expect(source, {In{.shape = {2, 3, 4, 2}, .dtype = kF32, .values = {0.375, 0.875, 1.625, 0,
    1.75, -0.75, 0.25, -0.375, -1.625, -1.625, -0.25, -2, 1, 1.75, 0.25, -0.5, 1.25, 0.875, 1, 0.75,
    -0.375, -0.875, -1.125, -0.75, 1.625, 0.625, 0.375, 0, -0.125, 0.625, 0.375, 0.375, -0.75,
    -0.125, -0.375, 0.5, -1.625, -0.25, 1.125, -1.75, 0.875, 0.125, 0.5, 1.875, 1.25, 1, 0, -1}},
    In{.shape = {2, 3, 2, 3}, .dtype = kF32, .values = {0.375, 0, -1.25, -1.625, -0.625, 0.75, 0.75,
    -0.5, -1, 0.375, -0.125, 2, 1.125, 0.5, -1, 1.25, -1.25, -2, 0.875, -0.75, 0.625, 0.375, 1.75,
    -1.25, -1.625, 0.25, 1.75, -0.625, 1.5, -0.125, -1.25, -1.75, -0.25, 0.875, -1.375, -1}}},
    Attrs{.contract_a = {1, 3}, .contract_b = {3, 2}, .batch_a = {0}, .batch_b = {0}}, {Expect{{2,
    4, 3}, {-1.171875, 2.125, -0.265625, 1.171875, 2.09375, 1.703125, 0.59375, -1.0625, 1.46875,
    1.859375, -0.390625, 3.1875, 2.390625, -1.890625, -0.34375, -0.546875, 0.6875, -2.5, 0.4375,
    1.09375, 2.578125, -2.1875, -3.0625, 1.296875}}});
  s.expect(source, {In{.shape = {4, 3}, .dtype = kF32, .values = {0.125, -0.75, 1.625, -1.375,
    0.125, -1, 2, -1.5, -0.25, 2, -1, 1.25}}, In{.shape = {3, 5}, .dtype = kF32, .values = {1.625,
    1, -1.25, -1.75, 1, -1, 0.625, 1.75, 0.125, 1.625, -0.75, -1.375, 0.5, 0.375, 0.625}}},
    Attrs{.contract_a = {1}, .contract_b = {0}}, {Expect{{4, 5}, {-0.265625, -2.578125, -0.65625,
    0.296875, -0.078125, -1.609375, 0.078125, 1.4375, 2.046875, -1.796875, 4.9375, 1.40625, -5.25,
    -3.78125, -0.59375, 3.3125, -0.34375, -3.625, -3.15625, 1.15625}}});
  // clang-format on
  // golden:end
}

}  // namespace lamella
