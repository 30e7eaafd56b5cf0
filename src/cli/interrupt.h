// Ctrl-C sets a flag, for what is running to stop by itself; a second one ends the process.
#pragma once

#include "lamella/base/cancelled.h"

namespace lamella::cli {

// From now on, or again after a Ctrl-C: the flag is cleared.
void catch_interrupts();

const CancelFlag& interrupted();

}  // namespace lamella::cli
