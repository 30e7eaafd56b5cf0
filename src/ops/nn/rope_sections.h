#pragma once

#include "lamella/ops/nn/rope.h"

namespace lamella {

struct RopeSections {
  static constexpr Info info{
      .name = "rope_sections",
      .inputs = "x, positions, freq_factors?",
      .outputs = "y",
      .doc =
          "rope of x [tokens, heads, dim] with several positions a token, [sections, tokens], such "
          "as time, row and column of an image (M-RoPE, Qwen2-VL): pair i turns by the position of "
          "its section. `sections` are numbers of pairs; with m their sum, pair i belongs to the "
          "section that i mod m falls in, one section after the other; interleaved (Qwen3-VL), for "
          "j = i mod m, to section j mod 3 where j < 3 sections[j mod 3], else to the last. The "
          "other attributes are those of rope.",
      .ulps = 8,
      .traits = kRowScale};
  struct Attrs {
    std::vector<int64_t> sections = {};
    bool interleaved = false;
    int64_t n_rot = 0;
    RopePairing pairing = RopePairing::halves;
    double base = 10000;
    RopeScaling scaling = RopeScaling::none;
    double factor = 1;
    int64_t original_context = 0;
    double attn_factor = 1;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("sections", &Attrs::sections), f("interleaved", &Attrs::interleaved),
          f("n_rot", &Attrs::n_rot), f("pairing", &Attrs::pairing), f("base", &Attrs::base),
          f("scaling", &Attrs::scaling), f("factor", &Attrs::factor),
          f("original_context", &Attrs::original_context), f("attn_factor", &Attrs::attn_factor);
    }
    Rope::Attrs rope() const {
      return {.n_rot = n_rot,
              .pairing = pairing,
              .base = base,
              .scaling = scaling,
              .factor = factor,
              .original_context = original_context,
              .attn_factor = attn_factor};
    }
  };
  static void type(TypeCx& cx, const Attrs& a);
  static Value expand(const Args& args, const Attrs& a);
  static void samples(Samples& s);
  // The section of each pair.
  static std::vector<int64_t> sections_of(const Attrs& a, int64_t n_pairs);
};
inline constexpr Call<RopeSections> rope_sections;

}  // namespace lamella
