// The name of a format that a template makes: "mlx_affine4_g64_f16".
#pragma once

#include <string_view>

#include "lamella/base/numeric.h"

namespace lamella::quant {

// The types that scales are stored in.
template <class Scale>
inline constexpr std::string_view kScaleName = "f32";
template <>
inline constexpr std::string_view kScaleName<f16> = "f16";
template <>
inline constexpr std::string_view kScaleName<bf16> = "bf16";

class FormatName {
 public:
  constexpr FormatName add(std::string_view text) const {
    FormatName longer = *this;
    for (char c : text) longer.text_[longer.size_++] = c;
    return longer;
  }
  // 0 to 999.
  constexpr FormatName add(int number) const {
    const FormatName front = number < 10 ? *this : add(number / 10);
    const char digit = static_cast<char>('0' + number % 10);
    return front.add(std::string_view(&digit, 1));
  }
  constexpr std::string_view view() const { return {text_, size_}; }

 private:
  char text_[32] = {};
  size_t size_ = 0;
};

}  // namespace lamella::quant
