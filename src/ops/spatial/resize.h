#pragma once

#include "lamella/ops/op.h"

namespace lamella {

enum class ResizeMode : int { nearest, linear, cubic };
template <>
struct EnumNames<ResizeMode> {
  static constexpr std::array<std::string_view, 3> names{"nearest", "linear", "cubic"};
};

// Where output place i lies in the input, with s = scale.
enum class ResizeCoordinates : int {
  half_pixel,            // (i + 1/2) / s - 1/2
  half_pixel_symmetric,  // the same about the middle, where floor(size * s) is not size * s
  pytorch_half_pixel,    // half_pixel, but 0 for an output of one place
  align_corners,         // i * (size - 1) / (output size - 1)
  asymmetric,            // i / s
};
template <>
struct EnumNames<ResizeCoordinates> {
  static constexpr std::array<std::string_view, 5> names{
      "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"};
};

enum class ResizeRounding : int { prefer_floor, prefer_ceil, floor, ceil };
template <>
struct EnumNames<ResizeRounding> {
  static constexpr std::array<std::string_view, 4> names{"prefer_floor", "prefer_ceil", "floor",
                                                         "ceil"};
};

// Along one axis: for each place of the output the elements that count, i64 [to] each, and their
// weights, f64 [to]; none where the nearest element counts.
struct ResizeTaps {
  Values elements, weights;
};

struct Resize {
  static constexpr Info info{
      .name = "resize",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "x sampled anew along `axes` to `sizes`, or to floor(size * scale): the nearest element "
          "(`rounding` says how a place becomes an index), linear or cubic interpolation (cubic_a; "
          "with exclude_outside only elements inside count). `coordinates` says where an output "
          "place lies; beyond the ends the end elements count. Scales that are not given are "
          "output size / size. Coordinates are computed in f64.",
      .ulps = 8,
      .ulps_per_length = 4};
  struct Attrs {
    std::vector<int64_t> axes = {};
    Shape sizes = {};                 // of these axes; or
    std::vector<double> scales = {};  // of these axes
    ResizeMode mode = ResizeMode::nearest;
    ResizeCoordinates coordinates = ResizeCoordinates::half_pixel;
    ResizeRounding rounding = ResizeRounding::prefer_floor;
    double cubic_a = -0.75;
    bool exclude_outside = false;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("axes", &Attrs::axes), f("sizes", &Attrs::sizes), f("scales", &Attrs::scales),
          f("mode", &Attrs::mode), f("coordinates", &Attrs::coordinates),
          f("rounding", &Attrs::rounding), f("cubic_a", &Attrs::cubic_a),
          f("exclude_outside", &Attrs::exclude_outside);
    }
  };
  static void type(TypeCx& cx, const Attrs& a);
  static Value expand(const Args& args, const Attrs& a);
  // Of the i-th of its axes, `from` elements long; values of g.
  static ResizeTaps taps(Graph& g, const Attrs& a, size_t i, Dim from);
  static void samples(Samples& s);
};
inline constexpr Call<Resize> resize;

}  // namespace lamella
