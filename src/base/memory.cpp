#include "lamella/base/memory.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace lamella {
namespace {

constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

// The number at the start of a file; nothing where there is none ("max").
std::optional<int64_t> number_in(const char* path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number && number >= 0) return number;
  return std::nullopt;
}

// The value in bytes of a line "NAME:  1234 kB".
std::optional<int64_t> kib_line(const char* path, const std::string& name) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    int64_t kib = 0;
    if (word == name && file >> kib) return kib * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

// What a control group's limit leaves; its file cache can be given back.
std::optional<int64_t> left_in_group(const char* limit_path, const char* used_path) {
  const auto limit = number_in(limit_path), used = number_in(used_path);
  if (!limit || !used) return std::nullopt;
  return std::max<int64_t>(*limit - *used, 0);
}

}  // namespace

void* allocate_aligned(size_t bytes) {
  constexpr size_t kLine = 64, kLargePage = size_t{2} << 20, kWorthLargePages = 4 * kLargePage;
  const size_t align = bytes >= kWorthLargePages ? kLargePage : kLine;
  const size_t padded = (std::max<size_t>(bytes, 1) + align - 1) / align * align;
  if (padded < bytes) return nullptr;
  void* memory = std::aligned_alloc(align, padded);
#ifdef MADV_HUGEPAGE
  if (memory && align == kLargePage) (void)::madvise(memory, padded, MADV_HUGEPAGE);
#endif
  return memory;
}

int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
  return usage.ru_maxrss;
#else
  return usage.ru_maxrss * 1024;
#endif
}

int64_t available_memory_bytes() {
  const int64_t machine = kib_line("/proc/meminfo", "MemAvailable:").value_or(kUnknown);
  const auto group = left_in_group("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current");
  return std::min(machine, group.value_or(kUnknown));
}

}  // namespace lamella
