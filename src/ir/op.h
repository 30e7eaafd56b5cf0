// What the graph knows of an op: its Info, how it types, and which further rules it has. The
// contract that op authors write against is ops/op.h; define_op.h turns such a struct into this
// descriptor.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "lamella/ir/attrs.h"

namespace lamella {

class TypeCx;
class ValueCx;
class EvalCx;
class VjpCx;
class Samples;
class Args;
struct Node;
struct Value;
using Values = std::vector<Value>;

// Facts that passes ask for. Combined with |.
enum Trait : uint32_t {
  kElementwise = 1,   // one element of the output from one element of each (broadcast) input
  kView = 2,          // output shares its first input's elements; may alias where strides allow
  kOrdered = 4,       // keeps program order; never merged or dropped
  kStructural = 8,    // input, parameter, constant: no computation
  kCommutative = 16,  // of its first two inputs
  kNoGrad = 32,       // gradient is none by definition (comparisons, indices)
  kRandom = 64,       // a function of its key input, but not sampled against literal values
  kTakesEncoded =
      128,  // takes encoded operands as they are: decoding one in front of it is refused
  kRowScale =
      256,  // its error is relative to the largest value of a row (rotations: to a pair's length)
  kMatrixScale =
      512,  // the same, of the last two axes (transforms of pairs, solutions of linear systems)
};

struct Info {
  std::string_view name;
  std::string_view inputs;   // "x, w, bias?, rest..."
  std::string_view outputs;  // "y", or "parts..." for a number that attributes decide
  std::string_view doc;
  double ulps = 0;                // bound of a kernel's error, in eps of the output's type
  double ulps_per_length = 0;     // added per element reduced (the op's samples say the length)
  std::string_view host = "";     // inputs needed on the host, comma-separated
  std::string_view saved = "";    // hidden outputs for the gradient, made only when asked for
  std::string_view updates = "";  // the input that output 0 is an updated copy of (state)
  uint32_t traits = 0;
};

inline constexpr size_t kMaxNames = 16;

// A parsed list of names: which are optional ("bias?"), and whether the last one repeats
// ("rest...").
struct NameList {
  std::array<std::string_view, kMaxNames> names{};
  std::array<bool, kMaxNames> optional{};
  size_t size = 0;
  bool variadic = false;

  constexpr size_t n_required() const {
    size_t n = 0;
    for (size_t i = 0; i < size; ++i) n += !optional[i] && !(variadic && i + 1 == size);
    return n;
  }
};

constexpr NameList parse_names(std::string_view text) {
  NameList list;
  size_t at = 0;
  while (at < text.size()) {
    size_t end = text.find(',', at);
    if (end == std::string_view::npos) end = text.size();
    std::string_view name = text.substr(at, end - at);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    if (name.size() > 3 && name.substr(name.size() - 3) == "...") {
      list.variadic = true;
      name.remove_suffix(3);
    } else if (!name.empty() && name.back() == '?') {
      list.optional[list.size] = true;
      name.remove_suffix(1);
    }
    list.names[list.size++] = name;
    at = end + 1;
  }
  return list;
}

struct Op {
  Info info;
  NameList inputs, outputs, saved;
  const AttrsInfo* attrs = nullptr;
  void (*type)(TypeCx&, const void* attrs) = nullptr;
  void (*eval)(EvalCx&, const void* attrs) = nullptr;          // primitive: meaning in f64/i64
  Values (*expand)(const Args&, const void* attrs) = nullptr;  // composite: a formula over ops
  void (*vjp)(VjpCx&, const void* attrs) = nullptr;
  void (*value)(ValueCx&, const void* attrs) = nullptr;
  void (*samples)(Samples&) = nullptr;
  Dim (*flops)(const Graph&, const Node&) = nullptr;  // work; null: one a output element
  // Bytes read and written; null: all of the inputs and outputs.
  Dim (*bytes)(const Graph&, const Node&) = nullptr;

  constexpr bool has(Trait trait) const { return (info.traits & trait) != 0; }
  constexpr bool is_composite() const { return expand != nullptr; }
};

template <class T>
struct AttrsOf {
  using type = NoAttrs;
};
template <class T>
requires requires { typename T::Attrs; }
struct AttrsOf<T> {
  using type = typename T::Attrs;
};

// Where op T's descriptor lives. Defined by ir/define_op.h, in the one file that lists the op, so
// that files which only call ops do not compile their bodies again.
template <class T>
struct OpOf {
  static const Op value;
};

#if defined(__clang__)  // The definition is in another file on purpose.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif
// The descriptor of op T; its address is the op's identity.
template <class T>
inline constexpr const Op& op = OpOf<T>::value;
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

// A set of ops that files and texts may name: the built-in tables and a user's own.
class OpSet {
 public:
  OpSet() = default;
  explicit OpSet(std::span<const Op* const> ops) { add(ops); }
  void add(std::span<const Op* const> ops) { ops_.insert(ops_.end(), ops.begin(), ops.end()); }
  const Op* find(std::string_view name) const {
    for (const Op* o : ops_)
      if (o->info.name == name) return o;
    return nullptr;
  }
  std::span<const Op* const> ops() const { return ops_; }

 private:
  std::vector<const Op*> ops_;
};

}  // namespace lamella
