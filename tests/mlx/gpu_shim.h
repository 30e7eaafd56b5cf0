// The dialect of backends/mlx/gpu_source.h as C++: a kernel's threads are coroutines that take
// turns at barriers, so that what a GPU compiles can be run, and be wrong, on the CPU.
#pragma once

namespace lamella::test {

inline constexpr const char* kShimPrelude = R"(
#include <ucontext.h>
#include <cstring>
#include <vector>
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char schar;
struct uint3 { unsigned x, y, z; };
#define FN static inline
#define TABLE static const
#define GLOBAL
#define LOCAL
#define SHARED static
#define BARRIER shim_wait()
#define MUL(a, b) ((a) * (b))
#define SUB(a, b) ((a) - (b))
struct Thread { ucontext_t context; std::vector<char> stack; bool is_done; };
static ucontext_t shim_main;
static std::vector<Thread> shim_threads;
static int shim_local;
static uint3 shim_group;
static float shim_lanes[1024];
static void (*shim_kernel)(const float*, const u8*, const int*, const int*, float*);
static const float* shim_x; static const u8* shim_w; static const int *shim_at, *shim_sizes;
static float* shim_y;
static void shim_wait() {
  const int me = shim_local;
  swapcontext(&shim_threads[me].context, &shim_main);
  shim_local = me;
}
static float shim_sum(float x, int me) {
  shim_lanes[me] = x;
  shim_wait();
  float total = 0;
  for (int i = 0; i < 32; ++i) total += shim_lanes[me / 32 * 32 + i];
  shim_wait();
  return total;
}
#define WARP_SUM(x) shim_sum(x, local_at)
FN float f32(u32 bits) { float v; memcpy(&v, &bits, 4); return v; }
FN float f16(u32 bits) { _Float16 v; u16 b = bits; memcpy(&v, &b, 2); return (float)v; }
FN void load_eight(const float* x, int at, int k, float* v) {
  for (int j = 0; j < 8; ++j) v[j] = at + j < k ? x[at + j] : 0.0f;
}
static void shim_start() {
  const int me = shim_local;
  shim_kernel(shim_x, shim_w, shim_at, shim_sizes, shim_y);
  shim_threads[me].is_done = true;
}
static void shim_run_group(int n_threads) {
  shim_threads.resize(n_threads);
  for (int t = 0; t < n_threads; ++t) {
    Thread& thread = shim_threads[t];
    thread.stack.resize(1 << 16);
    thread.is_done = false;
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = thread.stack.data();
    thread.context.uc_stack.ss_size = thread.stack.size();
    thread.context.uc_link = &shim_main;
    makecontext(&thread.context, shim_start, 0);
  }
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (int t = 0; t < n_threads; ++t) {
      if (shim_threads[t].is_done) continue;
      shim_local = t;
      swapcontext(&shim_main, &shim_threads[t].context);
      goes_on = true;
    }
  }
}
)";

inline constexpr const char* kShimPlaces =
    "const uint3 group_at = shim_group; const int local_at = shim_local;\n";

}  // namespace lamella::test
