// The safetensors reader on any bytes, as a file and as an index: it opens them or throws
// UserError, and what it opened can be read to the last byte.
#include <cstddef>
#include <cstdint>

#include "lamella/base/error.h"
#include "lamella/frontends/safetensors/safetensors.h"

namespace {

using namespace lamella;

void read_file(std::span<const uint8_t> bytes) {
  const auto file = safetensors::Safetensors::view(bytes, "fuzz.safetensors");
  const uint8_t* end = bytes.data() + bytes.size();
  for (const safetensors::Entry& e : file.entries()) {
    if (file.find(e.name) != &e) __builtin_trap();
    if (e.bytes.data() < bytes.data() || e.bytes.data() + e.bytes.size() > end) __builtin_trap();
    if (e.type->dtype.is_none()) continue;
    const Tensor t = file.tensor(e);
    if (t.bytes() != e.bytes.size()) __builtin_trap();
    volatile uint64_t sum = 0;
    for (size_t i = 0; i < t.bytes(); ++i) sum = sum + static_cast<uint64_t>(t.data()[i]);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    read_file({data, size});
  } catch (const UserError&) {
    // A bad file; any other exception is a bug and ends the process.
  }
  try {
    for (const auto& located : safetensors::parse_index({data, size}, "fuzz.json"))
      if (located.file.find('/') != std::string::npos) __builtin_trap();
  } catch (const UserError&) {
  }
  return 0;
}
