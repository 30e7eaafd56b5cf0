// Read event by event, so that memory follows the tensors, not the nesting that a hostile text may
// have.
#include "lamella/frontends/safetensors/header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "lamella/base/error.h"
#include "lamella/base/text.h"

namespace lamella::safetensors {
namespace {

constexpr size_t kMaxTensors = 1 << 18, kMaxRank = 16;
constexpr uint64_t kMaxNumber = uint64_t{1} << 62;

constexpr ElementType kTypes[] = {
    // sorted:begin
    {"BF16", 16, kBF16}, {"BOOL", 8, kBool},      {"C64", 64, kComplex64}, {"F16", 16, kF16},
    {"F32", 32, kF32},   {"F4", 4, {}},           {"F64", 64, kF64},       {"F6_E2M3", 6, {}},
    {"F6_E3M2", 6, {}},  {"F8_E4M3", 8, kF8E4M3}, {"F8_E5M2", 8, kF8E5M2}, {"F8_E8M0", 8, {}},
    {"I16", 16, kI16},   {"I32", 32, kI32},       {"I64", 64, kI64},       {"I8", 8, kI8},
    {"U16", 16, kU16},   {"U32", 32, kU32},       {"U64", 64, kU64},       {"U8", 8, kU8},
    // sorted:end
};

// What both texts share: an object of entries by name; where something stands, for messages.
// `Self` has value events for what lies in the entries.
class Events : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Events(const std::string& file) : file_(file) {}

  bool null() override { return wrong("null"); }
  bool boolean(bool) override { return wrong("a bool"); }
  bool number_integer(number_integer_t n) override { return wrong(str(n)); }
  bool number_float(number_float_t, const string_t& text) override { return wrong(text); }
  bool binary(binary_t&) override { return wrong("bytes"); }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    throw UserError(str(file_, ": the header is not JSON; error at its byte ", position));
  }

 protected:
  [[noreturn]] bool wrong(const std::string& got) const {
    throw UserError(str(where(), ": unexpected value; got ", printable(got, 40)));
  }
  virtual std::string where() const = 0;

  const std::string& file_;
};

class HeaderEvents final : public Events {
 public:
  using Events::Events;
  std::vector<HeaderEntry> entries;

  bool start_object(size_t) override {
    if (depth_ == Depth::outside) {
      depth_ = Depth::top;
    } else if (depth_ == Depth::top && has_key_) {
      depth_ = name_ == "__metadata__" ? Depth::metadata : Depth::entry;
      entry_ = {};
      has_shape_ = false, n_offsets_ = -1;
    } else {
      wrong("an object");
    }
    return true;
  }
  bool key(string_t& text) override {
    if (depth_ == Depth::top) {
      name_ = text, has_key_ = true;
    } else if (depth_ == Depth::entry) {
      field_ = text;
    }
    return true;
  }
  bool string(string_t& text) override {
    if (depth_ == Depth::metadata) return true;
    if (depth_ != Depth::entry || field_ != "dtype") wrong("a text");
    CHECK_USER(!entry_.type, where(), ": has two dtypes");
    const auto types = element_types();
    const auto type = std::find_if(types.begin(), types.end(),
                                   [&](const ElementType& t) { return t.name == text; });
    CHECK_USER(type != types.end(), where(), ": unknown dtype; got '", printable(text, 40), "'");
    entry_.type = &*type;
    return true;
  }
  bool start_array(size_t) override {
    if (depth_ != Depth::entry) wrong("an array");
    if (field_ == "shape") {
      CHECK_USER(!has_shape_, where(), ": has two shapes");
      depth_ = Depth::shape, has_shape_ = true;
    } else if (field_ == "data_offsets") {
      CHECK_USER(n_offsets_ < 0, where(), ": has data_offsets twice");
      depth_ = Depth::offsets, n_offsets_ = 0;
    } else {
      wrong("an array");
    }
    return true;
  }
  bool number_unsigned(number_unsigned_t n) override {
    if (depth_ == Depth::shape) {
      CHECK_USER(n <= kMaxNumber, where(), ": size out of range; got ", n);
      CHECK_USER(entry_.shape.size() < kMaxRank, where(), ": has too many axes; want at most ",
                 kMaxRank);
      entry_.shape.push_back(static_cast<int64_t>(n));
    } else if (depth_ == Depth::offsets && n_offsets_ < 2) {
      (n_offsets_++ == 0 ? entry_.begin : entry_.end) = n;
    } else {
      wrong(str(n));
    }
    return true;
  }
  bool end_array() override {
    depth_ = Depth::entry;
    return true;
  }
  bool end_object() override {
    if (depth_ == Depth::top) return true;
    if (depth_ == Depth::entry) {
      CHECK_USER(entry_.type && has_shape_ && n_offsets_ == 2, where(),
                 ": incomplete; want dtype, "
                 "shape and two data_offsets");
      CHECK_USER(entries.size() < kMaxTensors, file_, ": too many tensors; want at most ",
                 kMaxTensors);
      entry_.name = name_;
      entries.push_back(std::move(entry_));
    }
    depth_ = Depth::top, has_key_ = false;
    return true;
  }

