#include "lamella/frontends/gguf/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "lamella/base/error.h"
#include "lamella/base/numeric.h"
#include "lamella/base/text.h"
#include "lamella/frontends/gguf/writer.h"
#include "lamella/quant/search/search_encode.h"

namespace lamella::gguf {
namespace {

constexpr int64_t kPieceBytes = 16 << 20;

// Parts of names of matrices that are small and touchy.
constexpr std::string_view kKept[] = {"ffn_gate_inp",  "ssm_conv1d",  "shortconv.conv", "_norm",
                                      "position_embd", "token_types", "altup",          "laurel"};

// What a row that `wanted`'s block does not divide may take instead, the closer of equals first.
constexpr std::string_view kFallbacks[] = {"q1_0", "q2_0", "iq4_nl", "q5_0", "q5_1", "q8_0"};

// general.file_type of files that hold one encoding.
struct FileType {
  std::string_view name;
  uint32_t id;
};
constexpr FileType kFileTypes[] = {
    {"f32", 0},    {"f16", 1},     {"q4_0", 2},     {"q4_1", 3},    {"q8_0", 7},
    {"q5_0", 8},   {"q5_1", 9},    {"q2_k", 10},    {"q3_k", 11},   {"q4_k", 14},
    {"q5_k", 16},  {"q6_k", 18},   {"iq2_xxs", 19}, {"iq2_xs", 20}, {"iq3_xxs", 23},
    {"iq1_s", 24}, {"iq4_nl", 25}, {"iq3_s", 26},   {"iq2_s", 28},  {"iq4_xs", 30},
    {"iq1_m", 31}, {"bf16", 32},   {"tq1_0", 36},   {"tq2_0", 37},  {"mxfp4", 38},
};

double bits_of(const quant::Format& f) { return 8.0 * f.block_bytes() / f.block; }

const PlainType* plain_named(std::string_view name) {
  for (const PlainType& p : plain_types())
    if (p.name == name) return &p;
  return nullptr;
}

bool is_float(const Tensor& t) {
  return t.format ||
         (t.plain && (t.plain->name == "f32" || t.plain->name == "f16" || t.plain->name == "bf16"));
}

struct Choice {
  TargetType type;  // none: the tensor is copied
  std::string note;
};

Choice fitting(TargetType wanted, int64_t k) {
  if (!wanted.format || k % wanted.format->block == 0) return {wanted, {}};
  const std::string why = str("rows of ", k, " are no whole blocks of ", wanted.format->block, " (",
                              wanted.name(), ")");
  const quant::Format* best = nullptr;
  for (std::string_view name : kFallbacks) {
    const quant::Format& f = *quant::find_format(name);
    if (k % f.block == 0 && bits_of(f) >= bits_of(*wanted.format) &&
        (!best || bits_of(f) < bits_of(*best)))
      best = &f;
  }
  if (best) return {{nullptr, best}, why};
  return {{plain_named("f16"), nullptr}, why};
}

Choice choose(const Tensor& t, const QuantizeOptions& o) {
  const auto contains = [&](std::string_view part) {
    return t.name.find(part) != std::string_view::npos;
  };
  if (t.dims.size() < 2 || !is_float(t)) return {};
  if (std::any_of(std::begin(kKept), std::end(kKept), contains)) return {};
  TargetType wanted = o.type;
  if (t.name == "output.weight" && o.output != TargetType{}) wanted = o.output;
  if (t.name == "token_embd.weight" && o.embedding != TargetType{}) wanted = o.embedding;
  return fitting(wanted, t.dims.back());
}

int64_t row_bytes(TargetType type, int64_t k) {
  return type.plain ? k * type.plain->bytes : type.format->blocks(k) * type.format->block_bytes();
}

template <class T>
void widen(const uint8_t* from, int64_t k, float* to) {
  for (int64_t i = 0; i < k; ++i) {
    T value;
    std::memcpy(&value, from + i * static_cast<int64_t>(sizeof value), sizeof value);
    to[i] = static_cast<float>(value);
  }
}
template <class T>
void narrow(const float* from, int64_t k, uint8_t* to) {
  for (int64_t i = 0; i < k; ++i) {
    const T value = T::from(from[i]);
    std::memcpy(to + i * static_cast<int64_t>(sizeof value), &value, sizeof value);
  }
}

void decode(TargetType type, const uint8_t* row, int64_t k, float* values) {
  if (type.format) return quant::decode_row(*type.format, {row}, k, values);
  if (type.plain->name == "f16") return widen<f16>(row, k, values);
  if (type.plain->name == "bf16") return widen<bf16>(row, k, values);
  widen<float>(row, k, values);
}

void encode(TargetType type, const float* values, std::span<const float> importance, int64_t k,
            uint8_t* row) {
  if (type.format) return quant::encode_row_best(*type.format, values, importance, k, {row});
  if (type.plain->name == "f16") return narrow<f16>(values, k, row);
  if (type.plain->name == "bf16") return narrow<bf16>(values, k, row);
  std::memcpy(row, values, static_cast<size_t>(k) * sizeof(float));
}

// One tensor on its way from the file to the writer.
struct Job {
  const Tensor& tensor;
  TargetType to;
  std::vector<float> importance;  // [experts, k] or empty

  TargetType from() const { return {tensor.plain, tensor.format}; }
  int64_t k() const { return tensor.dims.back(); }
  int64_t rows() const { return tensor.elements() / k(); }
  int64_t rows_each() const { return tensor.dims[tensor.dims.size() - 2]; }  // of an expert

