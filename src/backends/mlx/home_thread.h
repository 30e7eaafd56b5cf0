// A thread of its own for what must stay on one: MLX keeps what it has compiled by thread.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace lamella::on_mlx {

class HomeThread {
 public:
  HomeThread() : thread_([this] { serve(); }) {}
  ~HomeThread();
  HomeThread(const HomeThread&) = delete;
  HomeThread& operator=(const HomeThread&) = delete;

  // Runs `task` there, waits for it, and throws what it threw. One caller at a time.
  void run(std::function<void()> task);

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> task_;  // none while the thread waits
  std::exception_ptr problem_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace lamella::on_mlx
