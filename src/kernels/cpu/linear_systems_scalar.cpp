#define LAMELLA_ISA scalar
#define LAMELLA_LANES 1
#include "lamella/kernels/cpu/linear_systems_impl.h"
