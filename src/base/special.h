// Special functions that the C++ library lacks, in f64.
#pragma once

#include <string_view>

namespace lamella {

// y with erf(y) = x; infinite at -1 and 1, NaN beyond.
double inverse_erf(double x);
// Natural logarithm of |gamma(x)|. Unlike std::lgamma it writes no global sign.
double log_gamma(double x);
// First and second derivative of log_gamma.
double digamma_of(double x);
double trigamma_of(double x);
// Derivative of order n of digamma, n rounded to a whole number; NaN unless 0 <= n <= 20.
double polygamma_of(double n, double x);

// All but log_gamma as text in the C of kernels: functions of these names behind FN, over an
// infinity() and a not_a_number().
std::string_view special_source();

}  // namespace lamella
