// Plain element types as kernels see them, and the status that kernels return. No IR.
#pragma once

#include <cstdint>

namespace lamella::cpu {

enum class Elem : uint8_t { boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64 };
inline constexpr int kElems = 13;
inline constexpr int kElemBytes[kElems] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};

constexpr int64_t elem_bytes(Elem e) { return kElemBytes[static_cast<int>(e)]; }
constexpr bool is_float(Elem e) { return e >= Elem::f16; }

// What a kernel found wrong with the values it was given. `index` is the place in the tensor that
// holds the offending value.
struct Status {
  enum class Code : uint8_t { ok, index_out_of_range, no_memory };
  Code code = Code::ok;
  int64_t index = -1;
  bool ok() const { return code == Code::ok; }
};

}  // namespace lamella::cpu
