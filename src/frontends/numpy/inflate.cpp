// DEFLATE, RFC 1951.
#include <algorithm>
#include <array>

#include "lamella/frontends/numpy/zip.h"

namespace lamella::zip {
namespace {

constexpr int kMaxBits = 15;
constexpr size_t kWindow = 32768;

class Bits {
 public:
  explicit Bits(std::span<const uint8_t> in) : in_(in) {}

  bool failed() const { return failed_; }
  uint32_t take(int n) {
    while (n_bits_ < n) {
      if (at_ == in_.size()) return failed_ = true, 0u;
      bits_ |= static_cast<uint32_t>(in_[at_++]) << n_bits_;
      n_bits_ += 8;
    }
    const uint32_t value = bits_ & ((1u << n) - 1);
    bits_ >>= n;
    n_bits_ -= n;
    return value;
  }
  // Forgets the rest of a byte.
  void align() { bits_ = 0, n_bits_ = 0; }
  std::span<const uint8_t> bytes(size_t n) {
    if (n > in_.size() - at_) return failed_ = true, std::span<const uint8_t>();
    at_ += n;
    return in_.subspan(at_ - n, n);
  }

 private:
  std::span<const uint8_t> in_;
  size_t at_ = 0;
  uint32_t bits_ = 0;
  int n_bits_ = 0;
  bool failed_ = false;
};

// A canonical prefix code: how many symbols there are of each length, and the symbols in order.
struct Code {
  std::array<uint16_t, kMaxBits + 1> count{};
  std::vector<uint16_t> symbols;

  // False when more codes are given than there are.
  bool build(std::span<const uint8_t> lengths) {
    count.fill(0);
    for (uint8_t n : lengths) ++count[n];
    count[0] = 0;
    int left = 1;
    std::array<uint16_t, kMaxBits + 2> first{};
    for (int n = 1; n <= kMaxBits; ++n) {
      left = 2 * left - count[static_cast<size_t>(n)];
      if (left < 0) return false;
      first[static_cast<size_t>(n) + 1] =
          static_cast<uint16_t>(first[static_cast<size_t>(n)] + count[static_cast<size_t>(n)]);
    }
    symbols.assign(lengths.size(), 0);
    for (size_t s = 0; s < lengths.size(); ++s)
      if (lengths[s] != 0) symbols[first[lengths[s]]++] = static_cast<uint16_t>(s);
    return true;
  }
  // -1 where no code begins like this.
  int read(Bits& in) const {
    int code = 0, first = 0, index = 0;
    for (int n = 1; n <= kMaxBits && !in.failed(); ++n) {
      code |= static_cast<int>(in.take(1));
      const int here = count[static_cast<size_t>(n)];
      if (code - first < here) return symbols[static_cast<size_t>(index + code - first)];
      index += here;
      first = (first + here) << 1;
      code <<= 1;
    }
    return -1;
  }
};

constexpr uint16_t kLengthBase[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                    31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
constexpr uint8_t kLengthBits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                   2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
constexpr uint16_t kDistanceBase[] = {
    1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
    193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
constexpr uint8_t kLengthOrder[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                    11, 4,  12, 3, 13, 2, 14, 1, 15};

class Inflater {
 public:
  Inflater(std::span<const uint8_t> in, uint64_t size, std::vector<uint8_t>& out)
      : in_(in), size_(size), out_(out) {}

  bool run() {
    bool is_last = false;
    while (!is_last) {
      is_last = in_.take(1) == 1;
      const uint32_t kind = in_.take(2);
      const bool ok = kind == 0   ? stored()
                      : kind == 1 ? fixed_codes() && symbols()
                      : kind == 2 ? own_codes() && symbols()
                                  : false;
      if (!ok || in_.failed()) return false;
    }
    return out_.size() == size_;
  }

 private:
  bool stored() {
    in_.align();
    const auto head = in_.bytes(4);
    if (head.size() != 4) return false;
    const uint32_t n = head[0] | head[1] << 8, check = head[2] | head[3] << 8;
    const auto data = in_.bytes(n);
    if (n != (check ^ 0xffff) || in_.failed() || n > size_ - out_.size()) return false;
    out_.insert(out_.end(), data.begin(), data.end());
    return true;
  }

  bool fixed_codes() {
    std::array<uint8_t, 288> lengths;
    std::fill_n(lengths.begin(), 144, uint8_t{8});
    std::fill(lengths.begin() + 144, lengths.begin() + 256, uint8_t{9});
    std::fill(lengths.begin() + 256, lengths.begin() + 280, uint8_t{7});
    std::fill(lengths.begin() + 280, lengths.end(), uint8_t{8});
    std::array<uint8_t, 30> distances;
    distances.fill(5);
    return literal_.build(lengths) && distance_.build(distances);
  }

  bool own_codes() {
    const size_t n_literals = in_.take(5) + 257, n_distances = in_.take(5) + 1,
                 n_lengths = in_.take(4) + 4;
    if (n_literals > 286 || n_distances > 30) return false;
    std::array<uint8_t, 19> of_lengths{};
    for (size_t i = 0; i < n_lengths; ++i)
      of_lengths[kLengthOrder[i]] = static_cast<uint8_t>(in_.take(3));
    Code code;
    if (!code.build(of_lengths)) return false;
    std::array<uint8_t, 286 + 30> lengths{};
    const size_t n = n_literals + n_distances;
    for (size_t i = 0; i < n;) {
      const int symbol = code.read(in_);
      if (symbol < 0 || in_.failed()) return false;
      if (symbol < 16) {
        lengths[i++] = static_cast<uint8_t>(symbol);
        continue;
      }
      if (symbol == 16 && i == 0) return false;
      const uint8_t value = symbol == 16 ? lengths[i - 1] : 0;
      size_t repeat = symbol == 16   ? in_.take(2) + 3
                      : symbol == 17 ? in_.take(3) + 3
                                     : in_.take(7) + 11;
      if (repeat > n - i) return false;
      while (repeat-- > 0) lengths[i++] = value;
    }
    const std::span<const uint8_t> all(lengths);
    return literal_.build(all.first(n_literals)) &&
           distance_.build(all.subspan(n_literals, n_distances));
  }

  bool symbols() {
    while (!in_.failed()) {
      const int symbol = literal_.read(in_);
      if (symbol == 256) return true;
      if (symbol < 0 || symbol > 285 || out_.size() >= size_) return false;
      if (symbol < 256) {
        out_.push_back(static_cast<uint8_t>(symbol));
      } else if (!copy(static_cast<size_t>(symbol - 257))) {
        return false;
      }
    }
    return false;
  }

  bool copy(size_t length_code) {
    const size_t n = kLengthBase[length_code] + in_.take(kLengthBits[length_code]);
    const int symbol = distance_.read(in_);
    if (symbol < 0 || symbol > 29) return false;
    const int extra = symbol < 2 ? 0 : symbol / 2 - 1;
    const size_t back = kDistanceBase[symbol] + in_.take(extra);
    if (in_.failed() || back > std::min(out_.size(), kWindow) || n > size_ - out_.size())
      return false;
    for (size_t i = 0; i < n; ++i) out_.push_back(out_[out_.size() - back]);
    return true;
  }

  Bits in_;
  uint64_t size_;
  std::vector<uint8_t>& out_;
  Code literal_, distance_;
};

}  // namespace

bool inflate(std::span<const uint8_t> in, uint64_t size, std::vector<uint8_t>& out) {
  out.clear();
  return Inflater(in, size, out).run();
}

}  // namespace lamella::zip
