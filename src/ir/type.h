// The type of a value: element type, exact sizes, layout; or a sequence, optional or map of
// tensors.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lamella/ir/dim.h"
#include "lamella/ir/dtype.h"

namespace lamella {

// Sizes, outermost first.
struct Shape {
  std::vector<Dim> dims;

  Shape() = default;
  Shape(std::initializer_list<Dim> d) : dims(d) {}
  explicit Shape(std::vector<Dim> d) : dims(std::move(d)) {}

  size_t rank() const { return dims.size(); }
  Dim operator[](int64_t axis) const {  // negative counts from the end
    return dims[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis)];
  }
  Dim& operator[](int64_t axis) {
    return dims[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis)];
  }
  Dim last() const { return dims.back(); }
  Dim numel() const;
  bool is_static() const;
  auto begin() const { return dims.begin(); }
  auto end() const { return dims.end(); }
  std::string text() const;  // "[4, 2*h+1]"
  bool operator==(const Shape&) const = default;
};

// The order of a tensor's elements in memory. An encoding is not a layout: it is the element type.
struct Layout {
  enum class Kind : int { row_major, permuted, blocked };
  Kind kind = Kind::row_major;
  std::vector<int64_t> order;  // permuted: axes from outermost to innermost in memory
  int64_t axis = 0;            // blocked: the axis that is cut into blocks,
  int64_t block = 0;           // which lie innermost
  bool operator==(const Layout&) const = default;
  std::string text() const;  // "", "@perm(1, 0)", "@block(1, 16)"
};

enum class ValueKind : int { tensor, sequence, optional, map };

struct Type {
  ValueKind kind = ValueKind::tensor;
  DType dtype;  // of a tensor; of a map's keys
  Shape shape;
  Layout layout;
  std::shared_ptr<const Type> element;  // of a sequence, optional or map

  Type() = default;
  Type(DType d, Shape s, Layout l = {}) : dtype(d), shape(std::move(s)), layout(std::move(l)) {}
  static Type sequence(Type element);
  static Type optional(Type element);

  bool is_tensor() const { return kind == ValueKind::tensor; }
  size_t rank() const { return shape.rank(); }
  // Bytes of a contiguous tensor: planes of an encoding start at multiples of 64. UserError for
  // strings.
  Dim bytes() const;
  std::string text() const;  // "f32[tokens, 64]"
  // UserError where no value can have this type: no element type, a size below 0, a layout of other
  // axes.
  void check() const;
  bool operator==(const Type& other) const;
};

inline std::ostream& operator<<(std::ostream& out, const Dim& d) { return out << d.text(); }
inline std::ostream& operator<<(std::ostream& out, const Shape& s) { return out << s.text(); }
inline std::ostream& operator<<(std::ostream& out, const Type& t) { return out << t.text(); }
inline std::ostream& operator<<(std::ostream& out, const DType& t) { return out << t.name(); }

}  // namespace lamella
