#include "lamella/kernels/cpu/tile_types.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "lamella/kernels/cpu/elem_types.h"

namespace lamella::cpu {
namespace {

using RegisterTypes = std::tuple<float, double, int64_t, uint64_t>;

// The nearest end of T beyond its range, 0 for NaN.
template <class T, class Float>
T saturate(Float x) {
  constexpr Float kEnd =
      static_cast<Float>(2) * static_cast<Float>(std::numeric_limits<T>::max() / 2 + 1);
  if (x >= kEnd) return std::numeric_limits<T>::max();
  if (x <= static_cast<Float>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  return x == x ? static_cast<T>(x) : T{0};
}

template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<To, Bool>) {
    return {static_cast<uint8_t>(x != 0)};
  } else if constexpr (std::is_same_v<To, f16> || std::is_same_v<To, bf16>) {
    return To::from(static_cast<double>(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return saturate<To>(x);
  } else {
    return static_cast<To>(x);
  }
}
// What a register holds for an element.
template <class Register, class T>
Register widen(T x) {
  if constexpr (std::is_same_v<T, Bool>) {
    return static_cast<Register>(x.byte != 0);
  } else {
    return static_cast<Register>(x);
  }
}

template <class From, class T>
void cast(void* dst, const void* a, const void*, const void*, int64_t n) {
  using To =
      std::tuple_element_t<static_cast<int>(std::is_same_v<T, double>     ? TileType::f64
                                            : std::is_same_v<T, uint64_t> ? TileType::u64
                                            : std::is_same_v<T, float> || std::is_same_v<T, f16> ||
                                                    std::is_same_v<T, bf16>
                                                ? TileType::f32
                                                : TileType::i64),
                           RegisterTypes>;
  for (int64_t i = 0; i < n; ++i) {
    static_cast<To*>(dst)[i] = widen<To>(convert<T>(static_cast<const From*>(a)[i]));
  }
}

template <class T, class Register>
void load_row(const TileTable& table, const T* x, int64_t stride, Register* y, int64_t n) {
  if (stride == 1) {
    if constexpr (std::is_same_v<T, f16>) return table.load_f16(x, y, n);
    if constexpr (std::is_same_v<T, bf16>) return table.load_bf16(x, y, n);
    for (int64_t i = 0; i < n; ++i) y[i] = widen<Register>(x[i]);
  } else if (stride == 0) {
    const Register value = widen<Register>(*x);
    for (int64_t i = 0; i < n; ++i) y[i] = value;
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = widen<Register>(x[i * stride]);
  }
}

template <class Register, class T>
void store_row(const TileTable& table, const Register* x, T* y, int64_t stride, int64_t n) {
  if (stride == 1) {
    if constexpr (std::is_same_v<T, f16>) return table.store_f16(x, y, n);
    if constexpr (std::is_same_v<T, bf16>) return table.store_bf16(x, y, n);
    for (int64_t i = 0; i < n; ++i) y[i] = convert<T>(x[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i * stride] = convert<T>(x[i]);
  }
}

// Rows shorter than this are not worth the calls that long ones are.
constexpr int64_t kShort = 16;

template <class T, class Register>
void load(const TileTable& table, const void* from, const TilePiece& p, void* to) {
  const T* x = static_cast<const T*>(from);
  Register* y = static_cast<Register*>(to);
  for (int64_t row = 0; row < p.rows; ++row, x += p.row_stride, y += p.n) {
    if (p.n >= kShort) {
      load_row(table, x, p.stride, y, p.n);
    } else {
      for (int64_t i = 0; i < p.n; ++i) y[i] = widen<Register>(x[i * p.stride]);
    }
  }
}

template <class Register, class T>
void store(const TileTable& table, const void* from, void* to, const TilePiece& p) {
  const Register* x = static_cast<const Register*>(from);
  T* y = static_cast<T*>(to);
  for (int64_t row = 0; row < p.rows; ++row, x += p.n, y += p.row_stride) {
    if (p.n >= kShort) {
      store_row(table, x, y, p.stride, p.n);
    } else {
      for (int64_t i = 0; i < p.n; ++i) y[i * p.stride] = convert<T>(x[i]);
    }
  }
}

template <class T>
constexpr bool kIsFloat32 = std::is_same_v<T, float> || kIsNarrowFloat<T>;
// Registers that T is loaded to and stored from; the engine casts between the others.
template <class T, class Register>
constexpr bool kHolds = std::is_same_v<T, Bool> ||
                        (kIsFloat32<T> ? std::is_same_v<Register, float>
                         : std::is_same_v<T, double> || std::is_same_v<T, uint64_t>
                             ? std::is_same_v<Register, T>
                             : std::is_same_v<Register, int64_t>);

template <class Register>
TileLoad load_of(Elem elem) {
  return with_elem(elem, []<class T>() -> TileLoad {
    if constexpr (kHolds<T, Register>) return load<T, Register>;
    return nullptr;
  });
}
template <class Register>
TileStore store_of(Elem elem) {
  return with_elem(elem, []<class T>() -> TileStore {
    if constexpr (kHolds<T, Register>) return store<Register, T>;
    return nullptr;
  });
}
template <class Register>
TileFn cast_of(Elem elem) {
  return with_elem(elem, []<class T>() -> TileFn { return cast<Register, T>; });
}

}  // namespace

TileFn tile_cast(TileType from, Elem to) {
  constexpr TileFn (*kCasts[kTileTypes])(Elem) = {cast_of<float>, cast_of<double>, cast_of<int64_t>,
                                                  cast_of<uint64_t>};
  return kCasts[static_cast<int>(from)](to);
}
TileLoad tile_load(Elem elem, TileType type) {
  constexpr TileLoad (*kLoads[kTileTypes])(Elem) = {load_of<float>, load_of<double>,
                                                    load_of<int64_t>, load_of<uint64_t>};
  return kLoads[static_cast<int>(type)](elem);
}
TileStore tile_store(TileType type, Elem elem) {
  constexpr TileStore (*kStores[kTileTypes])(Elem) = {store_of<float>, store_of<double>,
                                                      store_of<int64_t>, store_of<uint64_t>};
  return kStores[static_cast<int>(type)](elem);
}

}  // namespace lamella::cpu
