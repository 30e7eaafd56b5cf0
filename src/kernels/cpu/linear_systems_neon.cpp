#define LAMELLA_ISA neon
#define LAMELLA_LANES 4
#include "lamella/kernels/cpu/linear_systems_impl.h"
