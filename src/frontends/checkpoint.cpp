#include "lamella/frontends/checkpoint.h"

namespace lamella {
namespace {

constexpr std::string_view kKindNames[] = {"a bool",
                                           "an integer",
                                           "a number",
                                           "a text",
                                           "an array of bools",
                                           "an array of integers",
                                           "an array of numbers",
                                           "an array of texts"};

const Checkpoint::Value& find(const Checkpoint& c, std::string_view key) {
  auto it = c.metadata.find(key);
  CHECK_USER(it != c.metadata.end(), c.source, ": metadata '", c.architecture, ".", key,
             "' is missing");
  return it->second;
}

[[noreturn]] void wrong_kind(const Checkpoint& c, std::string_view key, const Checkpoint::Value& v,
                             std::string_view want) {
  throw UserError(str(c.source, ": metadata '", key, "' has the wrong kind; got ",
                      kKindNames[v.index()], "; want ", want));
}

}  // namespace

int64_t Checkpoint::integer(std::string_view key) const {
  const Value& v = find(*this, key);
  if (auto* i = std::get_if<int64_t>(&v)) return *i;
  wrong_kind(*this, key, v, "an integer");
}

double Checkpoint::number(std::string_view key) const {
  const Value& v = find(*this, key);
  if (auto* d = std::get_if<double>(&v)) return *d;
  if (auto* i = std::get_if<int64_t>(&v)) return static_cast<double>(*i);
  wrong_kind(*this, key, v, "a number");
}

const std::string& Checkpoint::text(std::string_view key) const {
  const Value& v = find(*this, key);
  if (auto* s = std::get_if<std::string>(&v)) return *s;
  wrong_kind(*this, key, v, "a text");
}

bool Checkpoint::flag_or(std::string_view key, bool otherwise) const {
  if (!has(key)) return otherwise;
  const Value& v = find(*this, key);
  if (auto* b = std::get_if<bool>(&v)) return *b;
  wrong_kind(*this, key, v, "a bool");
}

std::vector<int64_t> Checkpoint::integers(std::string_view key, int64_t n) const {
  const Value& v = find(*this, key);
  if (auto* i = std::get_if<int64_t>(&v)) return std::vector<int64_t>(static_cast<size_t>(n), *i);
  if (auto* a = std::get_if<std::vector<int64_t>>(&v)) {
    CHECK_USER(static_cast<int64_t>(a->size()) == n, source, ": metadata '", key,
               "' has the wrong length; got ", a->size(), "; want ", n);
    return *a;
  }
  wrong_kind(*this, key, v, "an integer or an array of integers");
}

const Tensor* Checkpoint::find_tensor(std::string_view name) const {
  auto it = tensors.find(name);
  return it == tensors.end() ? nullptr : &it->second;
}

}  // namespace lamella
