// Text and sizes of types.
#include "lamella/ir/type.h"

#include <algorithm>
#include <ostream>

#include "lamella/base/error.h"

namespace lamella {
namespace {

std::string joined(const std::vector<int64_t>& values) {
  std::string out;
  for (size_t i = 0; i < values.size(); ++i) out += (i ? ", " : "") + std::to_string(values[i]);
  return out;
}

Dim round_up(Dim bytes, int64_t to) { return ceildiv(bytes, to) * to; }

}  // namespace

Dim Shape::numel() const {
  Dim n = 1;
  for (Dim d : dims) n = n * d;
  return n;
}

bool Shape::is_static() const {
  return std::all_of(dims.begin(), dims.end(), [](Dim d) { return d.is_const(); });
}

std::string Shape::text() const {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i) out += (i ? ", " : "") + dims[i].text();
  return out + "]";
}

std::string Layout::text() const {
  if (kind == Kind::permuted) return "@perm(" + joined(order) + ")";
  if (kind == Kind::blocked) return "@block(" + joined({axis, block}) + ")";
  return "";
}

Type Type::sequence(Type element) {
  Type t;
  t.kind = ValueKind::sequence;
  t.element = std::make_shared<const Type>(std::move(element));
  return t;
}

Type Type::optional(Type element) {
  Type t = sequence(std::move(element));
  t.kind = ValueKind::optional;
  return t;
}

Dim Type::bytes() const {
  CHECK_USER(is_tensor() && !dtype.is_string(), "type: ", text(), " has no fixed size in bytes");
  if (const quant::Format* f = dtype.info().format) {
    CHECK_INTERNAL(rank() >= 1, "type: a block format needs an axis; got ", text());
    Dim rows = 1;
    for (size_t i = 0; i + 1 < rank(); ++i) rows = rows * shape.dims[i];
    const Dim blocks = rows * ceildiv(shape.last(), f->block);
    if (f->n_planes == 1) return blocks * f->planes[0].block_bytes;
    Dim sum = 0;
    for (int i = 0; i < f->n_planes; ++i)
      sum = sum + round_up(blocks * f->planes[i].block_bytes, 64);
    return sum;
  }
  const int64_t bits = dtype.info().bits;
  return bits % 8 == 0 ? shape.numel() * (bits / 8) : ceildiv(shape.numel() * bits, 8);
}

std::string Type::text() const {
  switch (kind) {
    case ValueKind::tensor:
      return std::string(dtype.name()) + shape.text() + layout.text();
    case ValueKind::sequence:
      return "seq(" + element->text() + ")";
    case ValueKind::optional:
      return "optional(" + element->text() + ")";
    case ValueKind::map:
      return "map(" + std::string(dtype.name()) + ", " + element->text() + ")";
  }
  return "";
}

void Type::check() const {
  if (!is_tensor()) {
    CHECK_USER(element, "type: a sequence, optional or map of nothing");
    return element->check();
  }
  CHECK_USER(!dtype.is_none(), "type: no element type; got ", text());
  CHECK_USER(!dtype.is_block() || rank() >= 1, "type: ", dtype.name(), " needs an axis; got ",
             text());
  for (Dim d : shape) CHECK_USER(d.range().high >= 0, "type: a size below 0; got ", text());
  const auto n = static_cast<int64_t>(rank());
  if (layout.kind == Layout::Kind::permuted) {
    std::vector<int64_t> axes = layout.order;
    std::sort(axes.begin(), axes.end());
    bool is_permutation = axes.size() == rank();
    for (size_t i = 0; is_permutation && i < axes.size(); ++i)
      is_permutation = axes[i] == static_cast<int64_t>(i);
    CHECK_USER(is_permutation, "type: the layout does not name each axis once; got ", text());
  }
  if (layout.kind == Layout::Kind::blocked)
    CHECK_USER(layout.axis >= 0 && layout.axis < n && layout.block > 0,
               "type: a layout of blocks along no axis or of no size; got ", text());
}

bool Type::operator==(const Type& other) const {
  if (kind != other.kind || dtype != other.dtype || shape != other.shape || layout != other.layout)
    return false;
  if (!element || !other.element) return element == other.element;
  return *element == *other.element;
}

}  // namespace lamella
