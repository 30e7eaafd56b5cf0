// Element types. A block format is an element type like any other: the encoding is part of the
// type.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "lamella/quant/format.h"

namespace lamella {

enum class DTypeKind : uint8_t { boolean, sint, uint, floating, complex, string, block };

// One row of the table of types. `eps` is the distance from 1 to the next value (0 for integers).
struct DTypeInfo {
  std::string_view name;
  DTypeKind kind;
  int bits;  // of one element; 0 for strings and block formats
  double eps = 0;
  const quant::Format* format = nullptr;  // block formats
};

// A row of the table. Equal when it is the same row.
class DType {
 public:
  constexpr DType() = default;
  explicit constexpr DType(const DTypeInfo& info) : info_(&info) {}

  constexpr const DTypeInfo& info() const { return *info_; }
  constexpr std::string_view name() const { return info_ ? info_->name : "none"; }
  constexpr bool is_none() const { return info_ == nullptr; }
  constexpr bool is(DTypeKind kind) const { return info_ && info_->kind == kind; }
  constexpr bool is_block() const { return is(DTypeKind::block); }
  constexpr bool is_float() const { return is(DTypeKind::floating); }
  constexpr bool is_bool() const { return is(DTypeKind::boolean); }
  // Signed, unsigned; not bool.
  constexpr bool is_int() const { return is(DTypeKind::sint) || is(DTypeKind::uint); }
  constexpr bool is_string() const { return is(DTypeKind::string); }
  // Bytes of an element of whole bytes; 0 for 4- and 2-bit integers, strings and block formats.
  constexpr int64_t bytes() const { return info_->bits % 8 == 0 ? info_->bits / 8 : 0; }

  friend constexpr bool operator==(const DType&, const DType&) = default;

 private:
  const DTypeInfo* info_ = nullptr;
};

inline constexpr DTypeInfo kPlainTypes[] = {
    {"bool", DTypeKind::boolean, 8},
    {"i8", DTypeKind::sint, 8},
    {"i16", DTypeKind::sint, 16},
    {"i32", DTypeKind::sint, 32},
    {"i64", DTypeKind::sint, 64},
    {"u8", DTypeKind::uint, 8},
    {"u16", DTypeKind::uint, 16},
    {"u32", DTypeKind::uint, 32},
    {"u64", DTypeKind::uint, 64},
    {"f16", DTypeKind::floating, 16, 0x1p-10},
    {"bf16", DTypeKind::floating, 16, 0x1p-7},
    {"f32", DTypeKind::floating, 32, 0x1p-23},
    {"f64", DTypeKind::floating, 64, 0x1p-52},
    {"f8e4m3", DTypeKind::floating, 8, 0x1p-3},
    {"f8e5m2", DTypeKind::floating, 8, 0x1p-2},
    {"i4", DTypeKind::sint, 4},
    {"u4", DTypeKind::uint, 4},
    {"i2", DTypeKind::sint, 2},
    {"u2", DTypeKind::uint, 2},
    {"complex64", DTypeKind::complex, 64, 0x1p-23},
    {"complex128", DTypeKind::complex, 128, 0x1p-52},
    {"string", DTypeKind::string, 0},
};

inline constexpr DType kBool{kPlainTypes[0]}, kI8{kPlainTypes[1]}, kI16{kPlainTypes[2]},
    kI32{kPlainTypes[3]}, kI64{kPlainTypes[4]}, kU8{kPlainTypes[5]}, kU16{kPlainTypes[6]},
    kU32{kPlainTypes[7]}, kU64{kPlainTypes[8]}, kF16{kPlainTypes[9]}, kBF16{kPlainTypes[10]},
    kF32{kPlainTypes[11]}, kF64{kPlainTypes[12]}, kF8E4M3{kPlainTypes[13]},
    kF8E5M2{kPlainTypes[14]}, kI4{kPlainTypes[15]}, kU4{kPlainTypes[16]}, kI2{kPlainTypes[17]},
    kU2{kPlainTypes[18]}, kComplex64{kPlainTypes[19]}, kComplex128{kPlainTypes[20]},
    kString{kPlainTypes[21]};

// The element types that are block formats, in the order of their table. (The plain ones are
// kPlainTypes.)
std::span<const DTypeInfo> block_dtypes();

// The type of that name; none (is_none) when there is no such type.
DType find_dtype(std::string_view name);

// The type of a block format's row.
DType dtype_of(const quant::Format& format);

}  // namespace lamella
