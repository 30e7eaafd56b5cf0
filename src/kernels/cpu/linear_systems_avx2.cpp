#define LAMELLA_ISA avx2
#define LAMELLA_LANES 8
#include "lamella/kernels/cpu/linear_systems_impl.h"
