// Rows made of kernel sources: products and look-ups of block formats on a GPU, from the file's own
// bytes.
#include <mlx/backend/metal/metal.h>
#include <mlx/fast.h>
#include <mlx/ops.h>

#include <bit>
#include <functional>
#include <optional>

#include "lamella/backends/mlx/array.h"
#include "lamella/backends/mlx/core_layer.h"
#include "lamella/backends/mlx/emulated_kernel.h"
#include "lamella/base/text.h"
#include "lamella/ops/attention/paged_attention.h"
#include "lamella/ops/index/gather.h"
#include "lamella/ops/linalg/gated_mlp_up.h"
#include "lamella/ops/linalg/grouped_matmul.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/linalg/multi_linear.h"
#include "lamella/ops/quant/unpack.h"

namespace lamella::on_mlx {
namespace {

// MLX keeps what it has compiled by name alone, on disk too: the name says what the source is.
Arrays first_run(Lowering& run, const KernelCall& call, const Arrays& inputs,
                 const std::vector<KernelOutput>& outputs, int groups_x, int groups_y) {
  const Dialect dialect = mx::metal::is_available() ? Dialect::metal : Dialect::cuda;
  const std::string header = gpu_prelude(dialect) + (call.format ? gpu_decoder(*call.format) : "");
  const std::string body = gpu_constants(call.constants) + gpu_places(dialect) +
                           (call.parts > 0 ? gpu_parts(call.parts) : "") + gpu_body(call.kernel);
  std::string types;
  for (const mx::array& x : inputs) types += str(" ", static_cast<int>(x.dtype().val()));
  std::vector<std::string> input_names(call.inputs.begin(), call.inputs.end()), output_names;
  std::vector<mx::Shape> shapes;
  std::vector<mx::Dtype> dtypes;
  for (const KernelOutput& y : outputs) {
    types += str(" ", static_cast<int>(y.dtype.val()));
    output_names.emplace_back(y.name);
    shapes.push_back(y.shape);
    dtypes.push_back(y.dtype);
  }
  if (run.emulation)
    return mx::array::make_arrays(
        shapes, dtypes,
        emulated_kernel(*run.emulation, call, inputs, outputs, groups_x, groups_y, run.stream),
        inputs);
  const std::string name =
      str("lamella_", call.format ? call.format->name : "", "_", call.kernel.name, "_",
          std::hash<std::string>{}(header + body + types));
  const mx::fast::CustomKernelFunction kernel =
      dialect == Dialect::metal
          ? mx::fast::metal_kernel(name, input_names, output_names, body, header)
          : mx::fast::cuda_kernel(name, input_names, output_names, body, header);
  const int threads = call.kernel.threads;
  return kernel(inputs, shapes, dtypes, {groups_x * threads, groups_y, 1}, {threads, 1, 1}, {},
                std::nullopt, false, run.stream);
}

KernelCache::Key key_of(const KernelCall& call, const Arrays& inputs,
                        const std::vector<KernelOutput>& outputs, int groups_x, int groups_y) {
  const auto place = [](const void* p) { return reinterpret_cast<int64_t>(p); };
  KernelCache::Key key{place(&call.kernel), place(call.format), static_cast<int64_t>(call.parts),
                       groups_x, groups_y};
  for (const GpuConstant& c : call.constants) key.push_back(c.value);
  for (size_t i = 0; i < inputs.size(); ++i) {
    key.push_back(place(call.inputs[i].data()));
    key.push_back(static_cast<int64_t>(inputs[i].dtype().val()));
  }
  for (const KernelOutput& y : outputs) key.push_back(static_cast<int64_t>(y.dtype.val()));
  return key;
}

}  // namespace

std::shared_ptr<mx::Primitive>& KernelCache::at(Key key) {
  if (made_.size() >= kMost) made_.clear();
  return made_[std::move(key)];
}

Arrays run_kernel(Lowering& run, const KernelCall& call, Arrays inputs,
                  const std::vector<KernelOutput>& outputs, int groups_x, int groups_y) {
  std::shared_ptr<mx::Primitive>& made =
      run.kernels->at(key_of(call, inputs, outputs, groups_x, groups_y));
  if (!made) {
    const Arrays y = first_run(run, call, inputs, outputs, groups_x, groups_y);
    made = y[0].primitive_ptr();
    return y;
  }
  if (outputs.size() == 1)
    return {mx::array(outputs[0].shape, outputs[0].dtype, made, std::move(inputs))};
  std::vector<mx::Shape> shapes;
  std::vector<mx::Dtype> dtypes;
  for (const KernelOutput& y : outputs) {
    shapes.push_back(y.shape);
    dtypes.push_back(y.dtype);
  }
  return mx::array::make_arrays(std::move(shapes), dtypes, made, inputs);
}

// A GPU reads its launches' own bytes at no cost; memory that the caller wrote to, it first has to
// fetch page by page.
mx::array numbers_array(Lowering& run, const std::vector<int32_t>& numbers) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (int i = 0; i < kMostNumbers / kNumbersInOne; ++i) all.push_back(str("n", i));
    return all;
  }();
  const size_t n = (numbers.size() + kNumbersInOne - 1) / kNumbersInOne;
  CHECK_INTERNAL(n >= 1 && n <= gpu_numbers().size(), "mlx: ", numbers.size(), " numbers");
  KernelCall call{gpu_numbers()[n - 1], nullptr, {}, {}};
  Arrays inputs;
  const mx::array nothing(0);
  for (size_t i = 0; i < n; ++i) {
    mx::Shape sizes;
    for (size_t j = i * kNumbersInOne; j < (i + 1) * kNumbersInOne; ++j)
      sizes.push_back(j < numbers.size() ? numbers[j] : 0);
    mx::array& carrier = inputs.emplace_back(sizes, mx::int32, nullptr, Arrays{});
    carrier.copy_shared_buffer(nothing);
    carrier.set_status(mx::array::Status::available);
    call.inputs.emplace_back(names[i]);
  }
  const int size = static_cast<int>(n) * kNumbersInOne;
  return run_kernel(run, call, std::move(inputs), {{"y", {size}, mx::int32}}, 1)[0];
}

