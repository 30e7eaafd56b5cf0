// Random ops as mlx::core calls: the words of Philox4x32-10 that the ops define, in integers.
#include <mlx/ops.h>

#include <cmath>
#include <numbers>

#include "lamella/backends/mlx/core_row.h"
#include "lamella/ops/random/fold_in.h"
#include "lamella/ops/random/normal.h"
#include "lamella/ops/random/permutation.h"
#include "lamella/ops/random/random_int.h"
#include "lamella/ops/random/uniform.h"

namespace lamella::on_mlx {
namespace {

class Philox {
 public:
  explicit Philox(mx::Stream stream) : stream_(stream) {}

  // Of counters (block, upper half), a column each: words [n, 4].
  mx::array words(const mx::array& key, const mx::array& low, const mx::array& high,
                  uint32_t tweak) {
    const mx::array parts = mx::view(key, mx::uint32, stream_);
    const auto part = [&](int i) { return mx::slice(parts, {i}, {i + 1}, stream_); };
    mx::array c0 = low, c1 = high, c2 = part(2), c3 = part(3);
    mx::array k0 = part(0), k1 = mx::bitwise_xor(part(1), number(tweak), stream_);
    for (int round = 0; round < 10; ++round) {
      const mx::array a = product(c0, 0xD2511F53), b = product(c2, 0xCD9E8D57);
      c0 = mixed(upper(b), c1, k0);
      c1 = lower(b);
      c2 = mixed(upper(a), c3, k1);
      c3 = lower(a);
      k0 = mx::add(k0, number(0x9E3779B9), stream_);
      k1 = mx::add(k1, number(0xBB67AE85), stream_);
    }
    return mx::stack({c0, c1, c2, c3}, 1, stream_);
  }

  // Words 0 to n - 1 of a key's stream.
  mx::array first_words(const mx::array& key, int n) {
    const int n_blocks = (n + 3) / 4;
    const mx::array block = mx::astype(mx::arange(0, n_blocks, 1, stream_), mx::uint32, stream_);
    const mx::array all =
        mx::reshape(words(key, block, mx::zeros_like(block, stream_), 0), {4 * n_blocks}, stream_);
    return mx::slice(all, {0}, {n}, stream_);
  }

 private:
  static mx::array number(uint32_t value) { return mx::array(value, mx::uint32); }
  mx::array product(const mx::array& x, uint32_t factor) {
    return mx::multiply(mx::astype(x, mx::uint64, stream_),
                        mx::astype(number(factor), mx::uint64, stream_), stream_);
  }
  mx::array upper(const mx::array& wide) {
    const mx::array half = mx::astype(number(32), mx::uint64, stream_);
    return mx::astype(mx::right_shift(wide, half, stream_), mx::uint32, stream_);
  }
  mx::array lower(const mx::array& wide) {
    const mx::array half = mx::astype(number(0xffffffff), mx::uint64, stream_);
    return mx::astype(mx::bitwise_and(wide, half, stream_), mx::uint32, stream_);
  }
  mx::array mixed(const mx::array& a, const mx::array& b, const mx::array& c) {
    return mx::bitwise_xor(mx::bitwise_xor(a, b, stream_), c, stream_);
  }

