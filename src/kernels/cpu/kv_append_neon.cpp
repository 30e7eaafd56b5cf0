#define LAMELLA_ISA neon
#define LAMELLA_LANES 4
#include "lamella/kernels/cpu/kv_append_impl.h"
