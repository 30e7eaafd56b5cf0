// The layout of one file: header, metadata, tensor table, data.
#include "lamella/frontends/gguf/part.h"

#include <limits>

namespace lamella::gguf {
namespace {

// Far above any model, and low enough that the tables of a hostile file stay small.
constexpr uint64_t kMaxEntries = 1 << 16;
constexpr uint64_t kMaxTensors = 1 << 17;
constexpr uint64_t kMaxAlignment = 1 << 20;
constexpr uint32_t kMaxRank = 4;

// Type ids that some forks use for other formats: the size must prove the meaning.
constexpr uint32_t kAmbiguousIds[] = {40, 41, 42};

// a * b, or nothing on overflow of int64.
std::optional<int64_t> product(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

class Parser {
 public:
  Parser(std::span<const uint8_t> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  Part parse() {
    const auto [n_tensors, n_entries] = header();
    metadata(n_entries);
    const uint64_t alignment = this->alignment();
    tensor_table(n_tensors);
    data(alignment);
    return std::move(part_);
  }

 private:
  struct Counts {
    uint64_t tensors, entries;
  };

  size_t left() const { return bytes_.size() - at_; }

  // What is being read, for messages.
  std::string where() const {
    if (section_ == nullptr) return name_ + ": ";
    std::string out = str(name_, ": ", section_, " ", item_);
    if (!item_name_.empty()) out += " '" + printable(item_name_) + "'";
    return out + ": ";
  }

  const uint8_t* take(uint64_t size, const char* what) {
    CHECK_USER(size <= left(), where(), what, " is cut off by the end of the file; got ", left(),
               " bytes; want ", size);
    const uint8_t* result = bytes_.data() + at_;
    at_ += size;
    return result;
  }
  template <class T>
  T number(const char* what) {
    return encoding_.number<T>(take(sizeof(T), what));
  }
  uint64_t length(const char* what) {
    return encoding_.length(take(static_cast<uint64_t>(encoding_.length_bytes), what));
  }
  std::string_view string(const char* what) {
    const uint64_t size = length(what);
    CHECK_USER(size <= left(), where(), what, " is longer than the file; got length ", size,
               "; want at most ", left());
    return {reinterpret_cast<const char*>(take(size, what)), size};
  }

  Counts header() {
    CHECK_USER(left() >= 4 && std::memcmp(bytes_.data(), "GGUF", 4) == 0, name_,
               ": not a GGUF file; got ",
               left() == 0 ? std::string("an empty file")
                           : "'" +
                                 printable({reinterpret_cast<const char*>(bytes_.data()),
                                            std::min<size_t>(4, left())}) +
                                 "'",
               "; want 'GGUF' at the start");
    take(4, "magic");
    uint32_t version = number<uint32_t>("version");
    // A version has its low half used; where only the high half is, the file has the other byte
    // order.
    if ((version & 0xffff) == 0 && version != 0) {
      encoding_.swap = part_.big_endian = true;
      at_ -= 4;
      version = number<uint32_t>("version");
    }
    CHECK_USER(version >= 1 && version <= 3, name_, ": unknown GGUF version; got ", version,
               "; want 1 to 3");
    CHECK_USER(version == 3 || !part_.big_endian, name_, ": big-endian file of version ", version,
               "; want version 3, the first that has them");
    part_.version = version;
    encoding_.length_bytes = version == 1 ? 4 : 8;
    const uint64_t n_tensors = length("tensor count");
    const uint64_t n_entries = length("metadata count");
    // The shortest entries: empty key and an u8; empty name, no dims.
    const uint64_t entry_bytes = encoding_.length_bytes + 5,
                   tensor_bytes = encoding_.length_bytes + 16;
    check_count("tensor", n_tensors, std::min(kMaxTensors, left() / tensor_bytes));
    check_count("metadata", n_entries, std::min(kMaxEntries, left() / entry_bytes));
    return {n_tensors, n_entries};
  }

  void check_count(const char* what, uint64_t count, uint64_t limit) {
    CHECK_USER(count <= limit, name_, ": ", what, " count is too large for the file; got ", count,
               "; want at most ", limit);
  }

  void metadata(uint64_t n_entries) {
    section_ = "metadata";
    for (item_ = 0; item_ < n_entries; ++item_) {
      item_name_ = {};
      const std::string_view key = string("key");
      item_name_ = key;
      part_.metadata.push_back({key, value(type("value"))});
    }
    section_ = nullptr;
    part_.keys = sorted_index(std::span<const Entry>(part_.metadata), key_of);
    const Entry* twice = find_duplicate(std::span<const Entry>(part_.metadata), part_.keys, key_of);
    CHECK_USER(twice == nullptr, name_, ": metadata '", printable(twice->key),
               "' is there more than once; want different keys");
  }

  Type type(const char* what) {
    const auto id = number<uint32_t>("type");
    CHECK_USER(id < kTypes, where(), what, " has an unknown type; got ", id, "; want 0 to ",
               kTypes - 1);
    return static_cast<Type>(id);
  }

  Value value(Type type) {
    return with_type(type, [&]<class T>() -> Value {
      if constexpr (std::same_as<T, Array>) {
        return array();
      } else if constexpr (std::same_as<T, std::string_view>) {
        return string("string");
      } else if constexpr (std::same_as<T, bool>) {
        return boolean(take(1, "bool"));
      } else {
        return number<T>("number");
      }
    });
  }

  bool boolean(const uint8_t* byte) {
    CHECK_USER(*byte <= 1, where(), "bool is neither 0 nor 1; got ", int{*byte});
    return *byte == 1;
  }

  Array array() {
    Array result;
    result.element = type("array element");
    result.encoding = encoding_;
    CHECK_USER(result.element != Type::array, where(),
               "array of arrays; want an array of numbers, "
               "bools or strings");
    result.count = length("array count");
    const uint64_t least = with_type(result.element, [&]<class T>() -> uint64_t {
      return std::same_as<T, std::string_view> ? encoding_.length_bytes : sizeof(T);
    });
    CHECK_USER(result.count <= left() / least, where(), "array is longer than the file; got ",
               result.count, " elements; want at most ", left() / least);
    const size_t begin = at_;
    if (result.element == Type::string) {
      for (uint64_t i = 0; i < result.count; ++i) string("array element");
    } else {
      const uint8_t* data = take(result.count * least, "array");
      if (result.element == Type::boolean) {
        for (uint64_t i = 0; i < result.count; ++i) boolean(data + i);
      }
    }
    result.bytes = bytes_.subspan(begin, at_ - begin);
    return result;
  }

  uint64_t alignment() const {
    const Entry* entry = find_sorted(std::span<const Entry>(part_.metadata), part_.keys,
                                     "general.alignment", key_of);
    if (entry == nullptr) return 32;
    const auto alignment = convert<uint64_t>(entry->value);
    CHECK_USER(alignment && std::has_single_bit(*alignment) && *alignment <= kMaxAlignment, name_,
               ": metadata 'general.alignment' cannot be an alignment; got ",
               describe(entry->value), "; want a power of two up to ", kMaxAlignment);
    return *alignment;
  }

  void tensor_table(uint64_t n_tensors) {
    section_ = "tensor";
    for (item_ = 0; item_ < n_tensors; ++item_) {
      item_name_ = {};
      Tensor tensor;
      tensor.name = item_name_ = string("name");
      tensor.dims = dims();
      tensor.type_id = number<uint32_t>("type");
      tensor.file_offset = number<uint64_t>("offset");  // from the start of the data, until data()
      resolve_type(tensor);
      part_.tensors.push_back(std::move(tensor));
    }
    section_ = nullptr;
  }

  std::vector<int64_t> dims() {
    const auto rank = number<uint32_t>("number of dimensions");
    CHECK_USER(rank <= kMaxRank, where(), "too many dimensions; got ", rank, "; want at most ",
               kMaxRank);
    std::vector<int64_t> result(rank);
    int64_t elements = 1;
    for (uint32_t i = 0; i < rank; ++i) {
      const uint64_t dim = length("dimension");
      CHECK_USER(dim != 0, where(), "dimension ", i, " is 0; want at least 1");
      const bool fits = dim <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
      const auto all = fits ? product(elements, static_cast<int64_t>(dim)) : std::nullopt;
      CHECK_USER(all, where(), "more elements than any file holds; got dimension ", dim);
      elements = *all;
      result[rank - 1 - i] = static_cast<int64_t>(dim);
    }
    return result;
  }

  // Sets `plain` or `format`, or says in `problem` why neither.
  void resolve_type(Tensor& tensor) {
    for (const PlainType& plain : plain_types()) {
      if (plain.id == tensor.type_id) tensor.plain = &plain;
    }
    tensor.format = quant::find_gguf_format(tensor.type_id);
    if (tensor.plain == nullptr && tensor.format == nullptr) {
      tensor.problem = str("type id ", tensor.type_id, " is not known here");
    } else if (part_.big_endian && (tensor.plain == nullptr || tensor.plain->bytes > 1)) {
      tensor.problem = str("big-endian ", tensor.type_name(), " data cannot be used here");
    }
    if (tensor.format == nullptr) return;
    const int64_t k = tensor.dims.empty() ? 1 : tensor.dims.back();
    CHECK_USER(k % tensor.format->block == 0, where(), "rows are not whole blocks; got ", k,
               " elements of ", tensor.format->name, "; want a multiple of ", tensor.format->block);
  }

  // Bytes of a tensor of known type; nothing on overflow.
  static std::optional<int64_t> byte_size(const Tensor& tensor) {
    const int64_t elements = tensor.elements();
    if (tensor.plain != nullptr) return product(elements, tensor.plain->bytes);
    return product(elements / tensor.format->block, tensor.format->block_bytes());
  }

  // Places the tensors, which must lie in the data without touching one another.
  void data(uint64_t alignment) {
    if (part_.tensors.empty()) return;
    const uint64_t begin = (at_ + alignment - 1) / alignment * alignment;
    const uint64_t size = begin <= bytes_.size() ? bytes_.size() - begin : 0;
    std::vector<Tensor*> order;
    for (Tensor& tensor : part_.tensors) order.push_back(&tensor);
    std::stable_sort(order.begin(), order.end(), [](const Tensor* a, const Tensor* b) {
      return a->file_offset < b->file_offset;
    });
    uint64_t end = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      Tensor& tensor = *order[i];
      const uint64_t offset = tensor.file_offset;
      const auto at = [&] { return str(name_, ": tensor '", printable(tensor.name), "': "); };
      CHECK_USER(offset % alignment == 0, at(), "offset is not aligned; got ", offset,
                 "; want a multiple of ", alignment);
      CHECK_USER(offset <= size, at(), "starts beyond the end of the file; got offset ", offset,
                 "; want at most ", size, " (is the file cut off?)");
      CHECK_USER(offset >= end, at(), "overlaps tensor '",
                 printable(i > 0 ? order[i - 1]->name : ""), "'; got offset ", offset,
                 "; want at least ", end);
      const uint64_t next = i + 1 < order.size() ? std::min(order[i + 1]->file_offset, size) : size;
      const uint64_t bytes = extent(tensor, size - offset, next - offset, alignment);
      tensor.bytes = bytes_.subspan(begin + offset, bytes);
      tensor.file_offset = begin + offset;
      end = offset + bytes;
    }
  }

  // The size of a tensor's data. `room`: up to the end of the file; `gap`: up to the next tensor or
  // the end.
  uint64_t extent(Tensor& tensor, uint64_t room, uint64_t gap, uint64_t alignment) {
    if (tensor.plain == nullptr && tensor.format == nullptr) return gap;
    const auto want = byte_size(tensor);
    CHECK_USER(want && static_cast<uint64_t>(*want) <= room, name_, ": tensor '",
               printable(tensor.name), "': data is cut off by the end of the file; got ", room,
               " bytes; want ", want ? str(*want) : std::string("more than 2^63"));
    const auto bytes = static_cast<uint64_t>(*want);
    const bool ambiguous =
        std::count(std::begin(kAmbiguousIds), std::end(kAmbiguousIds), tensor.type_id) != 0;
    const uint64_t padded = (bytes + alignment - 1) / alignment * alignment;
    if (!ambiguous || gap == bytes || gap == padded) return bytes;
    tensor.problem =
        str("type id ", tensor.type_id, " is taken for ", tensor.format->name,
            ", but the data has another size (forks use the id for other formats); got ", gap,
            " bytes; want ", padded);
    return std::min(gap, bytes);
  }

  std::span<const uint8_t> bytes_;
  const std::string& name_;
  size_t at_ = 0;
  Encoding encoding_{.swap = std::endian::native == std::endian::big};
  const char* section_ = nullptr;
  uint64_t item_ = 0;
  std::string_view item_name_;
  Part part_;
};

}  // namespace

Part parse_part(std::span<const uint8_t> bytes, const std::string& name) {
  return Parser(bytes, name).parse();
}

}  // namespace lamella::gguf
