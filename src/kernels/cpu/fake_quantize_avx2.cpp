#define LAMELLA_ISA avx2
#define LAMELLA_LANES 8
#include "lamella/kernels/cpu/fake_quantize_impl.h"
