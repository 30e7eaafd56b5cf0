#define LAMELLA_ISA avx512
#define LAMELLA_LANES 16
#include "lamella/kernels/cpu/linear_systems_impl.h"
