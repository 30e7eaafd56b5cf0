#include "lamella/check/cases.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "lamella/base/error.h"
#include "lamella/base/hash.h"
#include "lamella/ops/shape/transpose.h"

namespace lamella::check {
namespace {

// Random bytes are a valid block, but may decode to infinity: drawn again until they do not.
Tensor random_blocks(DType dtype, const std::vector<int64_t>& shape, std::mt19937_64& rng) {
  const quant::Format& format = *dtype.info().format;
  Tensor t(dtype, shape);
  const int64_t n_rows = shape.back() == 0 ? 0 : t.numel() / shape.back(),
                n_blocks = n_rows * format.blocks(shape.back());
  std::vector<float> values(static_cast<size_t>(format.block));
  for (int64_t b = 0; b < n_blocks; ++b) {
    quant::MutableBlockPtr to{};
    quant::BlockPtr from{};
    for (int p = 0; p < format.n_planes; ++p) {
      to[p] = t.as<uint8_t>() + quant::plane_offset(format, p, n_rows, shape.back()) +
              b * format.planes[p].block_bytes;
      from[p] = to[p];
    }
    bool good = false;
    while (!good) {
      for (int p = 0; p < format.n_planes; ++p)
        for (int i = 0; i < format.planes[p].block_bytes; ++i)
          to[p][i] = static_cast<uint8_t>(rng());
      format.decode(from, values.data());
      good = std::all_of(values.begin(), values.end(), [](float v) { return std::abs(v) < 1e4f; });
    }
  }
  return t;
}

Tensor random_encoded(const In& in, std::mt19937_64& rng) {
  const quant::Format& format = *in.dtype.info().format;
  if (!format.encode) return random_blocks(in.dtype, in.shape, rng);
  RefTensor r(in.dtype, in.shape);
  std::uniform_real_distribution<double> draw(in.domain.low, in.domain.high);
  for (double& v : r.f) v = draw(rng);
  return r.to_tensor();
}

Tensor random_floats(DType dtype, const In& in, std::mt19937_64& rng) {
  RefTensor r(dtype, in.shape);
  std::uniform_real_distribution<double> draw(in.domain.low, in.domain.high);
  for (double& v : r.f) v = draw(rng);
  constexpr double kSpecial[] = {std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity()};
  if (in.domain.nonfinite)
    for (size_t i = 0; i < 3 && i < r.f.size(); ++i) r.f[rng() % r.f.size()] = kSpecial[i];
  return r.to_tensor();
}

Tensor random_ints(DType dtype, const In& in, std::mt19937_64& rng) {
  RefTensor r(dtype, in.shape);
  const bool is_unsigned = dtype.is(DTypeKind::uint) || dtype.is_bool();
  const int64_t low =
      static_cast<int64_t>(is_unsigned ? std::max(0.0, in.domain.low) : in.domain.low);
  const int64_t high = dtype.is_bool() ? 1 : std::max(low, static_cast<int64_t>(in.domain.high));
  std::uniform_int_distribution<int64_t> draw(dtype.is_bool() ? 0 : low, high);
  for (int64_t& v : r.i) v = wrap_int(dtype, draw(rng));
  return r.to_tensor();
}

Tensor literal(DType dtype, const In& in) {
  RefTensor r(dtype, in.shape);
  CHECK_INTERNAL(in.values.size() == static_cast<size_t>(r.numel()), "sample: ", in.values.size(),
                 " literal values for ", r.numel(), " elements");
  for (size_t i = 0; i < in.values.size(); ++i) {
    if (r.holds_floats())
      r.f[i] = in.values[i];
    else
      r.i[i] = static_cast<int64_t>(in.values[i]);
  }
  return r.to_tensor();
}

// Literal values of integers: sizes and positions, mostly.
bool is_known_literal(const In& in, DType type) {
  return !in.values.empty() && type.is_int() && !in.dtype.is_none();
}

Tensor draw_input(DType dtype, const In& in, std::mt19937_64& rng) {
  if (!in.values.empty()) return literal(dtype, in);
  if (dtype.is_block()) {
    In typed = in;
    typed.dtype = dtype;
    return random_encoded(typed, rng);
  }
  return dtype.is_float() ? random_floats(dtype, in, rng) : random_ints(dtype, in, rng);
}

}  // namespace

Samples samples_of(const Op& op) {
  Samples s;
  if (op.samples) op.samples(s);
  return s;
}

Graph graph_of_case(const Op& op, const Sample& sample, DType dtype, InputLayout layout) {
  Graph g(std::string(op.info.name));
  std::vector<Value> inputs;
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    const In& in = sample.inputs[i];
    if (in.is_absent) {
      inputs.push_back({});
      continue;
    }
    const DType type = in.dtype.is_none() ? dtype : in.dtype;
    Shape shape;
    for (int64_t d : in.shape) shape.dims.push_back(d);
    const std::string name = "x" + std::to_string(i);
    if (layout == InputLayout::known && is_known_literal(in, type)) {
      inputs.push_back(g.constant(literal(type, in)));
      continue;
    }
    if (layout != InputLayout::strided || type.is_block() || shape.rank() < 2) {
      inputs.push_back(g.input(name, Type(type, shape)));
      continue;
    }
    std::vector<int64_t> reversed;
    for (size_t a = shape.rank(); a-- > 0;) reversed.push_back(static_cast<int64_t>(a));
    std::reverse(shape.dims.begin(), shape.dims.end());
    inputs.push_back(transpose(g.input(name, Type(type, shape)), {.perm = reversed}));
  }
  const auto outputs = g.add(op, inputs, sample.attrs);
  for (size_t i = 0; i < outputs.size(); ++i) g.output("y" + std::to_string(i), outputs[i]);
  return g;
}

Case make_case(const Op& op, size_t sample_index, const Sample& sample, DType dtype,
               uint64_t seed) {
  Case c{&op, &sample, dtype, str(op.info.name, " #", sample_index, " ", dtype.name()), {}, {}};
  std::mt19937_64 rng(hash_mix(hash_mix(seed, hash_of(op.info.name)),
                               sample_index * 64 + hash_of(dtype.name()) % 64));
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    const In& in = sample.inputs[i];
    if (in.is_absent) continue;
    c.inputs.push_back(draw_input(in.dtype.is_none() ? dtype : in.dtype, in, rng));
    c.names.push_back("x" + std::to_string(i));
  }
  return c;
}

bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*')
    return matches(pattern.substr(1), text) || (!text.empty() && matches(pattern, text.substr(1)));
  return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) &&
         matches(pattern.substr(1), text.substr(1));
}

}  // namespace lamella::check