  std::span<const float> importance_of(int64_t row) const {
    if (importance.empty()) return {};
    const size_t n = static_cast<size_t>(k());
    return {importance.data() + static_cast<size_t>(row / rows_each()) * n, n};
  }
};

struct Squares {
  double values = 0, errors = 0;
};

Squares encode_one_row(const Job& job, int64_t row, uint8_t* out) {
  const int64_t k = job.k();
  std::vector<float> values(static_cast<size_t>(k)), back(values.size());
  decode(job.from(), job.tensor.bytes.data() + row * row_bytes(job.from(), k), k, values.data());
  encode(job.to, values.data(), job.importance_of(row), k, out);
  decode(job.to, out, k, back.data());
  Squares sum;
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = values[i], error = static_cast<double>(back[i]) - value;
    sum.values += value * value;
    sum.errors += error * error;
  }
  return sum;
}

// The sums are those of the rows in order, however many threads there are.
Squares encode_tensor(const Job& job, Writer& writer, ThreadPool& pool) {
  const int64_t bytes = row_bytes(job.to, job.k()), n_rows = job.rows();
  const int64_t piece = std::clamp<int64_t>(kPieceBytes / bytes, 1, n_rows);
  std::vector<uint8_t> out(static_cast<size_t>(piece * bytes));
  std::vector<Squares> squares(static_cast<size_t>(piece));
  Squares sum;
  for (int64_t first = 0; first < n_rows; first += piece) {
    const int64_t n = std::min(piece, n_rows - first);
    pool.run_ranges(n, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i)
        squares[static_cast<size_t>(i)] = encode_one_row(job, first + i, out.data() + i * bytes);
    });
    for (int64_t i = 0; i < n; ++i) {
      sum.values += squares[static_cast<size_t>(i)].values;
      sum.errors += squares[static_cast<size_t>(i)].errors;
    }
    writer.write({out.data(), static_cast<size_t>(n * bytes)});
  }
  return sum;
}

// All but what speaks of the old encoding or of parts of a split file.
void copy_metadata(const Gguf& in, const QuantizeOptions& o, Writer& writer) {
  for (const Entry& e : in.metadata()) {
    if (e.key == "general.file_type" || e.key == "general.quantization_version" ||
        e.key.substr(0, 6) == "split.")
      continue;
    writer.add(e.key, e.value);
  }
  writer.add("general.quantization_version", Value(uint32_t{2}));
  for (const FileType& type : kFileTypes)
    if (type.name == o.type.name()) writer.add("general.file_type", Value(type.id));
}

void check_paths(const Gguf& in, const std::string& out) {
  std::error_code ec;
  CHECK_USER(!std::filesystem::equivalent(in.name(), out, ec), out,
             ": is the file that is read; want another name to write to");
  CHECK_USER(!in.big_endian() && in.version() >= 2, in.name(),
             ": big-endian and version 1 files can be read, not written again");
}

}  // namespace

TargetType TargetType::named(std::string_view name) {
  std::vector<std::string_view> names{"f32", "f16", "bf16"};
  for (std::string_view plain : names)
    if (name == plain) return {plain_named(name), nullptr};
  for (const quant::Format& f : quant::formats()) {
    if (f.gguf_type == quant::Format::kNoGguf) continue;
    if (f.name == name) return {nullptr, &f};
    names.push_back(f.name);
  }
  throw UserError(str("type: no encoding of GGUF files; got '", printable(name), "'; want one of ",
                      join(names, ", "), did_you_mean(name, names)));
}

void quantize(const Gguf& in, const std::string& out, const QuantizeOptions& options,
              ThreadPool& pool, const std::function<void(const Quantized&)>& report) {
  check_paths(in, out);
  std::vector<Choice> choices;
  for (const Tensor& t : in.tensors()) {
    in.require_usable(t);
    choices.push_back(choose(t, options));
  }
  Writer writer(out, in.get_or<uint32_t>("general.alignment", 32));
  copy_metadata(in, options, writer);
  for (size_t i = 0; i < choices.size(); ++i) {
    const Tensor& t = in.tensors()[i];
    const TargetType to = choices[i].type;
    if (to == TargetType{})
      writer.add_tensor(t.name, t.dims, t.type_id, t.bytes.size());
    else
      writer.add_tensor(
          t.name, t.dims, to.plain ? to.plain->id : to.format->gguf_type,
          static_cast<uint64_t>(t.elements() / t.dims.back() * row_bytes(to, t.dims.back())));
  }
  for (size_t i = 0; i < choices.size(); ++i) {
    const Tensor& t = in.tensors()[i];
    const TargetType to = choices[i].type;
    Quantized q{.name = t.name, .dims = t.dims, .from = t.type_name(), .note = choices[i].note};
    const bool is_same = to == TargetType{t.plain, t.format};
    if (to == TargetType{} || is_same) {
      q.to = q.from;
      q.bytes = t.bytes.size();
      writer.write(t.bytes);
    } else {
      Job job{t, to, {}};
      if (options.importance)
        job.importance = options.importance->weights(t.name, job.rows() / job.rows_each(), job.k());
      const Squares squares = encode_tensor(job, writer, pool);
      q.to = to.name();
      q.is_encoded = true;
      q.squares = squares.values;
      q.error_squares = squares.errors;
      q.error = squares.values > 0 ? std::sqrt(squares.errors / squares.values) : 0;
      q.bytes = static_cast<uint64_t>(job.rows() * row_bytes(to, job.k()));
    }
    report(q);
  }
  writer.finish();
}

}  // namespace lamella::gguf
