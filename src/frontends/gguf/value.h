// A metadata value of a GGUF file, and its conversion to the type that a reader wants.
//
// Strings and arrays are views of the file's bytes: nothing is copied until somebody asks.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "lamella/base/error.h"

namespace lamella::gguf {

// Type ids as in the file.
enum class Type : uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64
};
inline constexpr int kTypes = 13;
inline constexpr std::array<std::string_view, kTypes> kTypeNames{
    "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"};

constexpr std::string_view type_name(Type type) { return kTypeNames[static_cast<size_t>(type)]; }

// How numbers lie in a file: byte order, and the width of lengths and counts.
struct Encoding {
  bool swap = false;     // the file has the other byte order than this machine
  int length_bytes = 8;  // 4 in version 1

  template <class T>
  T number(const uint8_t* bytes) const {
    std::array<uint8_t, sizeof(T)> raw;
    std::memcpy(raw.data(), bytes, sizeof(T));
    if (swap) {
      for (size_t i = 0; i < sizeof(T) / 2; ++i) std::swap(raw[i], raw[sizeof(T) - 1 - i]);
    }
    return std::bit_cast<T>(raw);
  }
  uint64_t length(const uint8_t* bytes) const {
    return length_bytes == 8 ? number<uint64_t>(bytes) : number<uint32_t>(bytes);
  }
};

// A checked array: `bytes` holds exactly `count` elements. Elements are no arrays.
struct Array {
  Type element = Type::u8;
  uint64_t count = 0;
  std::span<const uint8_t> bytes;
  Encoding encoding;
};

// Alternative i is the type with id i.
using Value = std::variant<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, float, bool,
                           std::string_view, Array, uint64_t, int64_t, double>;
static_assert(std::variant_size_v<Value> == kTypes);

inline Type type_of(const Value& value) { return static_cast<Type>(value.index()); }

// Calls f<T>() with the C++ type of `type`.
template <class F, size_t... I>
decltype(auto) with_type(Type type, F&& f, std::index_sequence<I...>) {
  using Result = decltype(f.template operator()<uint8_t>());
  using Case = Result (*)(F&);
  static constexpr Case kCases[] = {[](F& g) -> Result {
    return g.template operator()<std::variant_alternative_t<I, Value>>();
  }...};
  return kCases[static_cast<size_t>(type)](f);
}
template <class F>
decltype(auto) with_type(Type type, F&& f) {
  return with_type(type, std::forward<F>(f), std::make_index_sequence<kTypes>());
}

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;

// Calls f(x) for each element, in order, until it returns false; returns whether all returned true.
template <class F>
bool for_each_while(const Array& array, F&& f) {
  return with_type(array.element, [&]<class T>() {
    const uint8_t* at = array.bytes.data();
    for (uint64_t i = 0; i < array.count; ++i) {
      if constexpr (std::same_as<T, std::string_view>) {
        const uint64_t length = array.encoding.length(at);
        at += array.encoding.length_bytes;
        if (!f(std::string_view(reinterpret_cast<const char*>(at), length))) return false;
        at += length;
      } else if constexpr (!std::same_as<T, Array>) {
        const auto x = [&] {
          if constexpr (std::same_as<T, bool>) {
            return *at != 0;
          } else {
            return array.encoding.number<T>(at);
          }
        }();
        if (!f(x)) return false;
        at += sizeof(T);
      }
    }
    return true;
  });
}

// One number, bool or string as a T: integers to any integer type that holds the value, f32 and f64
// to float and double, strings to std::string and std::string_view. Nothing else converts.
template <class T, class From>
std::optional<T> convert_scalar(const From& x) {
  constexpr bool from_integer = std::integral<From> && !std::same_as<From, bool>;
  constexpr bool to_integer = std::integral<T> && !std::same_as<T, bool>;
  if constexpr (from_integer && to_integer) {
    if (!std::in_range<T>(x)) return std::nullopt;
    return static_cast<T>(x);
  } else if constexpr (std::floating_point<From> && std::floating_point<T>) {
    return static_cast<T>(x);
  } else if constexpr (std::same_as<From, T>) {
    return x;
  } else if constexpr (std::same_as<From, std::string_view> && std::same_as<T, std::string>) {
    return std::string(x);
  } else {
    return std::nullopt;
  }
}

// `value` as a T, a scalar as above or a std::vector of them from an array; nothing if it does not
// convert.
template <class T>
std::optional<T> convert(const Value& value) {
  if constexpr (is_vector<T>) {
    const Array* array = std::get_if<Array>(&value);
    if (array == nullptr) return std::nullopt;
    T result;
    result.reserve(array->count);
    const bool whole = for_each_while(*array, [&](const auto& x) {
      auto element = convert_scalar<typename T::value_type>(x);
      if (element) result.push_back(std::move(*element));
      return element.has_value();
    });
    if (!whole) return std::nullopt;
    return result;
  } else {
    return std::visit([](const auto& x) { return convert_scalar<T>(x); }, value);
  }
}

// What a T is called in messages.
template <class T>
std::string wanted_name() {
  if constexpr (is_vector<T>) {
    return str("array of ", wanted_name<typename T::value_type>());
  } else if constexpr (std::same_as<T, bool>) {
    return "bool";
  } else if constexpr (std::integral<T>) {
    return str(std::unsigned_integral<T> ? "u" : "i", sizeof(T) * 8);
  } else if constexpr (std::floating_point<T>) {
    return str("f", sizeof(T) * 8);
  } else {
    return "string";
  }
}

// "u32 7", "string 'llama'", "array of 3 f32": for messages and listings. Long strings are cut.
std::string describe(const Value& value);

}  // namespace lamella::gguf
