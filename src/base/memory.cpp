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

// The number of a line "NAME 1234".
std::optional<int64_t> number_of_line(const char* path, const std::string& name) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    int64_t number = 0;
    if (word == name && file >> number) return number;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

// Where a control group says what it may have and has. Version 1 has its own names.
struct GroupFiles {
  const char *limit, *used, *details, *cache;
};
constexpr GroupFiles kGroups[] = {
    {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat",
     "inactive_file"},
    {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
     "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file"},
};

// What a control group's limit leaves; of its file cache, what was not read again can be given
// back.
std::optional<int64_t> left_in_group(const GroupFiles& files) {
  const auto limit = number_in(files.limit), used = number_in(files.used);
  if (!limit || !used) return std::nullopt;
  const int64_t cache = number_of_line(files.details, files.cache).value_or(0);
  return std::max<int64_t>(*limit - *used + std::min(cache, *used), 0);
}

}  // namespace

void* allocate_aligned(size_t bytes) {
  constexpr size_t kLine = 64, kLargePage = size_t{2} << 20, kWorthLargePages = 4 * kLargePage;
  const size_t align = bytes >= kWorthLargePages ? kLargePage : kLine;
  const size_t padded = (std::max<size_t>(bytes, 1) + align - 1) / align * align;
  if (padded < bytes) return nullptr;
  // Asking takes tens of microseconds, far less than writing that much.
  constexpr size_t kWorthAsking = size_t{256} << 20;
  if (padded >= kWorthAsking && padded > static_cast<uint64_t>(available_memory_bytes()))
    return nullptr;
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
  const auto machine_kib = number_of_line("/proc/meminfo", "MemAvailable:");
  int64_t left = machine_kib ? *machine_kib * 1024 : kUnknown;
  for (const GroupFiles& files : kGroups)
    left = std::min(left, left_in_group(files).value_or(kUnknown));
  return left;
}

}  // namespace lamella
