// Hash and sub-graphs of attribute structs, by their fields.
#include "lamella/ir/attrs.h"

#include <algorithm>
#include <bit>
#include <cstring>

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
  void operator()(const GraphPtr* x) { put(*x ? hash_mix(1, (*x)->hash()) : 0); }
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

bool same_bits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  if (a.same_as(b)) return true;
  if (a.empty_handle() || b.empty_handle() || a.dtype() != b.dtype() || a.shape() != b.shape())
    return false;
  const Tensor x = a.contiguous(), y = b.contiguous();
  return x.bytes() == 0 || std::memcmp(x.data(), y.data(), x.bytes()) == 0;
}

// Are two fields of one kind equal?
struct FieldEqual {
  bool by_content;

  template <class T>
  bool values(const T& a, const T& b) const {
    return a == b;
  }
  bool values(double a, double b) const { return same_bits(a, b); }
  bool values(const std::vector<double>& a, const std::vector<double>& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_bits);
  }
  bool values(const std::optional<double>& a, const std::optional<double>& b) const {
    return a.has_value() == b.has_value() && (!a || same_bits(*a, *b));
  }
  bool values(Dim a, Dim b) const { return a == b || (by_content && a.text() == b.text()); }
  bool values(const Shape& a, const Shape& b) const {
    return a == b || (by_content && a.text() == b.text());
  }
  bool values(const Type& a, const Type& b) const {
    return a == b || (by_content && a.text() == b.text());
  }
  bool values(const Tensor& a, const Tensor& b) const {
    return by_content ? same_bytes(a, b) : a.same_as(b);
  }
  bool values(const GraphPtr& a, const GraphPtr& b) const {
    return a == b || (by_content && a && b && same_graph(*a, *b));
  }
  template <class T>
  bool operator()(T* a, T* b) const {
    return values(*a, *b);
  }
  bool operator()(EnumField a, EnumField b) const {
    return *static_cast<int*>(a.value) == *static_cast<int*>(b.value);
  }
  template <class A, class B>
  bool operator()(A, B) const {
    return false;
  }
};

struct FieldSymbols {
  SymbolsUsed& used;
  void operator()(Dim* x) { used.add(*x); }
  void operator()(Shape* x) {
    for (Dim d : *x) used.add(d);
  }
  void operator()(Type* x) { add_symbols(*x, used); }
  void operator()(GraphPtr* x) {
    if (*x) add_symbols(**x, used);
  }
  void operator()(auto) {}
};

}  // namespace

bool AttrBox::same(const AttrBox& other, bool by_content) const {
  if (info_ != other.info_) return false;
  if (data_ == other.data_) return true;
  const std::vector<Field> a = fields(), b = other.fields();
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const Field& x, const Field& y) {
    return std::visit(FieldEqual{by_content}, x.value, y.value);
  });
}

bool same_value(const FieldPtr& a, const FieldPtr& b) { return std::visit(FieldEqual{true}, a, b); }

void add_symbols(const Type& type, SymbolsUsed& used) {
  for (Dim d : type.shape) used.add(d);
  if (type.element) add_symbols(*type.element, used);
}

void add_symbols(const AttrBox& attrs, SymbolsUsed& used) {
  for (const Field& f : attrs.fields()) std::visit([&](auto x) { FieldSymbols{used}(x); }, f.value);
}

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
