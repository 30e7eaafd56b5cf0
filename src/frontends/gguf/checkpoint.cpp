// A GGUF file as a checkpoint.
#include "lamella/frontends/checkpoint.h"

#include <type_traits>

#include "lamella/frontends/gguf/gguf.h"

namespace lamella {
namespace {

Checkpoint::Value scalar_value(const gguf::Value& value) {
  return std::visit(
      [](const auto& x) -> Checkpoint::Value {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, bool>)
          return x;
        else if constexpr (std::is_integral_v<T>)
          return static_cast<int64_t>(x);
        else if constexpr (std::is_floating_point_v<T>)
          return static_cast<double>(x);
        else if constexpr (std::is_same_v<T, std::string_view>)
          return std::string(x);
        else
          return false;  // arrays are handled by array_value
      },
      value);
}

Checkpoint::Value array_value(const gguf::Value& value) {
  if (auto v = gguf::convert<std::vector<int64_t>>(value)) return *v;
  if (auto v = gguf::convert<std::vector<double>>(value)) return *v;
  if (auto v = gguf::convert<std::vector<bool>>(value)) return *v;
  if (auto v = gguf::convert<std::vector<std::string>>(value)) return *v;
  return std::vector<int64_t>{};
}

Tensor mapped_tensor(const gguf::Gguf& file, const gguf::Tensor& t) {
  auto storage = std::make_shared<Storage>();
  storage->data = reinterpret_cast<std::byte*>(const_cast<uint8_t*>(t.bytes.data()));
  storage->bytes = t.bytes.size();
  storage->file = file.name() + "#" + std::to_string(t.part);
  storage->offset = t.file_offset;
  storage->release = [owner = file.file(t.part)] {};
  const DType dtype = t.format ? dtype_of(*t.format) : find_dtype(t.plain->name);
  return Tensor(dtype, t.dims, std::move(storage));
}

}  // namespace

Checkpoint load_gguf(const std::string& path, std::vector<std::string>* problems) {
  const gguf::Gguf file = gguf::Gguf::open(path);
  Checkpoint c;
  c.source = path;
  c.architecture = file.get<std::string>("general.architecture");
  const std::string prefix = c.architecture + ".";
  for (const gguf::Entry& e : file.metadata()) {
    // The tokenizer's lists are large and have a reader of their own.
    if (e.key.substr(0, 10) == "tokenizer.") continue;
    const std::string_view key =
        e.key.substr(0, prefix.size()) == prefix ? e.key.substr(prefix.size()) : e.key;
    c.metadata[std::string(key)] =
        std::holds_alternative<gguf::Array>(e.value) ? array_value(e.value) : scalar_value(e.value);
  }
  for (const gguf::Tensor& t : file.tensors()) {
    c.file_bytes += static_cast<int64_t>(t.bytes.size());
    if (!t.problem.empty()) {
      if (problems) problems->push_back(str("tensor '", t.name, "': ", t.problem));
      continue;
    }
    c.tensors.emplace(std::string(t.name), mapped_tensor(file, t));
  }
  return c;
}

}  // namespace lamella
