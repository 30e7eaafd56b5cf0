#include "lamella/ops/shape/diagonal.h"

#include "lamella/ops/index/gather_nd.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/transpose.h"
#include "lamella/ops/shape/unsqueeze.h"

namespace lamella {
namespace {

Dim length(Dim n, Dim m, int64_t offset) {
  return dim_max(dim_min(n + std::min<int64_t>(offset, 0), m - std::max<int64_t>(offset, 0)), 0);
}

}  // namespace

void Diagonal::type(TypeCx& cx, const Attrs& a) {
  const Shape& x = cx.shape(0);
  const int64_t first = cx.axis(a.first, x.rank()), second = cx.axis(a.second, x.rank());
  cx.check(first != second, "wants two axes; got ", a.first, " twice");
  cx.check(std::abs(static_cast<double>(a.offset)) < 0x1p40, "offset out of range; got ", a.offset);
  cx.check(!cx.in(0).dtype.is_block(), "does not take encoded tensors; got ", cx.in(0));
  Shape y;
  for (int64_t i = 0; i < static_cast<int64_t>(x.rank()); ++i)
    if (i != first && i != second) y.dims.push_back(x[i]);
  y.dims.push_back(length(x[first], x[second], a.offset));
  cx.out(cx.in(0).dtype, std::move(y));
}

// The two axes come to the front, pairs of positions take their elements, and the new axis goes to
// the end.
Value Diagonal::expand(const Args& args, const Attrs& a) {
  const Shape x = args[0].shape();
  const int64_t rank = static_cast<int64_t>(x.rank());
  const int64_t first = a.first < 0 ? a.first + rank : a.first,
                second = a.second < 0 ? a.second + rank : a.second;
  std::vector<int64_t> front{first, second}, back;
  for (int64_t i = 0; i < rank; ++i)
    if (i != first && i != second) front.push_back(i);
  for (int64_t i = 1; i < rank - 1; ++i) back.push_back(i);
  back.push_back(0);
  const Value at = unsqueeze(iota_of(args.graph(), length(x[first], x[second], a.offset)), {{-1}});
  const double down = static_cast<double>(std::max<int64_t>(-a.offset, 0)),
               right = static_cast<double>(std::max<int64_t>(a.offset, 0));
  const Value pairs = concat(at + down, at + right, {.axis = 1});
  return transpose(gather_nd(transpose(args[0], {.perm = front}), pairs), {.perm = back});
}

void Diagonal::samples(Samples& s) {
  s.types(kAnyTypes);
  s.add({In{.shape = {5, 7}}}, Attrs{});
  s.add({In{.shape = {2, 5, 3}}}, Attrs{.offset = 1, .first = -1, .second = 1});
  s.add({In{.shape = {4, 2, 3}}}, Attrs{.offset = -2, .first = 0, .second = 2});
  s.add({In{.shape = {3, 3}}}, Attrs{.offset = 5});
  s.add({In{.shape = {0, 3}}}, Attrs{});
  s.bad({In{.shape = {3}}}, Attrs{}, "axis out of range");
  s.bad({In{.shape = {3, 3}}}, Attrs{.first = 1}, "two axes");
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
  s.expect(source, {In{.shape = {4, 5, 4}, .dtype = kF32, .values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
    10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33,
    34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57,
    58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79}}},
    Attrs{}, {Expect{{4, 4}, {0, 24, 48, 72, 1, 25, 49, 73, 2, 26, 50, 74, 3, 27, 51, 75}}});
  s.expect(source, {In{.shape = {4, 5, 4}, .dtype = kF32, .values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
    10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33,
    34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57,
    58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79}}},
    Attrs{.offset = -1, .first = 2, .second = 0}, {Expect{{5, 3}, {1, 22, 43, 5, 26, 47, 9, 30, 51,
    13, 34, 55, 17, 38, 59}}});
  // clang-format on
  // golden:end
}

}  // namespace lamella
