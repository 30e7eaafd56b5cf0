#include "lamella/cli/interrupt.h"

#include <csignal>

namespace lamella::cli {
namespace {

CancelFlag flag{false};  // set by the signal handler, which can reach nothing else

void on_interrupt(int) { flag.store(true); }

}  // namespace

void catch_interrupts() {
  flag.store(false);
  // The handler holds for one signal, and what waits for input is woken.
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}

const CancelFlag& interrupted() { return flag; }

}  // namespace lamella::cli
