#pragma once

#include "lamella/ops/op.h"

namespace lamella {

// How the operands are rounded before the products; both are then exact.
enum class Compute : int { exact, bf16 };
template <>
struct EnumNames<Compute> {
  static constexpr std::array<std::string_view, 2> names{"exact", "bf16"};
};

struct Matmul {
  static constexpr Info info{
      .name = "matmul",
      .inputs = "x, w",
      .outputs = "y",
      .doc =
          "y[..., m, n] = sum over k of x[..., m, k] * w[..., n, k] (transpose_w, the default: "
          "weights lie as files store them) or w[..., k, n]. Leading axes broadcast; a w of rank 2 "
          "serves them all. Either operand may be encoded, in blocks along its last axis; products "
          "are exact over the decoded values. Floats accumulate in at least f32; integers wrap. "
          "The type of y is that of x, f32 where x is encoded.",
      .ulps = 2,
      .ulps_per_length = 0.5,
      .traits = kTakesEncoded};
  struct Attrs {
    bool transpose_w = true;
    Compute compute = Compute::exact;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("transpose_w", &Attrs::transpose_w), f("compute", &Attrs::compute);
    }
  };

  static void type(TypeCx& cx, const Attrs& a) { type_of(cx, 0, 1, a); }
  // The output of inputs `i` and `j`, for ops built on this one; gives its last size.
  static Dim type_of(TypeCx& cx, size_t i, size_t j, const Attrs& a) {
    const Type &x = cx.in(i), &w = cx.in(j);
    cx.check(x.is_tensor() && w.is_tensor() && x.rank() >= 1 && w.rank() >= 2,
             "wants x of rank 1 or more and w of rank 2 or more; got ", x, " and ", w);
    const bool both_plain = !x.dtype.is_block() && !w.dtype.is_block();
    cx.check(x.dtype == w.dtype || (is_real(x.dtype) && is_real(w.dtype)),
             "operands of different kinds; got ", x, " and ", w);
    cx.check(is_real(x.dtype) || (both_plain && x.dtype.is_int()), "does not take this type; got ",
             x);
    const Dim k = a.transpose_w ? w.shape[-1] : w.shape[-2];
    const Dim n = a.transpose_w ? w.shape[-2] : w.shape[-1];
    cx.require_equal(x.shape.last(), k, "inner sizes of x and w");
    const size_t x_outer = x.rank() >= 2 ? x.rank() - 2 : 0;
    Shape batch(std::vector<Dim>(x.shape.begin(), x.shape.begin() + static_cast<int64_t>(x_outer)));
    const Shape w_batch(std::vector<Dim>(w.shape.begin(), w.shape.end() - 2));
    batch = cx.broadcast(batch, w_batch);
    if (x.rank() >= 2) batch.dims.push_back(x.shape[-2]);
    batch.dims.push_back(n);
    cx.out(x.dtype.is_block() ? kF32 : x.dtype, std::move(batch));
    return n;
  }

  static Dim flops(const Graph& g, const Node& n) {
    return n.outputs[0].shape.numel() * g.type(n.inputs[0]).shape.last() * 2;
  }

