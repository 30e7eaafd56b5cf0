// A tensor of the reference meaning: floats as f64, integers and bools as i64, whatever the element
// type says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lamella/ir/dtype.h"
#include "lamella/ir/tensor.h"

namespace lamella {

struct RefTensor {
  DType dtype;
  std::vector<int64_t> shape;
  std::vector<double> f;       // floats; block formats by their decoded values
  std::vector<int64_t> i;      // bool and integers; u64 by its bits
  std::vector<std::string> s;  // strings

  RefTensor() = default;
  // Zeros.
  RefTensor(DType dtype, std::vector<int64_t> shape);
  static RefTensor from(const Tensor& tensor);

  bool holds_floats() const { return dtype.is_float() || dtype.is_block(); }
  int64_t numel() const;
  size_t rank() const { return shape.size(); }
  // Element at as a number of either kind.
  double number(int64_t at) const {
    return holds_floats() ? f[static_cast<size_t>(at)]
                          : static_cast<double>(i[static_cast<size_t>(at)]);
  }
  // Rounded (floats) or wrapped (integers) to the element type; block formats are encoded.
  Tensor to_tensor() const;
};

// Wraps a number to an integer type's width (bool: != 0). u64 stays as its bits.
int64_t wrap_int(DType dtype, int64_t value);
// The nearest value of a float type, as f64.
double round_float(DType dtype, double value);
// The values that `format` gives back for rows of k values, each row encoded alone. UserError where
// the format has no encoder.
std::vector<double> encode_decode(const quant::Format& format, int64_t k,
                                  const std::vector<double>& values);

// Row-major strides of a shape, in elements.
std::vector<int64_t> strides_of(const std::vector<int64_t>& shape);

// Walks an index over `shape`, row-major: for (Index at(shape); !at.done(); at.next()) ...
// at[axis].
class Index {
 public:
  explicit Index(const std::vector<int64_t>& shape) : shape_(shape), at_(shape.size(), 0) {
    for (int64_t d : shape)
      if (d == 0) done_ = true;
  }
  bool done() const { return done_; }
  void next() {
    ++flat_;
    for (size_t d = shape_.size(); d-- > 0;) {
      if (++at_[d] < shape_[d]) return;
      at_[d] = 0;
    }
    done_ = true;
  }
  int64_t operator[](size_t axis) const { return at_[axis]; }
  size_t flat() const { return flat_; }
  // Offset of this index in a tensor of shape `other` that broadcasts to the walked shape (aligned
  // at the end).
  int64_t broadcast_offset(const std::vector<int64_t>& other) const;
  // Offset with these strides.
  int64_t offset(const std::vector<int64_t>& strides) const {
    int64_t sum = 0;
    for (size_t d = 0; d < at_.size(); ++d) sum += at_[d] * strides[d];
    return sum;
  }

 private:
  const std::vector<int64_t> shape_;
  std::vector<int64_t> at_;
  size_t flat_ = 0;
  bool done_ = false;
};

}  // namespace lamella
