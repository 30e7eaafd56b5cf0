// The instruction sets that CPU kernels are written for, and which of them this machine has.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace lamella::cpu {

enum class Isa {
  scalar,       // no more than the target's baseline
  avx2,         // with FMA, F16C, BMI2
  avx512,       // F, BW, VL, DQ, VNNI, VBMI, and all of avx2
  avx512_bf16,  // dot products of bf16, and all of avx512
  amx,          // int8 and bf16 tiles, and all of avx512_bf16
  neon,         // with dot products of bytes (Armv8.2)
};

std::string_view name(Isa isa);
std::optional<Isa> parse_isa(std::string_view name);

// Those that the processor and the system both allow, from the slowest to the fastest; never empty.
std::span<const Isa> usable_isas();

bool usable(Isa isa);
Isa best_isa();

}  // namespace lamella::cpu
