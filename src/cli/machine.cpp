#include "lamella/cli/machine.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace lamella::cli {
namespace {

// Cores that this process may run on.
int usable_cores() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace

int usable_threads(int threads) { return threads > 0 ? threads : usable_cores(); }

Machine measure_machine(int threads) {
  ThreadPool pool(usable_threads(threads));
  const cpu::Isa isa = cpu::best_isa();
  return {pool.size(), std::string(cpu::name(isa)), cpu::measure_limits(isa, pool)};
}

}  // namespace lamella::cli
