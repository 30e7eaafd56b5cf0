// Hash and sub-graphs of attribute structs, by their fields.
#include "lamella/ir/attrs.h"

#include <bit>

#include "lamella/base/hash.h"
#include "lamella/ir/graph.h"

namespace lamella {
namespace {

// How a field enters a hash. Sizes are hashed by text, since interning is a table's own affair.
struct FieldHash {
  uint64_t h;
  void put(uint64_t x) { h = hash_mix(h, x); }
  void operator()(const bool* x) { put(*x); }
  void operator()(const int64_t* x) { put(static_cast<uint64_t>(*x)); }
  void operator()(const double* x) { put(std::bit_cast<uint64_t>(*x)); }
  void operator()(const std::string* x) { put(hash_of(*x)); }
  void operator()(const std::vector<int64_t>* x) {
    put(x->size());
    for (int64_t v : *x) put(static_cast<uint64_t>(v));
  }
  void operator()(const std::vector<double>* x) {
    put(x->size());
    for (double v : *x) put(std::bit_cast<uint64_t>(v));
  }
  void operator()(const std::vector<std::string>* x) {
    put(x->size());
    for (const std::string& v : *x) put(hash_of(v));
  }
  void operator()(const DType* x) { put(hash_of(x->name())); }
  void operator()(const Dim* x) { put(hash_of(x->text())); }
  void operator()(const Shape* x) { put(hash_of(x->text())); }
  void operator()(const Type* x) { put(hash_of(x->text())); }
  void operator()(const Tensor* x) { put(x->identity()); }
  void operator()(const GraphPtr* x) { put(*x ? (*x)->hash() : 0); }
  void operator()(const std::optional<int64_t>* x) {
    put(x->has_value());
    if (*x) put(static_cast<uint64_t>(**x));
  }
  void operator()(const std::optional<double>* x) {
    put(x->has_value());
    if (*x) put(std::bit_cast<uint64_t>(**x));
  }
  void operator()(EnumField x) { put(static_cast<uint64_t>(*static_cast<int*>(x.value))); }
};

}  // namespace

uint64_t AttrBox::hash() const {
  FieldHash hash{17};
  for (const Field& f : fields()) std::visit([&](auto value) { hash(value); }, f.value);
  return hash.h;
}

std::vector<GraphPtr> AttrBox::graphs() const {
  std::vector<GraphPtr> out;
  for (const Field& f : fields())
    if (auto* g = std::get_if<GraphPtr*>(&f.value); g && **g) out.push_back(**g);
  return out;
}

}  // namespace lamella
