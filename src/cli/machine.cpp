#include "lamella/cli/machine.h"

#include "lamella/base/cores.h"

namespace lamella::cli {

int usable_threads(int threads) { return threads > 0 ? threads : usable_cores(); }

Machine measure_machine(int threads, std::optional<cpu::Isa> wanted) {
  ThreadPool pool(usable_threads(threads));
  const cpu::Isa isa = wanted.value_or(cpu::best_isa());
  return {pool.size(), std::string(cpu::name(isa)), cpu::measure_limits(isa, pool)};
}

}  // namespace lamella::cli
