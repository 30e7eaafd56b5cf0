// What benchmarks run with: THREADS=n (1), ISA=name (the best), and data that is the same each
// time.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "lamella/kernels/cpu/isa.h"

namespace lamella::bench {

inline cpu::Isa isa() {
  const char* wanted = std::getenv("ISA");
  return cpu::parse_isa(wanted ? wanted : "").value_or(cpu::best_isa());
}

inline int n_threads() {
  const char* threads = std::getenv("THREADS");
  return threads ? std::atoi(threads) : 1;
}

// Blocks with f16 scales near 2^-6 wherever a scale may lie; as f16, numbers near 2^-6.
inline std::vector<uint8_t> random_bytes(int64_t n) {
  std::mt19937 rng(1);
  std::vector<uint8_t> bytes(n);
  for (uint8_t& b : bytes) b = static_cast<uint8_t>((rng() & 3) | 0x24);
  return bytes;
}

}  // namespace lamella::bench