int bits_of(double value) { return std::bit_cast<int>(static_cast<float>(value)); }

namespace {

// From that many rows on, a tile of shared memory serves the rows better.
constexpr int kManyRows = 17;

int quotient_up(int64_t a, int64_t b) { return static_cast<int>((a + b - 1) / b); }

// A float type's eights are whole only where its rows are.
const GpuFormat* format_of(const Type& w, size_t rank = 2) {
  const GpuFormat* f = gpu_format(w.dtype);
  if (!f || w.rank() != rank) return nullptr;
  const Dim k = w.shape.last();
  if (!k.is_const() || k.value() == 0) return nullptr;
  return f->is_plain && k.value() % f->block != 0 ? nullptr : f;
}

// One product of a node: the weight's place among its inputs.
bool is_kernel_product(const Graph& g, const Node& n, size_t w, bool transposes) {
  const Type& x = g.type(n.inputs[0]);
  return transposes && x.dtype == kF32 && x.rank() >= 1 && n.outputs[0].dtype == kF32 &&
         format_of(g.type(n.inputs[w]));
}
bool takes_matmul(const Graph& g, const Node& n) {
  return is_kernel_product(g, n, 1, n.attrs.as<Matmul::Attrs>().transpose_w);
}
bool takes_multi(const Graph& g, const Node& n) {
  const auto& a = n.attrs.as<MultiLinear::Attrs>();
  bool takes = !a.has_biases;
  for (size_t i = 1; i < n.inputs.size(); ++i)
    takes = takes && is_kernel_product(g, n, i, a.transpose_w);
  return takes;
}
bool takes_gated(const Graph& g, const Node& n) {
  const bool transposes = n.attrs.as<GatedMlpUp::Attrs>().transpose_w;
  return is_kernel_product(g, n, 1, transposes) && is_kernel_product(g, n, 2, transposes);
}

// The products of a node, all of one x.
class Products {
 public:
  explicit Products(LowerCx& cx, Compute compute)
      : cx_(cx),
        rounds_(compute == Compute::bf16),
        k_(static_cast<int>(cx.type(1).shape[1].value())),
        m_(static_cast<int>(cx.in(0).size()) / k_),
        x_(mx::reshape(cx.whole(0), {m_, k_}, cx.stream)) {}

