// What the system says of memory: its own and this process's.
#pragma once

#include <cstdint>

namespace lamella {

// Largest resident size of this process so far, in bytes.
int64_t peak_rss_bytes();

// What this process could still take without swapping, in bytes: what the machine has left, or its
// control group where that is less. Nothing known: the largest number.
int64_t available_memory_bytes();

}  // namespace lamella
