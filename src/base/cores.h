// How many threads are worth having.
#pragma once

namespace lamella {

// Cores that this process may run on; at least 1.
int usable_cores();

}  // namespace lamella