  int m() const { return m_; }
  bool is_few() const { return !rounds_ && m_ < kManyRows; }
  int n(size_t w) const { return static_cast<int>(cx_.value(cx_.type(w).shape[0])); }
  bool is_empty(size_t w) const { return m_ == 0 || n(w) == 0; }
  const GpuFormat* format(size_t w) const { return format_of(cx_.type(w)); }

  // [m, n]; one that is rounded is bf16.
  mx::array one(size_t w) const {
    if (is_few()) return few({w})[0];
    if (rounds_)
      return mx::matmul(mx::astype(x_, mx::bfloat16, cx_.stream),
                        mx::swapaxes(rounded_weight(w), 0, 1, cx_.stream), cx_.stream);
    return run_kernel(cx_, {kGemm, format(w), {{"N0", n(w)}, {"K", k_}}, {"x", "w0"}},
                      {x_, cx_.whole(w)}, {{"y0", {m_, n(w)}}}, quotient_up(n(w), kGemmTile),
                      quotient_up(m_, kGemmTile))[0];
  }

  // Of few rows, with matrices of one format.
  Arrays few(const std::vector<size_t>& ws) const {
    KernelCall call{kGemv, format(ws[0]), {{"K", k_}}, {"x"}, ws.size()};
    Arrays inputs{x_};
    std::vector<KernelOutput> outputs;
    int groups = 0;
    for (size_t i = 0; i < ws.size(); ++i) {
      const int n = this->n(ws[i]), own = quotient_up(n, kGemvColumns);
      call.constants.insert(call.constants.end(), {{kSizes[i], n}, {kGroups[i], own}});
      call.inputs.push_back(kWeights[i]);
      inputs.push_back(cx_.whole(ws[i]));
      outputs.push_back({kResults[i], {m_, n}});
      groups += own;
    }
    add_rows(call);
    return run_kernel(cx_, call, std::move(inputs), outputs, groups, m_ / at_once());
  }

  // Few rows: the activation of one product, times the other.
  mx::array gated(int activation) const {
    KernelCall call{kGated,
                    format(1),
                    {{"K", k_}, {"N0", n(1)}, {"ACTIVATION", activation}},
                    {"x", "w0", "w1"}};
    add_rows(call);
    return run_kernel(cx_, call, {x_, cx_.whole(1), cx_.whole(2)}, {{"y0", {m_, n(1)}}},
                      quotient_up(n(1), kGatedColumns), m_ / at_once())[0];
  }

  static constexpr size_t kMost = 4;  // in one kernel

 private:
  static constexpr std::string_view kSizes[] = {"N0", "N1", "N2", "N3"},
                                    kGroups[] = {"G0", "G1", "G2", "G3"},
                                    kWeights[] = {"w0", "w1", "w2", "w3"},
                                    kResults[] = {"y0", "y1", "y2", "y3"};

  int at_once() const { return m_ % 8 == 0 ? 8 : m_ % 4 == 0 ? 4 : m_ % 2 == 0 ? 2 : 1; }
  void add_rows(KernelCall& call) const {
    const int rows = at_once(), unroll = rows > 2 ? 1 : 2;
    call.constants.insert(call.constants.end(), {{"ROWS", rows}, {"UNROLL", unroll}});
  }

  // Blocks are unpacked once a step and let go behind the product; the frame bounds how many are
  // in flight.
  mx::array rounded_weight(size_t w) const {
    const mx::array& given = cx_.in(w);
    if (given.dtype() == mx::bfloat16) return given;
    const int n = this->n(w), threads = kUnpack.threads;
    const int64_t bytes = int64_t{2} * n * k_;
    cx_.run.scratch_bytes += bytes;
    cx_.run.memory.note_unpacked(bytes);
    return run_kernel(cx_, {kUnpack, format(w), {{"N0", n}, {"K", k_}}, {"w0"}}, {cx_.whole(w)},
                      {{"y0", {n, k_}, mx::bfloat16}},
                      quotient_up(int64_t{n} * quotient_up(k_, 8), threads))[0];
  }