  static void eval(EvalCx& cx, const Attrs& a) {
    RefTensor x = cx.in(0), w = cx.in(1);
    if (a.compute == Compute::bf16)
      for (RefTensor* t : {&x, &w})
        for (double& v : t->f) v = round_float(kBF16, v);
    const bool is_vector = x.rank() == 1;
    if (is_vector) x.shape.insert(x.shape.begin(), 1);
    RefTensor& y = cx.out(0);
    std::vector<int64_t> shape = y.shape;
    if (is_vector) shape.insert(shape.end() - 1, 1);
    const int64_t m = shape[shape.size() - 2], n = shape.back(), k = x.shape.back();
    if (k == 0) return;  // sums of nothing: the zeros that y holds
    const std::vector<int64_t> batch(shape.begin(), shape.end() - 2);
    const std::vector<int64_t> xb(x.shape.begin(), x.shape.end() - 2),
        wb(w.shape.begin(), w.shape.end() - 2);
    const int64_t w_row = a.transpose_w ? k : 1, w_step = a.transpose_w ? 1 : n;
    for (Index at(batch); !at.done(); at.next()) {
      const size_t x0 = static_cast<size_t>(at.broadcast_offset(xb) * m * k);
      const size_t w0 = static_cast<size_t>(at.broadcast_offset(wb) * n * k);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          const size_t o = (at.flat() * static_cast<size_t>(m) + static_cast<size_t>(i)) *
                               static_cast<size_t>(n) +
                           static_cast<size_t>(j);
          const size_t xr = x0 + static_cast<size_t>(i * k),
                       wr = w0 + static_cast<size_t>(j * w_row);
          if (y.holds_floats())
            y.f[o] = dot(x.f.data() + xr, w.f.data() + wr, k, w_step);
          else
            y.i[o] = dot_wrapping(x.i.data() + xr, w.i.data() + wr, k, w_step);
        }
    }
  }

  static void vjp(VjpCx& cx, const Attrs& a);

  static void samples(Samples& s) {
    const DType q4 = find_dtype("q4_0"), q6 = find_dtype("q6_k"), q8 = find_dtype("q8_32");
    for (DType w : {DType{}, q4, q6})
      for (int64_t m : {1, 3, 65}) {
        s.add({In{.shape = {m, 288}}, In{.shape = {7, 288}, .dtype = w}}, Attrs{}).length = 288;
      }
    for (const char* planes :
         {"mlx_affine4_g32_f16", "mlx_affine8_g32_bf16", "mlx_mxfp4", "mlx_mxfp8", "mlx_nvfp4",
          "int8_b32_f32", "int8z_b16_f16", "int4_b32_f16", "int4z_b32_f32"})
      s.add({In{.shape = {3, 288}}, In{.shape = {7, 288}, .dtype = find_dtype(planes)}}, Attrs{})
          .length = 288;
    s.add({In{.shape = {5, 320}, .dtype = q8}, In{.shape = {9, 320}, .dtype = q4}}, Attrs{})
        .length = 320;
    s.add({In{.shape = {2, 1, 3, 5}}, In{.shape = {4, 5, 7}}}, Attrs{.transpose_w = false}).length =
        5;
    s.add({In{.shape = {0, 5}}, In{.shape = {7, 5}}}, Attrs{});
    s.add({In{.shape = {3, 0}}, In{.shape = {7, 0}}}, Attrs{});
    s.add({In{.shape = {6}}, In{.shape = {4, 6}}}, Attrs{}).length = 6;
    s.add({In{.shape = {6}}, In{.shape = {2, 6, 3}}}, Attrs{.transpose_w = false}).length = 6;
    s.add({In{.shape = {2, 3, 5}}, In{.shape = {4, 5}}}, Attrs{}).length = 5;
    s.add({In{.shape = {3, 7}}, In{.shape = {7, 64}, .dtype = q4}}, Attrs{.transpose_w = false})
        .length = 7;
    Sample& rounded =
        s.add({In{.shape = {3, 40}}, In{.shape = {2, 5, 40}}}, Attrs{.compute = Compute::bf16});
    rounded.length = 40;
    rounded.grad = false;  // differences see the steps of the rounding
    // golden:begin
    // clang-format off
    const std::string numpy = "NumPy 2.2.6, tools/golden/op_samples.py";
    s.expect(numpy, {In{.shape = {2, 3, 4}, .dtype = kF32, .values = {1.875, 0.5, 0.75, 1.625,
      0.375, 1.125, 1.375, -1.125, -1.875, -0.875, -0.875, 1.5, 1.75, -2, 0, 1.375, -1.5, 1.25,
      -1.625, -0.125, 1.25, -0.75, -0.625, -0.875}}, In{.shape = {3, 4}, .dtype = kF32, .values =
      {0.875, -1, 2, -0.25, -0.125, 0, 0.375, 0.25, 0, 2, 1.25, 1.25}}}, Attrs{}, {Expect{{2, 3, 3},
      {2.234375, 0.453125, 3.96875, 2.234375, 0.1875, 2.5625, -2.890625, 0.28125, -0.96875, 3.1875,
      0.125, -2.28125, -5.78125, -0.453125, 0.3125, 0.8125, -0.609375, -3.375}}});
    s.expect(numpy, {In{.shape = {2, 1, 2, 3}, .dtype = kF32, .values = {0.875, 0.5, -0.625, 2,
      -0.125, -1.125, 1.375, -1.375, 1.5, 0.5, -1.625, -1.875}}, In{.shape = {3, 3, 2}, .dtype =
      kF32, .values = {-0.25, -1.875, -1.5, 0, 2, -0.125, 1.25, 1.75, 1.375, 0.5, -0.25, 0, -1, 0,
      -0.5, -1, 2, -2}}}, Attrs{.transpose_w = false}, {Expect{{2, 3, 2, 2}, {-2.21875, -1.5625,
      -2.5625, -3.609375, 1.9375, 1.78125, 2.609375, 3.4375, -2.375, 0.75, -4.1875, 2.375, 4.71875,
      -2.765625, -1.4375, -0.703125, -0.546875, 1.71875, -1.140625, 0.0625, 2.3125, -1.625, -3.4375,
      5.375}}});
    s.expect(numpy, {In{.shape = {4, 3}, .dtype = kF32, .values = {-0.978519082, -0.808837235,
      1.06089866, -0.807534695, -0.0325217061, 0.884389877, -0.583600461, -0.11170195, 0.110464141,
      0.0637817755, -1.22505581, 0.0761402324}}, In{.shape = {2, 4, 3}, .dtype = kF32, .values =
      {1.35882342, -1.54714465, 0.859382689, 0.119354025, -0.641470373, 2.00041652, 0.762259722,
      -1.19928885, 0.0745162293, 0.576689601, -0.188782126, 0.682910264, -0.0665173233, 0.667247534,
      1.43852258, -0.675662279, 0.203138605, -0.463307589, 0.127268419, -1.18719459, -0.579301596,
      -0.196195975, 0.898763895, 1.14522195}}}, Attrs{.compute = Compute::bf16}, {Expect{{2, 4, 4},
      {0.831054688, 2.52619171, 0.305374146, 0.311885834, -0.290287018, 1.69009018, -0.510902405,
      0.142136812, -0.523399353, 0.222991943, -0.300570965, -0.239976406, 2.04975128, 0.945731163,
      1.5301218, 0.320228577, 1.05233765, 0.00651550293, 0.221473694, 0.686199188, 1.30104923,
      0.131191254, -0.57447052, 1.14340019, 0.122591019, 0.319532394, -0.00490570068, 0.140518188,
      -0.714056015, -0.327630997, 1.42062664, -1.02706671}}}).grad = false;
    // clang-format on
    // golden:end
    s.bad({In{.shape = {2, 3}}, In{.shape = {4, 5}}}, Attrs{}, "inner sizes");
    s.bad({In{.shape = {2, 3}}, In{.shape = {3}}}, Attrs{}, "rank 2 or more");
    s.bad({In{.shape = {2, 1, 3}}, In{.shape = {3, 4, 3}}}, Attrs{}, "do not broadcast");
    s.bad({In{.shape = {2, 3}, .dtype = kF32}, In{.shape = {4, 3}, .dtype = kI32}}, Attrs{},
          "different kinds");
  }

 private:
  static bool is_real(DType t) { return t.is_float() || t.is_block(); }
  static double dot(const double* x, const double* w, int64_t k, int64_t step) {
    double sum = 0;
    for (int64_t i = 0; i < k; ++i) sum += x[i] * w[i * step];
    return sum;
  }
  static int64_t dot_wrapping(const int64_t* x, const int64_t* w, int64_t k, int64_t step) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < k; ++i)
      sum += static_cast<uint64_t>(x[i]) * static_cast<uint64_t>(w[i * step]);
    return static_cast<int64_t>(sum);
  }
};
inline constexpr Call<Matmul> matmul;

// Gradients of y = matmul(x, w, a) by its operands, `g` being that by y. They have y's batch axes,
// not yet summed where an operand was broadcast; an encoded operand's is f32.
Value matmul_grad_x(Value g, Value x, Value w, const Matmul::Attrs& a);
Value matmul_grad_w(Value g, Value x, Value w, const Matmul::Attrs& a);

}  // namespace lamella
