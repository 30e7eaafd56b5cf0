#include "lamella/frontends/gguf/importance.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lamella/base/error.h"
#include "lamella/frontends/gguf/gguf.h"
#include "lamella/frontends/gguf/writer.h"

namespace lamella::gguf {
namespace {

constexpr std::string_view kSums = ".in_sum2", kCounts = ".counts";
constexpr uint32_t kF32Id = 0;

std::vector<float> floats(const Gguf& file, const Tensor& t) {
  file.require_usable(t);
  CHECK_USER(t.type_id == kF32Id, file.name(), ": tensor '", printable(t.name),
             "' is not f32; got ", t.type_name());
  std::vector<float> out(static_cast<size_t>(t.elements()));
  std::memcpy(out.data(), t.bytes.data(), out.size() * sizeof(float));
  for (const float x : out)
    CHECK_USER(x >= 0 && std::isfinite(x), file.name(), ": tensor '", printable(t.name),
               "' holds a number that is no sum of squares; got ", x);
  return out;
}

std::span<const uint8_t> bytes_of(const std::vector<float>& x) {
  return {reinterpret_cast<const uint8_t*>(x.data()), x.size() * sizeof(float)};
}

}  // namespace

Importance Importance::read(const std::string& path) {
  const Gguf file = Gguf::open(path);
  const auto type = file.get_or<std::string>("general.type", "none");
  CHECK_USER(type == "imatrix", path, ": not an importance matrix; got general.type '",
             printable(type), "'; want 'imatrix'");
  Importance result;
  for (const Tensor& t : file.tensors()) {
    const std::string_view name = t.name;
    if (name.size() <= kSums.size() || name.substr(name.size() - kSums.size()) != kSums) continue;
    const std::string matrix(name.substr(0, name.size() - kSums.size()));
    ColumnSums c;
    CHECK_USER(!t.dims.empty(), path, ": tensor '", printable(name), "' has no columns");
    c.k = t.dims.back();
    c.experts = t.elements() / c.k;
    c.sums = floats(file, t);
    c.counts = floats(file, file.tensor(matrix + std::string(kCounts)));
    CHECK_USER(static_cast<int64_t>(c.counts.size()) == c.experts, path, ": '", printable(matrix),
               "': counts and sums disagree; got ", c.counts.size(), " counts for ", c.experts,
               " matrices");
    result.of_matrix.emplace(matrix, std::move(c));
  }
  return result;
}

void Importance::write(const std::string& path) const {
  Writer out(path);
  out.add("general.type", Value(std::string_view("imatrix")));
  const std::string names[] = {text_name};
  out.add("imatrix.datasets", names);
  out.add("imatrix.chunk_count", Value(static_cast<uint32_t>(n_windows)));
  out.add("imatrix.chunk_size", Value(static_cast<uint32_t>(window)));
  for (const auto& [name, c] : of_matrix) {
    const int64_t sums[] = {c.experts, c.k}, counts[] = {c.experts, 1};
    out.add_tensor(name + std::string(kSums), sums, kF32Id, c.sums.size() * sizeof(float));
    out.add_tensor(name + std::string(kCounts), counts, kF32Id, c.counts.size() * sizeof(float));
  }
  for (const auto& [name, c] : of_matrix) {
    out.write(bytes_of(c.sums));
    out.write(bytes_of(c.counts));
  }
  out.finish();
}

std::vector<float> Importance::weights(std::string_view matrix, int64_t experts, int64_t k) const {
  const auto it = of_matrix.find(matrix);
  if (it == of_matrix.end()) return {};
  const ColumnSums& c = it->second;
  CHECK_USER(c.k == k && c.experts == experts, "importance of '", printable(matrix),
             "': made for another matrix; got ", c.experts, " x ", c.k, " columns; want ", experts,
             " x ", k);
  std::vector<float> means(c.sums.size(), 1.0f);
  for (int64_t e = 0; e < experts; ++e) {
    const float count = c.counts[static_cast<size_t>(e)];
    for (int64_t i = e * k; i < (e + 1) * k && count > 0; ++i)
      means[static_cast<size_t>(i)] = c.sums[static_cast<size_t>(i)] / count;
  }
  return means;
}

}  // namespace lamella::gguf