  LowerCx& cx_;
  const bool rounds_;
  const int k_, m_;
  const mx::array x_;
};

Arrays product_row(LowerCx& cx) {
  const mx::Shape shape = cx.out_shape(0);
  const Products products(cx, cx.attrs<Matmul::Attrs>().compute);
  if (products.is_empty(1)) return {mx::zeros(shape, mx::float32, cx.stream)};
  return {mx::reshape(products.one(1), shape, cx.stream)};
}

Arrays multi_row(LowerCx& cx) {
  const Products products(cx, cx.attrs<MultiLinear::Attrs>().compute);
  std::vector<std::optional<mx::array>> y(cx.n_inputs());
  for (size_t w = 1; w < cx.n_inputs(); ++w) {
    if (y[w]) continue;
    if (products.is_empty(w)) {
      y[w] = mx::zeros(cx.out_shape(w - 1), mx::float32, cx.stream);
      continue;
    }
    std::vector<size_t> alike{w};
    for (size_t v = w + 1; v < cx.n_inputs() && alike.size() < Products::kMost; ++v)
      if (!y[v] && !products.is_empty(v) && products.format(v) == products.format(w))
        alike.push_back(v);
    if (products.is_few()) {
      const Arrays made = products.few(alike);
      for (size_t i = 0; i < alike.size(); ++i) y[alike[i]] = made[i];
    } else {
      y[w] = products.one(w);
    }
  }
  Arrays out;
  for (size_t w = 1; w < y.size(); ++w)
    out.push_back(mx::reshape(*y[w], cx.out_shape(w - 1), cx.stream));
  return out;
}

Arrays gated_row(LowerCx& cx) {
  const auto& a = cx.attrs<GatedMlpUp::Attrs>();
  const mx::Shape shape = cx.out_shape(0);
  const Products products(cx, a.compute);
  if (products.is_empty(1)) return {mx::zeros(shape, mx::float32, cx.stream)};
  const int activation = static_cast<int>(a.activation);
  if (products.is_few() && products.format(1) == products.format(2))
    return {mx::reshape(products.gated(activation), shape, cx.stream)};
  const int n = products.n(1), groups = quotient_up(int64_t{products.m()} * n, 8 * kGate.threads);
  const mx::Dtype dtype = cx.may_round(0) ? mx::bfloat16 : mx::float32;
  const mx::array y =
      run_kernel(cx, {kGate, nullptr, {{"ACTIVATION", activation}}, {"x", "up"}},
                 {products.one(1), products.one(2)}, {{"y", {products.m(), n}, dtype}}, groups)[0];
  return {mx::reshape(y, shape, cx.stream)};
}

bool is_kernel_grouped(const Graph& g, const Node& n) {
  return n.attrs.as<GroupedMatmul::Attrs>().transpose_w && g.type(n.inputs[0]).dtype == kF32 &&
         n.outputs[0].dtype == kF32 && format_of(g.type(n.inputs[1]), 3);
}

Arrays grouped_row(LowerCx& cx) {
  const mx::Shape shape = cx.out_shape(0);
  const Type& type = cx.type(1);
  const int n_matrices = static_cast<int>(cx.value(type.shape[0])),
            n = static_cast<int>(cx.value(type.shape[1])),
            k = static_cast<int>(type.shape[2].value());
  const mx::array at = mx::astype(cx.checked_below(cx.in(2), n_matrices), mx::int32, cx.stream);
  const mx::array& x = cx.in(0);
  if (x.size() == 0 || at.size() == 0 || n == 0 || n_matrices == 0)
    return {mx::zeros(shape, mx::float32, cx.stream)};
  const GpuFormat* format = format_of(type, 3);
  const int slots = static_cast<int>(at.size()), per = x.ndim() == 2 ? at.shape(1) : 1;
  const mx::array rows = mx::reshape(cx.whole(0), {static_cast<int>(x.size()) / k, k}, cx.stream);
  const mx::array y =
      run_kernel(cx, {kGrouped, format, {{"N0", n}, {"K", k}, {"PER", per}}, {"x", "w0", "at"}},
                 {rows, cx.whole(1), mx::reshape(at, {slots}, cx.stream)}, {{"y0", {slots, n}}},
                 quotient_up(n, kGemvColumns), slots)[0];
  return {mx::reshape(y, shape, cx.stream)};
}

bool is_kernel_look_up(const Graph& g, const Node& n) {
  const Type& w = g.type(n.inputs[0]);
  return n.attrs.as<Gather::Attrs>().axis == 0 && w.dtype.is_block() && format_of(w) &&
         n.outputs[0].dtype == kF32;
}

mx::array look_up(LowerCx& cx, const Type& w, const mx::array& at, int k) {
  const int n = at.shape(0);
  return run_kernel(cx, {kLookUp, format_of(w, w.rank()), {{"K", k}}, {"w0", "at"}}, {cx.in(0), at},
                    {{"y0", {n, k}}}, n)[0];
}

Arrays look_up_row(LowerCx& cx) {
  const mx::Shape shape = cx.out_shape(0);
  const Type& w = cx.type(0);
  const int n_rows = static_cast<int>(cx.value(w.shape[0]));
  const mx::array at = mx::astype(cx.checked_given(1, n_rows), mx::int32, cx.stream);
  const int n = static_cast<int>(at.size()), k = static_cast<int>(w.shape[1].value());
  if (n == 0 || n_rows == 0) return {mx::zeros(shape, mx::float32, cx.stream)};
  const mx::array y = look_up(cx, w, mx::reshape(at, {n}, cx.stream), k);
  return {mx::reshape(y, shape, cx.stream)};
}

bool is_kernel_unpack(const Graph& g, const Node& n) {
  const Type& x = g.type(n.inputs[0]);
  return x.dtype.is_block() && x.rank() >= 1 && format_of(x, x.rank());
}

Arrays unpack_row(LowerCx& cx) {
  const mx::Shape shape = cx.out_shape(0);
  const int k = shape.back();
  int n = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) n *= shape[static_cast<int>(i)];
  if (n == 0) return {mx::zeros(shape, cx.out_dtype(0), cx.stream)};
  const mx::array y = look_up(cx, cx.type(0), mx::arange(0, n, 1, cx.stream), k);
  return {mx::astype(mx::reshape(y, shape, cx.stream), cx.out_dtype(0), cx.stream)};
}

}  // namespace

