#include "lamella/backends/cpu/widened_launch.h"

#include <algorithm>
#include <vector>

#include "lamella/backends/cpu/operands.h"
#include "lamella/kernels/cpu/elem_types.h"
#include "lamella/kernels/cpu/scratch.h"

namespace lamella::cpu {
namespace {

constexpr int64_t kGrain = 4096;

bool is_narrow(DType dtype) { return dtype == kF16 || dtype == kBF16; }

template <class T>
void widen(const std::byte* from, float* to, int64_t n, ThreadPool& pool) {
  const T* x = reinterpret_cast<const T*>(from);
  pool.run_ranges(n, kGrain, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) to[i] = static_cast<float>(x[i]);
  });
}

template <class T>
void narrow(const float* from, std::byte* to, int64_t n, ThreadPool& pool) {
  T* y = reinterpret_cast<T*>(to);
  pool.run_ranges(n, kGrain, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) y[i] = T::from(from[i]);
  });
}

}  // namespace

bool is_f32_or_narrower(DType dtype) { return dtype == kF32 || is_narrow(dtype); }

planned::Status launch_in_f32(const planned::StepCx& cx, Launch launch) {
  const size_t n_in = cx.n_inputs(), n = n_in + cx.node().outputs.size();
  std::vector<planned::Operand> operands;
  int64_t bytes = 0;
  for (size_t i = 0; i < n; ++i) {
    operands.push_back(i < n_in ? cx.in(i) : cx.out(i - n_in));
    const planned::Operand& x = operands.back();
    if (x.data && is_narrow(x.dtype))
      bytes += Scratch::aligned(x.numel() * static_cast<int64_t>(sizeof(float)));
  }
  if (bytes == 0 && std::none_of(operands.begin(), operands.end(),
                                 [](const planned::Operand& x) { return is_narrow(x.dtype); }))
    return launch(cx);
  const Scratch memory(bytes);
  if (!memory.ok()) return {.code = planned::Status::no_memory};
  ThreadPool& pool = *device_of(cx).pool;
  const std::vector<planned::Operand> given = operands;
  int64_t at = 0;
  for (size_t i = 0; i < n; ++i) {
    planned::Operand& x = operands[i];
    if (!is_narrow(x.dtype) || !x.data) continue;
    float* wide = memory.at<float>(at);
    at += Scratch::aligned(x.numel() * static_cast<int64_t>(sizeof(float)));
    // Output 0 may be an input that is updated.
    if (i <= n_in) {
      const auto run = x.dtype == kF16 ? widen<f16> : widen<bf16>;
      run(x.data, wide, x.numel(), pool);
    }
    x.data = reinterpret_cast<std::byte*>(wide);
    x.dtype = kF32;
  }
  const planned::StepCx widened(cx.node(), operands, nullptr, cx.workspace(), &device_of(cx),
                                nullptr, 0, n_in);
  const planned::Status status = launch(widened);
  if (status.code) return status;
  for (size_t i = n_in; i < n; ++i) {
    if (!is_narrow(given[i].dtype) || !given[i].data) continue;
    const auto run = given[i].dtype == kF16 ? narrow<f16> : narrow<bf16>;
    run(reinterpret_cast<const float*>(operands[i].data), given[i].data, given[i].numel(), pool);
  }
  return status;
}

}  // namespace lamella::cpu
