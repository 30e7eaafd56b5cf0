// What the system says of this process.
#pragma once

#include <cstdint>

namespace lamella::cli {

// Largest resident size so far, in bytes.
int64_t peak_rss_bytes();

}  // namespace lamella::cli
