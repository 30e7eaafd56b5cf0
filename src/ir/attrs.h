// Attributes of a node: a struct of values. An op lists its fields once, in `fields`; equality,
// hash, print and parse follow from that list.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "lamella/base/error.h"
#include "lamella/ir/dim.h"
#include "lamella/ir/dtype.h"
#include "lamella/ir/tensor.h"
#include "lamella/ir/type.h"

namespace lamella {

class Graph;
using GraphPtr = std::shared_ptr<const Graph>;

// Names of an enum's values in order from 0. Specialise for every enum used as an attribute:
//   template <> struct EnumNames<Mode> { static constexpr std::array<std::string_view, 2>
//   names{"a", "b"}; };
template <class E>
struct EnumNames;

// An enum field seen as an index into its names.
struct EnumField {
  void* value;  // points to the enum, whose underlying type is int
  const std::string_view* names;
  size_t n_names;
};

// A pointer to one field of an attribute struct.
using FieldPtr =
    std::variant<bool*, int64_t*, double*, std::string*, std::vector<int64_t>*,
                 std::vector<double>*, std::vector<std::string>*, DType*, Dim*, Shape*, Type*,
                 Tensor*, GraphPtr*, std::optional<int64_t>*, std::optional<double>*, EnumField>;

struct Field {
  std::string_view name;
  FieldPtr value;
};

template <class T>
FieldPtr field_ptr(T* value) {
  if constexpr (std::is_enum_v<T>) {
    static_assert(std::is_same_v<std::underlying_type_t<T>, int>,
                  "attribute enums are based on int");
    return EnumField{value, EnumNames<T>::names.data(), EnumNames<T>::names.size()};
  } else {
    return value;
  }
}

// What type-erased code needs to know about an attribute struct.
struct AttrsInfo {
  std::shared_ptr<void> (*make)();
  std::shared_ptr<void> (*clone)(const void*);
  std::vector<Field> (*fields)(void*);
};

template <class A>
inline constexpr AttrsInfo kAttrsInfo{
    .make = []() -> std::shared_ptr<void> { return std::make_shared<A>(); },
    .clone = [](const void* a) -> std::shared_ptr<void> {
      return std::make_shared<A>(*static_cast<const A*>(a));
    },
    .fields =
        [](void* a) {
          std::vector<Field> out;
          A::fields([&](std::string_view name, auto member) {
            out.push_back({name, field_ptr(&(static_cast<A*>(a)->*member))});
          });
          return out;
        },
};

// For ops without attributes.
struct NoAttrs {
  bool operator==(const NoAttrs&) const = default;
  static constexpr void fields(auto&&) {}
};

// An immutable attribute struct of any op; copies share it.
class AttrBox {
 public:
  AttrBox() : info_(&kAttrsInfo<NoAttrs>), data_(info_->make()) {}
  template <class A>
  requires(!std::is_same_v<std::remove_cvref_t<A>, AttrBox>) explicit AttrBox(A attrs)
      : info_(&kAttrsInfo<A>), data_(std::make_shared<A>(std::move(attrs))) {}
  AttrBox(const AttrsInfo& info, std::shared_ptr<const void> data)
      : info_(&info), data_(std::move(data)) {}

  template <class A>
  const A& as() const {
    CHECK_INTERNAL(info_ == &kAttrsInfo<A>, "attributes: read as the struct of another op");
    return *static_cast<const A*>(data_.get());
  }
  const AttrsInfo& info() const { return *info_; }
  const void* data() const { return data_.get(); }
  // The fields for reading.
  std::vector<Field> fields() const { return info_->fields(const_cast<void*>(data_.get())); }
  // The sub-graphs among the fields.
  std::vector<GraphPtr> graphs() const;

  // Field by field, floats by their bits: NaN equals itself, 0 and -0 differ; tensors and
  // sub-graphs by identity.
  bool operator==(const AttrBox& other) const { return same(other, false); }
  // The same with tensors and sub-graphs by content, and sizes of different tables by their text.
  bool same_content(const AttrBox& other) const { return same(other, true); }
  uint64_t hash() const;

 private:
  bool same(const AttrBox& other, bool by_content) const;

  const AttrsInfo* info_;
  std::shared_ptr<const void> data_;
};

// Are two fields of one kind equal? Floats by their bits, tensors and sub-graphs by content, sizes
// of different tables by their text.
bool same_value(const FieldPtr& a, const FieldPtr& b);

// The symbols that a type or an attribute depends on, those inside sub-graphs too.
void add_symbols(const Type& type, SymbolsUsed& used);
void add_symbols(const AttrBox& attrs, SymbolsUsed& used);

}  // namespace lamella
