// Maps files with POSIX mmap.
#include "lamella/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "lamella/base/error.h"

namespace lamella {
namespace {

// Closes a descriptor on every way out of open().
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

std::string reason(int code) { return std::generic_category().message(code); }

int system_advice(MappedFile::Advice advice) {
  constexpr std::pair<MappedFile::Advice, int> kTable[] = {
      {MappedFile::Advice::sequential, MADV_SEQUENTIAL},
      {MappedFile::Advice::random, MADV_RANDOM},
      {MappedFile::Advice::will_need, MADV_WILLNEED},
      {MappedFile::Advice::dont_need, MADV_DONTNEED},
  };
  for (const auto& [ours, theirs] : kTable) {
    if (ours == advice) return theirs;
  }
  return MADV_NORMAL;
}

}  // namespace

MappedFile MappedFile::open(const std::string& path) {
  CHECK_USER(path.find('\0') == std::string::npos, "file name contains a zero byte");
  // Without O_NONBLOCK, opening a named pipe would wait for its writer.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  CHECK_USER(file.fd >= 0, path, ": cannot open the file; ", reason(errno));
  struct stat info {};
  CHECK_USER(::fstat(file.fd, &info) == 0, path, ": cannot read the file's size; ", reason(errno));
  CHECK_USER(!S_ISDIR(info.st_mode), path, ": is a directory; want a file");
  CHECK_USER(S_ISREG(info.st_mode), path,
             ": is not a regular file; want a file that can be mapped");

  MappedFile result;
  result.path_ = path;
  result.size_ = static_cast<size_t>(info.st_size);
  if (result.size_ == 0) return result;  // mmap refuses empty ranges
  void* address = ::mmap(nullptr, result.size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (address == MAP_FAILED) {
    result.size_ = 0;
    throw UserError(str(path, ": cannot map the file; ", reason(errno)));
  }
  result.data_ = static_cast<const uint8_t*>(address);
#ifdef MADV_HUGEPAGE
  // What is not in the page cache yet is read into large pages, which later runs find there: where
  // weights are streamed from memory, looking up small pages costs a third of the bandwidth.
  (void)::madvise(address, result.size_, MADV_HUGEPAGE);
#endif
  return result;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      path_(std::move(other.path_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<uint8_t*>(data_), size_);
}

void MappedFile::advise(Advice advice, size_t offset, size_t size) const {
  if (data_ == nullptr || offset >= size_) return;
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t begin = offset / page * page;
  const size_t end = size < size_ - offset ? offset + size : size_;
  (void)::madvise(const_cast<uint8_t*>(data_) + begin, end - begin, system_advice(advice));
}

}  // namespace lamella
