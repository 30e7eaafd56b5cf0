#include "lamella/backends/cpu/kernels.h"
namespace lamella::cpu {
std::span<const planned::Row> reduce_rows() { return {}; }
}