 private:
  enum class Depth { outside, top, metadata, entry, shape, offsets };

  std::string where() const override {
    return depth_ == Depth::outside || !has_key_ ? file_ + ": header"
                                                 : file_ + ": '" + printable(name_) + "'";
  }

  Depth depth_ = Depth::outside;
  bool has_key_ = false, has_shape_ = false;
  int n_offsets_ = -1;
  std::string name_, field_;
  HeaderEntry entry_;
};

// {"metadata": anything, "weight_map": {tensor: file}}
class IndexEvents final : public Events {
 public:
  using Events::Events;
  std::vector<Located> located;

  bool start_object(size_t) override { return enter(); }
  bool start_array(size_t) override { return depth_ == 0 ? wrong("an array") : enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool key(string_t& text) override {
    if (depth_ == 1) section_ = text;
    if (depth_ == 2) name_ = text;
    return true;
  }
  bool string(string_t& text) override {
    if (!is_map()) return true;
    CHECK_USER(depth_ == 2, where(), ": unexpected text in weight_map");
    CHECK_USER(!text.empty() && text.find_first_of("/\\") == std::string::npos && text[0] != '.',
               where(), ": not the name of a file beside the index; got '", printable(text, 60),
               "'");
    CHECK_USER(located.size() < kMaxTensors, file_, ": too many tensors; want at most ",
               kMaxTensors);
    located.push_back({name_, text});
    return true;
  }
  bool null() override { return is_map() ? wrong("null") : true; }
  bool boolean(bool) override { return is_map() ? wrong("a bool") : true; }
  bool number_integer(number_integer_t n) override { return is_map() ? wrong(str(n)) : true; }
  bool number_unsigned(number_unsigned_t n) override { return is_map() ? wrong(str(n)) : true; }
  bool number_float(number_float_t, const string_t& text) override {
    return is_map() ? wrong(text) : true;
  }

 private:
  bool is_map() const { return depth_ >= 2 && section_ == "weight_map"; }
  bool enter() {
    if (is_map()) wrong("nested values");
    ++depth_;
    return true;
  }
  bool leave() {
    --depth_;
    return true;
  }
  std::string where() const override { return file_ + ": '" + printable(name_) + "'"; }

  int depth_ = 0;
  std::string section_, name_;
};

template <class E>
void run(E& events, std::span<const uint8_t> json) {
  nlohmann::json::sax_parse(json.begin(), json.end(), &events);
}

}  // namespace

std::span<const ElementType> element_types() { return kTypes; }

std::vector<HeaderEntry> parse_header(std::span<const uint8_t> json, const std::string& name) {
  HeaderEvents events(name);
  run(events, json);
  return std::move(events.entries);
}

std::vector<Located> parse_index(std::span<const uint8_t> bytes, const std::string& name) {
  IndexEvents events(name);
  run(events, bytes);
  std::vector<Located> located = std::move(events.located);
  CHECK_USER(!located.empty(), name, ": no tensors; want an object weight_map");
  std::sort(located.begin(), located.end(),
            [](const Located& a, const Located& b) { return a.tensor < b.tensor; });
  for (size_t i = 1; i < located.size(); ++i)
    CHECK_USER(located[i].tensor != located[i - 1].tensor, name, ": '",
               printable(located[i].tensor), "' is listed twice");
  return located;
}

std::vector<Located> read_index(const std::string& path) {
  const MappedFile file = MappedFile::open(path);
  return parse_index(file.bytes(), path);
}

}  // namespace lamella::safetensors
