// Special functions in f64, in the C that C++ and the kernels of a GPU share. Whoever includes this
// has defined SPECIAL_SOURCE, as code or as text, and with the code FN (what stands in front of a
// function), infinity() and not_a_number().
SPECIAL_SOURCE(
    // Winitzki's approximation, good to 1 in 500; its square roots cancel near 0, where the series
    // does better.
    FN double guess_of_inverse_erf(double x) {
      const double pi = 3.141592653589793;
      if (x < 0.02) return sqrt(pi) / 2 * (x + pi / 12 * x * x * x);
      const double a = 0.147;
      const double l = log1p(-x * x);
      const double half = 2 / (pi * a) + l / 2;
      return sqrt(sqrt(half * half - l / a) - half);
    }

    // Halley's steps triple the digits. Beyond the middle the error is that of 1 - erf, which does
    // not cancel.
    FN double inverse_erf(double x) {
      const double half_root_of_pi = 0.886226925452758;
      const double size = fabs(x);
      if (!(size < 1)) return size == 1 ? copysign(infinity(), x) : not_a_number();
      double y = guess_of_inverse_erf(size);
      for (int step = 0; step < 3; ++step) {
        const double error = size < 0.5 ? erf(y) - size : (1 - size) - erfc(y);
        const double newton = error * half_root_of_pi * exp(y * y);
        y -= newton / (1 + y * newton);
      }
      return copysign(y, x);
    }

    // Upwards to 10, and there the asymptotic series.
    FN double digamma_of(double x) {
      const double pi = 3.141592653589793;
      if (x == 0) return copysign(infinity(), -x);
      if (x == -infinity()) return not_a_number();
      double sum = 0;
      if (x < 0) {
        const double part = x - floor(x);
        if (part == 0) return not_a_number();
        sum = -pi / tan(pi * part);
        x = 1 - x;
      }
      for (; x < 10; x += 1) sum -= 1 / x;
      // Bernoulli numbers B(2n) / 2n.
      const double series[] = {1.0 / 12,  -1.0 / 120,       1.0 / 252, -1.0 / 240,
                               1.0 / 132, -691.0 / 32760.0, 1.0 / 12};
      const double square = 1 / (x * x);
      double power = 1;
      for (int i = 0; i < 7; ++i) {
        power *= square;
        sum -= series[i] * power;
      }
      return sum + (log(x) - 0.5 / x);
    }

    FN double trigamma_of(double x) {
      const double pi = 3.141592653589793;
      if (x == -infinity()) return not_a_number();
      double mirrored = 0;
      const bool is_mirrored = x <= 0;
      if (is_mirrored) {
        const double part = x - floor(x);
        if (part == 0) return infinity();
        const double s = sin(pi * part);
        mirrored = pi * pi / (s * s);
        x = 1 - x;
      }
      double sum = 0;
      for (; x < 10; x += 1) sum += 1 / (x * x);
      // Bernoulli numbers B(2n).
      const double series[] = {1.0 / 6,  -1.0 / 30,       1.0 / 42, -1.0 / 30,
                               5.0 / 66, -691.0 / 2730.0, 7.0 / 6};
      const double square = 1 / (x * x);
      double power = 1 / x;
      for (int i = 0; i < 7; ++i) {
        power *= square;
        sum += series[i] * power;
      }
      sum += 1 / x + 0.5 * square;
      return is_mirrored ? mirrored - sum : sum;
    }

    FN double factorial_of(int n) {
      double product = 1;
      for (int i = 2; i <= n; ++i) product *= i;
      return product;
    }

    // The n-th derivative of cot(pi x), over pi^n, n at most 20: a polynomial in c = cot(pi x),
    // since c' = -(1 + c^2).
    FN double cotangent_derivative(int n, double x) {
      const double c = 1 / tan(3.141592653589793 * x);
      double p[22];
      double q[22];
      for (int i = 0; i < 22; ++i) p[i] = i == 1 ? 1 : 0;
      for (int order = 0; order < n; ++order) {
        for (int i = 0; i < 22; ++i) q[i] = 0;
        for (int i = 1; i <= order + 1; ++i) {
          q[i - 1] -= i * p[i];
          q[i + 1] -= i * p[i];
        }
        for (int i = 0; i < 22; ++i) p[i] = q[i];
      }
      double y = 0;
      for (int i = n + 1; i >= 0; --i) y = y * c + p[i];
      return y;
    }

    // The polygamma of order n >= 1 without its sign, for x > 0: terms of the sum of
    // n! / x^(n + 1), then the asymptotic series.
    FN double size_of_polygamma(int n, double x) {
      double sum = 0;
      const double f = factorial_of(n);
      for (; x < 15 + 2 * n; x += 1) sum += f * pow(x, (double)(-n - 1));
      // Bernoulli numbers B(2k) over (2k)!.
      const double bernoulli[] = {1.0 / 12,           -1.0 / 720,     1.0 / 30240,
                                  -1.0 / 1209600,     1.0 / 47900160, -691.0 / 1307674368000.0,
                                  1.0 / 74724249600.0};
      double term = factorial_of(n - 1) * pow(x, (double)(-n));
      double series = term + term * n / (2 * x);
      int next = n;  // term is (next - 1)! / x^next
      for (int k = 0; k < 7; ++k) {
        term *= next / x;
        term *= (next + 1) / x;
        next += 2;
        series += bernoulli[k] * term;
      }
      return sum + series;
    }

    FN double polygamma_of(double n, double x) {
      n = rint(n);
      if (!(n >= 0 && n <= 20) || x != x || x == -infinity()) return not_a_number();
      const int order = (int)n;
      if (order == 0) return digamma_of(x);
      const bool is_even = order % 2 == 0;
      if (x > 0) return (is_even ? -1 : 1) * size_of_polygamma(order, x);
      const double part = x - floor(x);
      if (part == 0) return is_even ? not_a_number() : infinity();
      return -size_of_polygamma(order, 1 - x) -
             pow(3.141592653589793, n + 1) * cotangent_derivative(order, part);
    })
