// The readers of NumPy's files on any bytes: an array, an archive, a deflated stream.
#include <cstddef>
#include <cstdint>

#include "lamella/base/error.h"
#include "lamella/frontends/numpy/npy.h"
#include "lamella/frontends/numpy/zip.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lamella;
  try {
    for (const auto& [name, tensor] : parse_npz({data, size}, "fuzz.npz"))
      if (tensor.bytes() > 0 && !tensor.data()) __builtin_trap();
  } catch (const UserError&) {
    // A bad file; any other exception is a bug and ends the process.
  }
  try {
    parse_npy({data, size}, "fuzz.npy");
  } catch (const UserError&) {
  }
  std::vector<uint8_t> out;
  constexpr uint64_t kMost = 1 << 16;
  if (zip::inflate({data, size}, kMost, out) != (out.size() == kMost) && out.size() > kMost)
    __builtin_trap();
  return 0;
}
