#define LAMELLA_ISA scalar
#define LAMELLA_LANES 1
#include "lamella/kernels/cpu/kv_append_impl.h"
