// What the system says of memory: its own and this process's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lamella {

// Memory at a multiple of 64, null when there is none; std::free gives it back. Much of it comes in
// large pages where the system has them, and is refused where available_memory_bytes() are less:
// the system would grant it, and end the process when it is written.
void* allocate_aligned(size_t bytes);

// Largest resident size of this process so far, in bytes.
int64_t peak_rss_bytes();

// What this process could still take without swapping, in bytes: what the machine has left, or its
// control group where that is less. Nothing known: the largest number.
int64_t available_memory_bytes();

}  // namespace lamella
