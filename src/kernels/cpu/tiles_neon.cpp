#define LAMELLA_ISA neon
#define LAMELLA_LANES 4
#include "lamella/kernels/cpu/tiles_impl.h"
