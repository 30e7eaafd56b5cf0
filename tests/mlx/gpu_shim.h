// The dialect of backends/mlx/gpu_source.h as C++: a kernel's threads are coroutines that take
// turns at barriers, so that what a GPU compiles can be run, and be wrong, on the CPU.
#pragma once

namespace lamella::test {

// Behind it stand gpu_elements(), a decoder, and functions that shim_run is called with.
inline constexpr const char* kShimPrelude = R"(
#include <ucontext.h>
#include <cmath>
#include <cstring>
#include <vector>
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char schar;
struct uint3 { unsigned x, y, z; };
typedef _Float16 shim_half;
struct shim_bf16 {
  u16 bits;
  shim_bf16() {}
  explicit shim_bf16(float v) {
    u32 b;
    memcpy(&b, &v, 4);
    bits = (b + 0x7fff + (b >> 16 & 1)) >> 16;
  }
  operator float() const {
    const u32 b = (u32)bits << 16;
    float v;
    memcpy(&v, &b, 4);
    return v;
  }
};
#define FN static inline
#define TABLE static const
#define GLOBAL
#define LOCAL
#define SHARED static
#define BARRIER shim_barrier()
#define UNROLLED
#define UNROLLED_BY_8
#define INF __builtin_inff()
#define MUL(a, b) ((a) * (b))
#define SUB(a, b) ((a) - (b))
#define EXP(x) expf(x)
#define TANH(x) tanhf(x)
#define ERF(x) erff(x)
#define SQRT(x) sqrtf(x)
struct Thread { ucontext_t context; std::vector<char> stack; bool is_done; };
static ucontext_t shim_main;
static std::vector<Thread> shim_threads;
static int shim_local;
static uint3 shim_group, shim_groups;
static float shim_lanes[1024];
static void (*shim_kernel)();
static void shim_wait() {
  const int me = shim_local;
  swapcontext(&shim_threads[me].context, &shim_main);
  shim_local = me;
}
// Warps may come to a barrier after different numbers of turns.
static int shim_arrived, shim_barriers;
static void shim_barrier() {
  const int before = shim_barriers;
  ++shim_arrived;
  while (shim_barriers == before) shim_wait();
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
FN void two_words(const void* b, u32* q) { memcpy(q, b, 8); }
FN void four_words(const void* b, u32* q) { memcpy(q, b, 16); }
template <class T>
FN void load_four(const T* p, float* v) { for (int j = 0; j < 4; ++j) v[j] = (float)p[j]; }
template <class T>
FN void store_eight(T* p, const float* v) { for (int j = 0; j < 8; ++j) p[j] = T(v[j]); }
static void shim_start() {
  const int me = shim_local;
  shim_kernel();
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
  shim_arrived = 0;
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    int n_running = 0;
    for (int t = 0; t < n_threads; ++t) {
      if (shim_threads[t].is_done) continue;
      shim_local = t;
      swapcontext(&shim_main, &shim_threads[t].context);
      goes_on = true;
      n_running += !shim_threads[t].is_done;
    }
    if (shim_arrived == n_running && n_running > 0) {
      shim_arrived = 0;
      ++shim_barriers;
    }
  }
}
static void shim_run(void (*kernel)(), int groups_x, int groups_y, int n_threads) {
  shim_kernel = kernel;
  shim_groups = {(unsigned)groups_x, (unsigned)groups_y, 1};
  for (int j = 0; j < groups_y; ++j)
    for (int i = 0; i < groups_x; ++i) {
      shim_group = {(unsigned)i, (unsigned)j, 0};
      shim_run_group(n_threads);
    }
}
)";

inline constexpr const char* kShimPlaces =
    "const uint3 group_at = shim_group, groups = shim_groups; const int local_at = shim_local;\n";

}  // namespace lamella::test