// Only over long sums: the product that MLX rounds to bf16 is then closer than its terms. What a
// graph gives is not rounded at all: nothing behind it averages the noise away.
bool rounds_on_gpu(const Graph& g, const Node& n, Phase phase) {
  constexpr int64_t kLong = 1024;
  struct Row {
    const Op* op;
    bool (*takes)(const Graph&, const Node&);
  };
  static constexpr Row kRows[] = {
      {&op<Matmul>, takes_matmul}, {&op<MultiLinear>, takes_multi}, {&op<GatedMlpUp>, takes_gated}};
  if (phase != Phase::bulk) return false;
  if (n.is(op<PagedAttention>)) return attends_rounded(g, n, phase);
  for (const NamedValue& o : g.outputs())
    if (&g.node(o.id) == &n) return false;
  for (const Row& row : kRows)
    if (n.op == row.op) return row.takes(g, n) && g.type(n.inputs[1]).shape.last().value() >= kLong;
  return false;
}

bool reads_rounded(const Node& n, size_t input) {
  if (input != 0) return false;
  if (n.is(op<Matmul>)) return n.attrs.as<Matmul::Attrs>().compute == Compute::bf16;
  if (n.is(op<MultiLinear>)) return n.attrs.as<MultiLinear::Attrs>().compute == Compute::bf16;
  if (n.is(op<GatedMlpUp>)) return n.attrs.as<GatedMlpUp::Attrs>().compute == Compute::bf16;
  return n.is(op<PagedAttention>) && n.attrs.as<PagedAttention::Attrs>().compute == Compute::bf16;
}

std::span<const CoreRow> core_kernel_rows() {
  static constexpr CoreRow kRows[] = {
      {&op<GatedMlpUp>, "kernel gated", gated_row, takes_gated, kKernel | kTakesNarrow},
      {&op<Gather>, "kernel look_up", look_up_row, is_kernel_look_up, kKernel},
      {&op<GroupedMatmul>, "kernel grouped", grouped_row, is_kernel_grouped, kKernel},
      {&op<Matmul>, "kernel product", product_row, takes_matmul, kKernel | kTakesNarrow},
      {&op<MultiLinear>, "kernel products", multi_row, takes_multi, kKernel | kTakesNarrow},
      {&op<Unpack>, "kernel look_up", unpack_row, is_kernel_unpack, kKernel},
  };
  return kRows;
}

}  // namespace lamella::on_mlx
