// Runs a fuzz target without libFuzzer: every corpus file as it is, then seeded mutations of them.
// Input i depends only on the corpus, the seed and i, so a failure is repeated alone by the command
// that is printed.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kMaxBytes = 1 << 20;
constexpr unsigned kSecondsAnInput = 10;  // more is a hang

struct Options {
  std::string corpus;
  uint64_t seed = 1;
  int64_t n_inputs = 20000;
  double seconds = 8;
  int64_t only = -1;
};

// What to print when an input kills the process; kept up to date before each input.
char repeat_command[1024];

void print_repeat_command() {
  const size_t n = strlen(repeat_command);
  if (write(STDERR_FILENO, repeat_command, n) < 0) _exit(1);
}

void on_signal(int number) {
  print_repeat_command();
  if (number == SIGALRM) _exit(1);
  signal(number, SIG_DFL);
  raise(number);
}

std::vector<Bytes> read_corpus(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code ec;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ec))
    if (entry.is_regular_file()) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> corpus;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

// Plain arithmetic instead of std::uniform_int_distribution, whose results differ between
// libraries.
size_t below(std::mt19937_64& rng, size_t n) { return n == 0 ? 0 : rng() % n; }

void mutate(Bytes& data, const std::vector<Bytes>& corpus, std::mt19937_64& rng) {
  static constexpr uint64_t kEdges[] = {0,      1,          0x7f,       0x80,       0xff, 0x7fff,
                                        0xffff, 0x7fffffff, 0xffffffff, ~0ull >> 1, ~0ull};
  const size_t at = below(rng, data.size());
  const size_t n = std::min(below(rng, 32) + 1, data.size() - at);
  switch (below(rng, 8)) {
    case 0:  // flip a bit
      if (!data.empty()) data[at] ^= uint8_t(1) << below(rng, 8);
      break;
    case 1:  // set a byte
      if (!data.empty()) data[at] = uint8_t(rng());
      break;
    case 2: {  // a number at a limit, little-endian
      const uint64_t value = kEdges[below(rng, std::size(kEdges))];
      memcpy(data.data() + at, &value,
             std::min({data.size() - at, size_t(1) << below(rng, 4), sizeof value}));
      break;
    }
    case 3:  // truncate
      data.resize(at);
      break;
    case 4:  // remove
      data.erase(data.begin() + long(at), data.begin() + long(at + n));
      break;
    case 5: {  // repeat
      const Bytes part(data.begin() + long(at), data.begin() + long(at + n));
      data.insert(data.begin() + long(at), part.begin(), part.end());
      break;
    }
    case 6: {  // a piece of another input
      const Bytes& other = corpus[below(rng, corpus.size())];
      const size_t from = below(rng, other.size());
      const size_t count = std::min(below(rng, 64) + 1, other.size() - from);
      data.insert(data.begin() + long(at), other.begin() + long(from),
                  other.begin() + long(from + count));
      break;
    }
    case 7:  // random bytes
      for (size_t i = 0; i < n; ++i) data[at + i] = uint8_t(rng());
      break;
  }
  if (data.size() > kMaxBytes) data.resize(kMaxBytes);
}

Bytes input(const std::vector<Bytes>& corpus, uint64_t seed, int64_t index) {
  if (index < int64_t(corpus.size())) return corpus[size_t(index)];
  std::mt19937_64 rng(seed * 0x9e3779b97f4a7c15ull + uint64_t(index));
  Bytes data = corpus[below(rng, corpus.size())];
  for (size_t n = 1 + below(rng, 8); n > 0; --n) mutate(data, corpus, rng);
  return data;
}

int usage(const char* program) {
  fprintf(stderr, "usage: %s CORPUS_FOLDER [--seed N] [--inputs N] [--seconds S] [--only INPUT]\n",
          program);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (argc < 2 || argc % 2 != 0) return usage(argv[0]);
  options.corpus = argv[1];
  for (int i = 2; i < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--seed")
      options.seed = strtoull(argv[i + 1], nullptr, 10);
    else if (flag == "--inputs")
      options.n_inputs = atoll(argv[i + 1]);
    else if (flag == "--seconds")
      options.seconds = atof(argv[i + 1]);
    else if (flag == "--only")
      options.only = atoll(argv[i + 1]);
    else
      return usage(argv[0]);
  }
  std::vector<Bytes> corpus = read_corpus(options.corpus);
  if (corpus.empty()) {
    fprintf(stderr, "%s: no corpus files in %s\n", argv[0], options.corpus.c_str());
    return 1;
  }
  for (int number : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS, SIGALRM}) signal(number, on_signal);
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(print_repeat_command);
  const auto start = std::chrono::steady_clock::now();
  const int64_t end = std::max(options.n_inputs, int64_t(corpus.size()));
  int64_t n_run = 0;
  for (int64_t i = 0; i < end; ++i) {
    if (options.only >= 0 && i != options.only) continue;
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    if (i >= int64_t(corpus.size()) && options.only < 0 && spent.count() > options.seconds) break;
    snprintf(repeat_command, sizeof repeat_command, "\nrerun: %s %s --seed %llu --only %lld\n",
             argv[0], options.corpus.c_str(), static_cast<unsigned long long>(options.seed),
             static_cast<long long>(i));
    const Bytes data = input(corpus, options.seed, i);
    alarm(kSecondsAnInput);
    LLVMFuzzerTestOneInput(data.data(), data.size());
    alarm(0);
    ++n_run;
  }
  printf("%lld inputs, seed %llu\n", static_cast<long long>(n_run),
         static_cast<unsigned long long>(options.seed));
  return 0;
}
