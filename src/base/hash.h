// Hash combination for structural hashing. Not cryptographic.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace lamella {

// Mixes `value` into `seed` (the finaliser of SplitMix64 on their combination).
constexpr uint64_t hash_mix(uint64_t seed, uint64_t value) {
  uint64_t x = seed * 0x9e3779b97f4a7c15ull + value + 0x632be59bd9b4e019ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

inline uint64_t hash_of(std::string_view text) { return std::hash<std::string_view>{}(text); }

}  // namespace lamella
