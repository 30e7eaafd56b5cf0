#include "lamella/backends/mlx/home_thread.h"

#include <utility>

namespace lamella::on_mlx {

HomeThread::~HomeThread() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void HomeThread::run(std::function<void()> task) {
  std::unique_lock lock(mutex_);
  task_ = std::move(task);
  changed_.notify_all();
  changed_.wait(lock, [&] { return !task_; });
  if (problem_) std::rethrow_exception(std::exchange(problem_, nullptr));
}

void HomeThread::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return task_ || ends_; });
    if (ends_) return;
    try {
      task_();
    } catch (...) {
      problem_ = std::current_exception();
    }
    task_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace lamella::on_mlx
