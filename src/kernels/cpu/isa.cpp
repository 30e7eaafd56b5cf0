#include "lamella/kernels/cpu/isa.h"

#include <algorithm>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace lamella::cpu {
namespace {

struct Name {
  Isa isa;
  std::string_view name;
};
constexpr Name kNames[] = {{Isa::scalar, "scalar"}, {Isa::avx2, "avx2"},
                           {Isa::avx512, "avx512"}, {Isa::avx512_bf16, "avx512_bf16"},
                           {Isa::amx, "amx"},       {Isa::neon, "neon"}};

struct List {
  Isa isas[std::size(kNames)];
  size_t size = 0;
  void add(Isa isa) { isas[size++] = isa; }
};

#if defined(__x86_64__)

struct Cpuid {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  Cpuid(uint32_t leaf, uint32_t subleaf) {
    __get_cpuid_count(leaf, subleaf, &eax, &ebx, &ecx, &edx);
  }
};

// Register state that the system saves: without it an instruction set is there, but not to be used.
uint64_t enabled_state() {
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

constexpr bool has_bits(uint64_t value, std::initializer_list<int> bits) {
  return std::all_of(bits.begin(), bits.end(), [&](int bit) { return value >> bit & 1; });
}

// Linux grants tile registers to a process that asks.
bool tiles_granted() {
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // asm/prctl.h of Linux 5.16
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

List detect() {
  List list;
  list.add(Isa::scalar);
  const Cpuid basic(1, 0), extended(7, 0);
  constexpr int kFma = 12, kOsxsave = 27, kAvx = 28, kF16c = 29;
  if (!has_bits(basic.ecx, {kFma, kOsxsave, kAvx, kF16c})) return list;
  const uint64_t state = enabled_state();
  constexpr int kBmi1 = 3, kAvx2 = 5, kBmi2 = 8;
  if (!has_bits(state, {1, 2}) || !has_bits(extended.ebx, {kBmi1, kAvx2, kBmi2})) return list;
  list.add(Isa::avx2);
  constexpr int kAvx512f = 16, kAvx512dq = 17, kAvx512bw = 30, kAvx512vl = 31;
  constexpr int kVbmi = 1, kGfni = 8, kVnni = 11;
  if (!has_bits(state, {5, 6, 7}) ||
      !has_bits(extended.ebx, {kAvx512f, kAvx512dq, kAvx512bw, kAvx512vl}) ||
      !has_bits(extended.ecx, {kVbmi, kGfni, kVnni})) {
    return list;
  }
  list.add(Isa::avx512);
  constexpr int kBf16 = 5;
  if (!has_bits(Cpuid(7, 1).eax, {kBf16})) return list;
  list.add(Isa::avx512_bf16);
  constexpr int kAmxBf16 = 22, kAmxTile = 24, kAmxInt8 = 25;
  if (has_bits(state, {17, 18}) && has_bits(extended.edx, {kAmxBf16, kAmxTile, kAmxInt8}) &&
      tiles_granted()) {
    list.add(Isa::amx);
  }
  return list;
}

#elif defined(__aarch64__)

// All of Apple's have them.
bool has_dot_products() {
#if defined(__linux__)
  constexpr unsigned long kAsimdDp = 1 << 20;  // asm/hwcap.h
  return (getauxval(AT_HWCAP) & kAsimdDp) != 0;
#else
  return true;
#endif
}

List detect() {
  List list;
  list.add(Isa::scalar);
  if (has_dot_products()) list.add(Isa::neon);
  return list;
}

#else

List detect() {
  List list;
  list.add(Isa::scalar);
  return list;
}

#endif

}  // namespace

std::string_view name(Isa isa) {
  for (const Name& row : kNames) {
    if (row.isa == isa) return row.name;
  }
  return {};
}

std::optional<Isa> parse_isa(std::string_view name) {
  for (const Name& row : kNames) {
    if (row.name == name) return row.isa;
  }
  return std::nullopt;
}

std::span<const Isa> usable_isas() {
  static const List list = detect();
  return {list.isas, list.size};
}

bool usable(Isa isa) {
  const auto isas = usable_isas();
  return std::find(isas.begin(), isas.end(), isa) != isas.end();
}

Isa best_isa() { return usable_isas().back(); }

}  // namespace lamella::cpu
