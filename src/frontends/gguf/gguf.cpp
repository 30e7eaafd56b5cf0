// Opens whole models: one file, or all parts of a split one.
#include "lamella/frontends/gguf/gguf.h"

#include <cstdio>

#include "lamella/frontends/gguf/part.h"

namespace lamella::gguf {
namespace {

constexpr PlainType kPlainTypes[] = {
    {"f32", 0, 4},  {"f16", 1, 2},  {"i8", 24, 1},  {"i16", 25, 2},
    {"i32", 26, 4}, {"i64", 27, 8}, {"f64", 28, 8}, {"bf16", 30, 2},
};

// The name of part `number` (from 1) of `count`, from the name of any part:
// PREFIX-00001-of-00003.gguf.
constexpr size_t kPartSuffix = std::string_view("-00001-of-00003.gguf").size();

std::string part_suffix(int number, int count) {
  char text[32];
  std::snprintf(text, sizeof text, "-%05d-of-%05d.gguf", number, count);
  return text;
}

}  // namespace

std::span<const PlainType> plain_types() { return kPlainTypes; }

std::string Tensor::type_name() const {
  if (plain != nullptr) return std::string(plain->name);
  if (format != nullptr) return std::string(format->name);
  return str("type ", type_id);
}

int64_t Tensor::elements() const {
  int64_t result = 1;
  for (const int64_t dim : dims) result *= dim;
  return result;
}

std::string describe(const Value& value) {
  const Type type = type_of(value);
  if (const auto* array = std::get_if<Array>(&value)) {
    return str("array of ", array->count, " ", type_name(array->element));
  }
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    return "string '" + printable(*text, 60) + "'";
  }
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "bool true" : "bool false";
  return std::visit(
      [&](const auto& x) -> std::string {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::floating_point<T>) {
          return str(type_name(type), " ", number_text(x));
        } else if constexpr (std::integral<T>) {
          return str(type_name(type), " ", +x);
        } else {
          return {};
        }
      },
      value);
}

Gguf Gguf::open(const std::string& path) {
  auto file = std::make_shared<const MappedFile>(MappedFile::open(path));
  Gguf result;
  result.add_part(file->bytes(), file, path);
  const auto count = result.get_or<uint16_t>("split.count", 1);
  if (count > 1) result.open_other_parts(path);
  result.index_tensors();
  return result;
}

Gguf Gguf::view(std::span<const uint8_t> bytes, const std::string& name) {
  Gguf result;
  result.add_part(bytes, nullptr, name);
  const auto count = result.get_or<uint16_t>("split.count", 1);
  CHECK_USER(count <= 1, name, ": one of ", count,
             " parts of a model; want a path, to find the others");
  result.index_tensors();
  return result;
}

void Gguf::add_part(std::span<const uint8_t> bytes, std::shared_ptr<const MappedFile> file,
                    const std::string& name) {
  Part part = parse_part(bytes, name);
  const int number = parts();
  if (number == 0) {
    version_ = part.version;
    big_endian_ = part.big_endian;
    metadata_ = std::move(part.metadata);
    keys_ = std::move(part.keys);
  }
  for (Tensor& tensor : part.tensors) {
    tensor.part = number;
    tensors_.push_back(std::move(tensor));
  }
  names_.push_back(name);
  files_.push_back(std::move(file));
}

// `path` was opened as the only part so far. Starts again with part 1, so that the parts are in
// order.
void Gguf::open_other_parts(const std::string& path) {
  const int count = get<uint16_t>("split.count");
  const int number = get<uint16_t>("split.no") + 1;
  const bool named = path.size() > kPartSuffix && path.ends_with(part_suffix(number, count));
  CHECK_USER(named, path, ": part ", number, " of ", count,
             " of a split model has a name that does not lead to the others; want it to end in ",
             part_suffix(number, count));
  const std::string prefix = path.substr(0, path.size() - kPartSuffix);
  *this = Gguf();
  for (int i = 1; i <= count; ++i) {
    const std::string name = prefix + part_suffix(i, count);
    auto file = std::make_shared<const MappedFile>(MappedFile::open(name));
    Gguf part;
    part.add_part(file->bytes(), file, name);
    const int got_count = part.get<uint16_t>("split.count");
    const int got_number = part.get<uint16_t>("split.no") + 1;
    CHECK_USER(got_count == count && got_number == i, name,
               ": is not the part its name says; got part ", got_number, " of ", got_count,
               "; want ", i, " of ", count);
    CHECK_USER(i == 1 || part.big_endian_ == big_endian_, name,
               ": has another byte order than the first part");
    add_part(file->bytes(), file, name);
  }
  const auto total = get_or<int64_t>("split.tensors.count", std::ssize(tensors_));
  CHECK_USER(total == std::ssize(tensors_), path, ": the parts do not hold the whole model; got ",
             tensors_.size(), " tensors; want ", total);
}

void Gguf::index_tensors() {
  tensor_names_ = sorted_index(tensors(), name_of);
  const Tensor* twice = find_duplicate(tensors(), tensor_names_, name_of);
  CHECK_USER(twice == nullptr, names_[twice->part], ": tensor '", printable(twice->name),
             "' is there more than once; want different names");
}

const Value* Gguf::find(std::string_view key) const {
  const Entry* entry = find_sorted(metadata(), keys_, key, key_of);
  return entry == nullptr ? nullptr : &entry->value;
}

const Tensor* Gguf::find_tensor(std::string_view name) const {
  return find_sorted(tensors(), tensor_names_, name, name_of);
}

const Tensor& Gguf::tensor(std::string_view name) const {
  const Tensor* found = find_tensor(name);
  CHECK_USER(found != nullptr, this->name(), ": tensor '", printable(name), "' is missing");
  require_usable(*found);
  return *found;
}

void Gguf::require_usable(const Tensor& tensor) const {
  CHECK_USER(tensor.problem.empty(), names_[tensor.part], ": tensor '", printable(tensor.name),
             "': ", tensor.problem);
}

}  // namespace lamella::gguf
