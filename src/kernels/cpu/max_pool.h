// The largest elements under windows. Not one element is read from beyond the input.
#pragma once

#include "lamella/kernels/cpu/conv.h"

namespace lamella::cpu {

// narrow from wide, a channel an image of the batch: one group, one channel, no w. `places`, if not
// null, gets where in its channel the first of the largest elements lies.
Status max_pool(const ConvJob& job, int64_t* places, ThreadPool& pool, Isa isa);

}  // namespace lamella::cpu
