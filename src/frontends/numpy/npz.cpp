#include "lamella/base/error.h"
#include "lamella/base/mapped_file.h"
#include "lamella/base/text.h"
#include "lamella/frontends/numpy/npy.h"
#include "lamella/frontends/numpy/zip.h"

namespace lamella {

std::map<std::string, Tensor> parse_npz(std::span<const uint8_t> bytes, const std::string& path) {
  constexpr std::string_view kEnding = ".npy";
  std::map<std::string, Tensor> out;
  for (const zip::Member& m : zip::members(bytes, path)) {
    std::string name = m.name;
    if (name.size() > kEnding.size() && name.ends_with(kEnding))
      name.resize(name.size() - kEnding.size());
    Tensor t = parse_npy(zip::unpack(m, path), str(path, ": '", printable(m.name), "'"));
    CHECK_USER(out.emplace(name, std::move(t)).second, path, ": '", printable(name),
               "' is there twice");
  }
  return out;
}

std::map<std::string, Tensor> read_npz(const std::string& path) {
  const MappedFile file = MappedFile::open(path);
  return parse_npz(file.bytes(), path);
}

}  // namespace lamella
