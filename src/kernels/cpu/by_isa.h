// A table of kernels has one variant an instruction set, in the namespaces scalar, avx2, avx512
// (which newer sets take too) and neon. Only those of the target's architecture are compiled.
#pragma once

#include "lamella/kernels/cpu/isa.h"

// Declares the variants of the table `name`.
#define LAMELLA_TABLE(Type, name) \
  namespace scalar {              \
  extern const Type name;         \
  }                               \
  namespace avx2 {                \
  extern const Type name;         \
  }                               \
  namespace avx512 {              \
  extern const Type name;         \
  }                               \
  namespace neon {                \
  extern const Type name;         \
  }

// The variant for `isa`, one of usable_isas(). A macro, as the others may not even be named: they
// are not linked.
#if defined(__x86_64__)
#define LAMELLA_BY_ISA(isa, table) \
  ((isa) == Isa::scalar ? scalar::table : (isa) == Isa::avx2 ? avx2::table : avx512::table)
#elif defined(__aarch64__)
#define LAMELLA_BY_ISA(isa, table) ((isa) == Isa::neon ? neon::table : scalar::table)
#else
#define LAMELLA_BY_ISA(isa, table) (static_cast<void>(isa), scalar::table)
#endif
