#pragma once

#include "lamella/ops/op.h"

namespace lamella {

// Which elements of a head turn together, for n = n_rot and pair i < n / 2.
enum class RopePairing : int {
  neighbours,  // 2 i and 2 i + 1
  halves,      // i and i + n / 2
};
template <>
struct EnumNames<RopePairing> {
  static constexpr std::array<std::string_view, 2> names{"neighbours", "halves"};
};

// How the frequencies are changed for contexts longer than the model was trained on.
enum class RopeScaling : int { none, linear, yarn, llama3 };
template <>
struct EnumNames<RopeScaling> {
  static constexpr std::array<std::string_view, 4> names{"none", "linear", "yarn", "llama3"};
};

struct Rope {
  static constexpr Info info{
      .name = "rope",
      .inputs = "x, positions, freq_factors?",
      .outputs = "y",
      .doc =
          "Rotary embedding of x [tokens, heads, dim]: pair i (u, v) of the first n_rot elements "
          "(0: all) becomes m * (u cos a - v sin a, u sin a + v cos a) with a = positions[token] "
          "* f(i) / freq_factors[i]; the other elements stay. With b(i) = base^(-2 i / n_rot): "
          "none: f = b. linear: f = b / factor. yarn (Peng et al. 2023, as llama.cpp computes "
          "it): f = (1 - r) b / factor + r b with r = ext_factor * (1 - clamp((i - low) / "
          "max(high - low, 0.001), 0, 1)), low = max(0, floor c(beta_fast)), high = min(n_rot - "
          "1, ceil c(beta_slow)), c(t) = n_rot ln(original_context / (2 pi t)) / (2 ln base). "
          "llama3: with t = original_context b / (2 pi) turns, f = (1 - s) b / factor + s b with "
          "s = clamp((t - low_freq) / (high_freq - low_freq), 0, 1). m = attn_factor, for yarn "
          "with ext_factor != 0 times 1 + 0.1 ln factor.",
      .ulps = 8,
      .traits = kRowScale};
  struct Attrs {
    int64_t n_rot = 0;
    RopePairing pairing = RopePairing::neighbours;
    double base = 10000;
    RopeScaling scaling = RopeScaling::none;
    double factor = 1;
    int64_t original_context = 0;
    double attn_factor = 1;
    double ext_factor = 1, beta_fast = 32, beta_slow = 1;  // yarn
    double low_freq = 1, high_freq = 4;                    // llama3
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("n_rot", &Attrs::n_rot), f("pairing", &Attrs::pairing), f("base", &Attrs::base),
          f("scaling", &Attrs::scaling), f("factor", &Attrs::factor),
          f("original_context", &Attrs::original_context), f("attn_factor", &Attrs::attn_factor),
          f("ext_factor", &Attrs::ext_factor), f("beta_fast", &Attrs::beta_fast),
          f("beta_slow", &Attrs::beta_slow), f("low_freq", &Attrs::low_freq),
          f("high_freq", &Attrs::high_freq);
    }
  };

  // f(i) for the pairs of n_rot elements, and m.
  static std::vector<double> frequencies(const Attrs& a, int64_t n_rot);
  static double magnitude(const Attrs& a);
  // Checks what the frequencies are made of.
  static void check(TypeCx& cx, const Attrs& a);

  static void type(TypeCx& cx, const Attrs& a);
  // Angles are f64: positions times frequencies lose whole turns in f32.
  static Value expand(const Args& args, const Attrs& a);
  static void vjp(VjpCx& cx, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<Rope> rope;

}  // namespace lamella