  mx::Stream stream_;
};

mx::array real(double v) { return mx::array(static_cast<float>(v)); }

// The upper bits of the words as f32 numbers.
mx::array upper_bits(LowerCx& cx, const mx::array& words, int n_bits) {
  const mx::array shift = mx::array(static_cast<uint32_t>(32 - n_bits), mx::uint32);
  return mx::astype(mx::right_shift(words, shift, cx.stream), mx::float32, cx.stream);
}

// One rounding, as the meaning has it: from 0 on, or in f32 for a narrower type.
bool is_rounded_once(const Graph&, const Node& n) {
  const auto& a = n.attrs.as<Uniform::Attrs>();
  return a.to == kF16 || a.to == kBF16 || (a.to == kF32 && a.low == 0);
}

Arrays uniform_row(LowerCx& cx) {
  const auto& a = cx.attrs<Uniform::Attrs>();
  const mx::Shape shape = cx.out_shape(0);
  const mx::array empty = mx::zeros(shape, cx.out_dtype(0), cx.stream);
  if (empty.size() == 0) return {empty};
  const int n_bits = Uniform::bits(a.to);
  const mx::array words = Philox(cx.stream).first_words(cx.in(0), static_cast<int>(empty.size()));
  const mx::array u = mx::multiply(upper_bits(cx, words, n_bits),
                                   real(std::ldexp(a.high - a.low, -n_bits)), cx.stream);
  const mx::array y = a.low == 0 ? u : mx::add(u, real(a.low), cx.stream);
  return {mx::reshape(mx::astype(y, cx.out_dtype(0), cx.stream), shape, cx.stream)};
}

// cos and sin of 2 pi v for v in [0, 1): from the nearest quarter, which is exact.
Arrays turn(LowerCx& cx, const mx::array& v) {
  const mx::array quarter =
      mx::floor(mx::add(mx::multiply(v, real(4), cx.stream), real(0.5), cx.stream), cx.stream);
  const mx::array rest = mx::subtract(v, mx::multiply(quarter, real(0.25), cx.stream), cx.stream);
  const mx::array angle = mx::multiply(rest, real(2 * std::numbers::pi), cx.stream);
  const mx::array c = mx::cos(angle, cx.stream), s = mx::sin(angle, cx.stream);
  const auto is = [&](int q) { return mx::equal(quarter, real(q), cx.stream); };
  const auto minus = [&](const mx::array& x) { return mx::negative(x, cx.stream); };
  const auto pick = [&](const mx::array& q0, const mx::array& q1, const mx::array& q2,
                        const mx::array& q3) {
    return mx::where(
        is(1), q1, mx::where(is(2), q2, mx::where(is(3), q3, q0, cx.stream), cx.stream), cx.stream);
  };
  return {pick(c, minus(s), minus(c), s), pick(s, c, minus(s), minus(c))};
}

bool is_centred(const Graph&, const Node& n) {
  const auto& a = n.attrs.as<Normal::Attrs>();
  return a.to == kF16 || a.to == kBF16 || (a.to == kF32 && a.mean == 0);
}

Arrays normal_row(LowerCx& cx) {
  const auto& a = cx.attrs<Normal::Attrs>();
  const mx::Shape shape = cx.out_shape(0);
  const mx::array empty = mx::zeros(shape, cx.out_dtype(0), cx.stream);
  if (empty.size() == 0) return {empty};
  const int n = static_cast<int>(empty.size()), n_pairs = (n + 1) / 2;
  const mx::array numbers =
      mx::reshape(upper_bits(cx, Philox(cx.stream).first_words(cx.in(0), 2 * n_pairs), 24),
                  {n_pairs, 2}, cx.stream);
  const Arrays uv = mx::split(mx::multiply(numbers, real(0x1p-24), cx.stream), 2, 1, cx.stream);
  const mx::array radius =
      mx::sqrt(mx::multiply(real(-2), mx::log(mx::add(uv[0], real(0x1p-24), cx.stream), cx.stream),
                            cx.stream),
               cx.stream);
  const mx::array pairs =
      mx::multiply(radius, mx::concatenate(turn(cx, uv[1]), 1, cx.stream), cx.stream);
  const mx::array z = mx::slice(mx::reshape(pairs, {2 * n_pairs}, cx.stream), {0}, {n}, cx.stream);
  const mx::array scaled = mx::multiply(z, real(a.deviation), cx.stream);
  const mx::array y = a.mean == 0 ? scaled : mx::add(scaled, real(a.mean), cx.stream);
  return {mx::reshape(mx::astype(y, cx.out_dtype(0), cx.stream), shape, cx.stream)};
}

// Of equal words the first comes first, as MLX sorts.
Arrays permutation_row(LowerCx& cx) {
  const int n = cx.out_shape(0)[0];
  if (n == 0) return {mx::zeros({0}, mx::int64, cx.stream)};
  const mx::array words = Philox(cx.stream).first_words(cx.in(0), n);
  return {mx::astype(mx::argsort(words, -1, cx.stream), mx::int64, cx.stream)};
}

// floor(word * width / 2^32): the meaning's f64 rounds no such product up to a whole number.
bool is_short(const Graph&, const Node& n) {
  const auto& a = n.attrs.as<RandomInt::Attrs>();
  return a.high - a.low <= int64_t{1} << 20;
}

Arrays random_int_row(LowerCx& cx) {
  const auto& a = cx.attrs<RandomInt::Attrs>();
  const mx::Shape shape = cx.out_shape(0);
  const mx::array empty = mx::zeros(shape, cx.out_dtype(0), cx.stream);
  if (empty.size() == 0) return {empty};
  const auto number = [&](uint32_t v) {
    return mx::astype(mx::array(v, mx::uint32), mx::uint64, cx.stream);
  };
  const mx::array words =
      mx::astype(Philox(cx.stream).first_words(cx.in(0), static_cast<int>(empty.size())),
                 mx::uint64, cx.stream);
  const mx::array step =
      mx::right_shift(mx::multiply(words, number(static_cast<uint32_t>(a.high - a.low)), cx.stream),
                      number(32), cx.stream);
  const mx::array low =
      cx.run.memory.give(Tensor::from(cx.node().outputs[0].dtype, {}, std::vector<int64_t>{a.low}));
  return {mx::reshape(mx::add(mx::astype(step, cx.out_dtype(0), cx.stream), low, cx.stream), shape,
                      cx.stream)};
}

Arrays fold_in_row(LowerCx& cx) {
  const mx::array data =
      mx::view(mx::reshape(mx::astype(cx.in(1), mx::int64, cx.stream), {1}, cx.stream), mx::uint32,
               cx.stream);
  const auto half = [&](int i) { return mx::slice(data, {i}, {i + 1}, cx.stream); };
  const mx::array words = Philox(cx.stream).words(cx.in(0), half(0), half(1), FoldIn::kTweak);
  return {mx::view(mx::reshape(words, {4}, cx.stream), cx.out_dtype(0), cx.stream)};
}

}  // namespace

std::span<const CoreRow> core_random_rows() {
  static constexpr CoreRow kRows[] = {
      {&op<FoldIn>, "mlx::core::bitwise_xor", fold_in_row},
      {&op<Normal>, "mlx::core::bitwise_xor", normal_row, is_centred},
      {&op<Permutation>, "mlx::core::argsort", permutation_row},
      {&op<RandomInt>, "mlx::core::bitwise_xor", random_int_row, is_short},
      {&op<Uniform>, "mlx::core::bitwise_xor", uniform_row, is_rounded_once},
  };
  return kRows;
}

}  // namespace lamella::on_mlx
