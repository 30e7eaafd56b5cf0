// The GGUF reader on any bytes: it opens the file or throws UserError, and what it opened can be
// read to the last byte.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lamella/frontends/gguf/gguf.h"

namespace {

using namespace lamella;

// Reads every value the way a model does, as each type.
void read_metadata(const gguf::Gguf& file) {
  for (const gguf::Entry& entry : file.metadata()) {
    gguf::describe(entry.value);
    gguf::convert<int32_t>(entry.value);
    gguf::convert<float>(entry.value);
    gguf::convert<bool>(entry.value);
    gguf::convert<std::string>(entry.value);
    gguf::convert<std::vector<uint32_t>>(entry.value);
    gguf::convert<std::vector<float>>(entry.value);
    gguf::convert<std::vector<std::string_view>>(entry.value);
    if (file.find(entry.key) != &entry.value) __builtin_trap();
  }
}

uint64_t read_tensors(const gguf::Gguf& file) {
  uint64_t sum = 0;
  std::vector<float> values(quant::kMaxBlock);
  for (const gguf::Tensor& tensor : file.tensors()) {
    for (const uint8_t byte : tensor.bytes) sum += byte;
    if (file.find_tensor(tensor.name) != &tensor) __builtin_trap();
    if (!tensor.problem.empty()) continue;
    const int64_t bytes = tensor.plain != nullptr ? tensor.elements() * tensor.plain->bytes
                                                  : tensor.elements() / tensor.format->block *
                                                        tensor.format->block_bytes();
    if (bytes != static_cast<int64_t>(tensor.bytes.size())) __builtin_trap();
    if (tensor.format != nullptr) tensor.format->decode({tensor.bytes.data()}, values.data());
  }
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const gguf::Gguf file = gguf::Gguf::view({data, size}, "fuzz.gguf");
    read_metadata(file);
    volatile uint64_t sum = read_tensors(file);
    (void)sum;
  } catch (const UserError&) {
    // A bad file; any other exception is a bug and ends the process.
  }
  return 0;
}
