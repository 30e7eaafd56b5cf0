#include "lamella/cli/memory.h"

#include <sys/resource.h>

namespace lamella::cli {

int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
  return usage.ru_maxrss;
#else
  return usage.ru_maxrss * 1024;
#endif
}

}  // namespace lamella::cli
