// A run that was asked to stop: by a flag that another thread or a signal handler sets.
#pragma once

#include <atomic>

#include "lamella/base/error.h"

namespace lamella {

class Cancelled : public UserError {
 public:
  Cancelled() : UserError("run: cancelled") {}
};

using CancelFlag = std::atomic<bool>;

// Throws Cancelled when the flag (may be null) is set.
inline void check_cancelled(const CancelFlag* flag) {
  if (flag && flag->load(std::memory_order_relaxed)) [[unlikely]]
    throw Cancelled();
}

}  // namespace lamella
