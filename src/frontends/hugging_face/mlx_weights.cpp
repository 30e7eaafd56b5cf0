#include "lamella/frontends/hugging_face/mlx_weights.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "lamella/base/error.h"
#include "lamella/base/text.h"

namespace lamella::hugging_face {
namespace {

using nlohmann::json;

Grouping read_grouping(const json& j, const Grouping& usual, const std::string& where) {
  Grouping g = usual;
  const auto integer = [&](const char* key, int64_t& to) {
    const auto it = j.find(key);
    if (it == j.end()) return;
    CHECK_USER(it->is_number_integer(), where, ": '", key,
               "' is of the wrong kind; want an integer");
    to = it->get<int64_t>();
  };
  integer("bits", g.bits);
  integer("group_size", g.group);
  if (const auto it = j.find("mode"); it != j.end()) {
    CHECK_USER(it->is_string(), where, ": 'mode' is of the wrong kind; want a text");
    g.mode = it->get<std::string>();
  }
  return g;
}

// The part's format; `scales` says the type of affine scales.
DType encoding_of(const Grouping& g, DType scales, const std::string& where) {
  const std::string name = g.mode == "affine"
                               ? str("mlx_affine", g.bits, "_g", g.group, "_", scales.name())
                               : str("mlx_", g.mode);
  const DType found = find_dtype(name);
  const bool fits = found.is_block() && (g.mode == "affine" ||
                                         (scales == kU8 && found.info().format->block == g.group));
  CHECK_USER(fits, where, ": unknown encoding; got mode '", printable(g.mode), "', ", g.bits,
             " bits, groups of ", g.group, ", scales of ", scales.name(),
             "; want affine (1 2 3 4 5 6 8 bits, groups of 32 64 128), mxfp4, mxfp8 or nvfp4");
  return found;
}

}  // namespace

std::optional<MlxWeights> MlxWeights::read(std::string_view config, const std::string& path) {
  const json whole = json::parse(config, nullptr, false);
  if (!whole.is_object()) return std::nullopt;
  const auto it = whole.find("quantization");
  if (it == whole.end() || it->is_null()) return std::nullopt;
  CHECK_USER(it->is_object(), path, ": 'quantization' is of the wrong kind; want an object");
  MlxWeights w;
  w.path_ = path;
  const std::string where = path + ": quantization";
  w.usual_ = read_grouping(*it, w.usual_, where);
  // Modules that differ from the rest; `false` (not encoded) shows in the file.
  for (const auto& [module, value] : it->items())
    if (value.is_object())
      w.of_module_[module] = read_grouping(value, w.usual_, where + " of " + printable(module));
  return w;
}

bool MlxWeights::take(std::string_view name, std::string_view from, const Tensor& tensor) {
  for (size_t i = 0; i < kEndings.size(); ++i) {
    const std::string_view ending = kEndings[i];
    if (name.size() < ending.size() || name.substr(name.size() - ending.size()) != ending) continue;
    // Norms have a `weight` too.
    if (i == 0 && tensor.dtype() != kU32) return false;
    Parts& parts = found_[std::string(name.substr(0, name.size() - ending.size()))];
    parts.module = from.substr(0, from.size() - ending.size());
    CHECK_USER(parts.planes[i].empty_handle(), path_, ": two tensors for '", printable(name),
               "'; got '", printable(from), "' as the second");
    parts.planes[i] = tensor;
    return true;
  }
  return false;
}

const Grouping& MlxWeights::grouping_of(const std::string& module) const {
  const auto it = of_module_.find(module);
  return it == of_module_.end() ? usual_ : it->second;
}

Tensor MlxWeights::joined(const Parts& parts) const {
  const Grouping& g = grouping_of(parts.module);
  const std::string where = str(path_, ": '", printable(parts.module), "'");
  const auto& [words, scales, biases] = parts.planes;
  CHECK_USER(!words.empty_handle() && !scales.empty_handle(), where,
             ": a part is missing; want weight and scales");
  const DType dtype = encoding_of(g, scales.dtype(), where);
  const quant::Format& f = *dtype.info().format;
  CHECK_USER(biases.empty_handle() == (f.n_planes == 2) &&
                 (biases.empty_handle() ||
                  (biases.shape() == scales.shape() && biases.dtype() == scales.dtype())),
             where,
             ": biases and scales disagree; want biases of scales' type and sizes in affine ",
             "mode, none in others");
  std::vector<int64_t> shape = scales.shape(), want = shape;
  CHECK_USER(!shape.empty() && shape.back() <= INT64_MAX / f.block, where,
             ": no matrix; got scales [", join(shape, ", "), "]");
  shape.back() *= f.block;
  want.back() = shape.back() / f.block * f.planes[0].block_bytes / 4;
  CHECK_USER(words.shape() == want, where, ": weight and scales disagree; got [",
             join(words.shape(), ", "), "] words for scales [", join(scales.shape(), ", "),
             "]; want [", join(want, ", "), "] with ", g.bits, " bits in groups of ", g.group);
  Tensor t(dtype, shape);
  const int64_t k = shape.back(), n_rows = k == 0 ? 0 : t.numel() / k;
  for (int p = 0; p < f.n_planes; ++p) {
    const Tensor& plane = parts.planes[static_cast<size_t>(p)];
    if (plane.bytes() > 0)
      std::memcpy(t.data() + quant::plane_offset(f, p, n_rows, k), plane.data(), plane.bytes());
  }
  return t;
}

void MlxWeights::add_to(Checkpoint& c) const {
  for (const auto& [name, parts] : found_)
    CHECK_USER(c.tensors.emplace(name + ".weight", joined(parts)).second, path_,
               ": two tensors for '", printable(name), ".weight'");
}

}  // namespace lamella::hugging_face
