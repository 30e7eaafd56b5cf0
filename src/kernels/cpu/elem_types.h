// From Elem to C++ types, for kernels that are templates over elements. Not for files of one
// instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "lamella/base/numeric.h"
#include "lamella/kernels/cpu/elem.h"

namespace lamella::cpu {

// bool as a byte, of which any value but 0 is true.
struct Bool {
  uint8_t byte;
};
using ElemTypes = std::tuple<Bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                             uint64_t, f16, bf16, float, double>;

// fn.operator()<T>() with the C++ type of the element; T of fn's result is default-constructible.
template <class Fn>
auto with_elem(Elem elem, Fn fn) {
  using Result = decltype(fn.template operator()<float>());
  using Call = Result (*)(Fn&);
  return [&]<size_t... I>(std::index_sequence<I...>) {
    constexpr Call kCalls[] = {
        [](Fn& f) { return f.template operator()<std::tuple_element_t<I, ElemTypes>>(); }...};
    return kCalls[static_cast<size_t>(elem)](fn);
  }
  (std::make_index_sequence<kElems>{});
}

template <class T>
inline constexpr bool kIsNarrowFloat = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

// What values of T are computed in: float for floats up to 32 bits, double, uint64_t for u64,
// int64_t for bool and other integers.
template <class T>
using Wide = std::conditional_t<
    std::is_same_v<T, double>, double,
    std::conditional_t<std::is_same_v<T, float> || kIsNarrowFloat<T>, float,
                       std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t, int64_t>>>;

template <class T>
Wide<T> widened(T x) {
  if constexpr (std::is_same_v<T, Bool>) {
    return x.byte != 0;
  } else {
    return static_cast<Wide<T>>(x);
  }
}
// A value that T can hold, but for rounding and wrapping.
template <class T>
T narrowed_to(Wide<T> x) {
  if constexpr (std::is_same_v<T, Bool>) {
    return {static_cast<uint8_t>(x != 0)};
  } else if constexpr (kIsNarrowFloat<T>) {
    return T::from(x);
  } else {
    return static_cast<T>(x);
  }
}

}  // namespace lamella::cpu
