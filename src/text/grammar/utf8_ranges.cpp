// Implements text/grammar/utf8_ranges.h.
#include "lamella/text/grammar/utf8_ranges.h"

#include <algorithm>
#include <string>

#include "lamella/text/utf8.h"

namespace lamella {
namespace {

// Cuts where the last i bytes do not run through all of 0x80 to 0xBF, for characters of one length.
void cut(uint32_t low, uint32_t high, std::vector<ByteRanges>& out) {
  std::string first, last;
  append_utf8(first, low), append_utf8(last, high);
  for (size_t i = first.size() - 1; i > 0; --i) {
    const uint32_t size = uint32_t{1} << (6 * i), rest = size - 1;
    if (low / size == high / size) continue;
    if (low & rest) return cut(low, low | rest, out), cut((low | rest) + 1, high, out);
    if ((high & rest) != rest)
      return cut(low, (high & ~rest) - 1, out), cut(high & ~rest, high, out);
  }
  ByteRanges r;
  r.n = first.size();
  for (size_t i = 0; i < r.n; ++i) {
    r.low[i] = static_cast<uint8_t>(first[i]);
    r.high[i] = static_cast<uint8_t>(last[i]);
  }
  out.push_back(r);
}

}  // namespace

std::vector<ByteRanges> utf8_ranges(const std::vector<CodeRange>& ranges) {
  constexpr uint32_t kLast[] = {0x7F, 0x7FF, 0xFFFF, 0x10FFFF};  // of one to four bytes
  std::vector<ByteRanges> out;
  for (const CodeRange& range : ranges) {
    uint32_t low = range.low;
    for (const uint32_t last : kLast) {
      if (low > last || low > range.high) continue;
      cut(low, std::min(last, range.high), out);
      low = last + 1;
    }
  }
  return out;
}

}  // namespace lamella
