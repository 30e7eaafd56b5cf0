// Bounds on work are of processor time: what else the machine does has no part in it.
#pragma once

#include <ctime>

namespace lamella::test {

// What this process has taken so far, in seconds.
inline double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace lamella::test
