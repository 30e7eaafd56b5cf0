#include "lamella/base/special.h"

#include <math.h>

#include <limits>

namespace lamella {
namespace {
namespace source {

constexpr double infinity() { return std::numeric_limits<double>::infinity(); }
constexpr double not_a_number() { return std::numeric_limits<double>::quiet_NaN(); }

#define FN inline
#define SPECIAL_SOURCE(...) __VA_ARGS__
#include "lamella/base/special_source.h"
#undef SPECIAL_SOURCE
#undef FN

}  // namespace source
}  // namespace

double inverse_erf(double x) { return source::inverse_erf(x); }

double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

double digamma_of(double x) { return source::digamma_of(x); }

double trigamma_of(double x) { return source::trigamma_of(x); }

double polygamma_of(double n, double x) { return source::polygamma_of(n, x); }

std::string_view special_source() {
#define SPECIAL_SOURCE(...) #__VA_ARGS__
  return
#include "lamella/base/special_source.h"
      ;
#undef SPECIAL_SOURCE
}

}  // namespace lamella
