// Loops over arrays that are to stay in registers.
#pragma once

#include <type_traits>
#include <utility>

#define LAMELLA_INLINE __attribute__((always_inline))

namespace lamella::cpu {

// fn(i) for i < n, each a constant: an array in registers may only be indexed by constants, and
// g++ unrolls loops too late for that.
template <int n, class Fn>
LAMELLA_INLINE inline void each(Fn fn) {
  [&]<int... i>(std::integer_sequence<int, i...>) LAMELLA_INLINE {
    (fn(std::integral_constant<int, i>{}), ...);
  }
  (std::make_integer_sequence<int, n>{});
}

}  // namespace lamella::cpu
