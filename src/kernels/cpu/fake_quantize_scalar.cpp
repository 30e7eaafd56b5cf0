#define LAMELLA_ISA scalar
#define LAMELLA_LANES 1
#include "lamella/kernels/cpu/fake_quantize_impl.h"
