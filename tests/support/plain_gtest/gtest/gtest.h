// What tests/kernels use of GoogleTest, on the standard library alone, so that these tests can be
// built for a machine that only a compiler is there for (the preset `aarch64`). main.cpp runs the
// cases and ends with `N passed, N failed`.
#pragma once

#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace testing {

class Test {};
template <class... T>
struct Types {};

struct Case {
  std::string name;
  void (*run)();
};
inline std::vector<Case>& cases() {
  static std::vector<Case> list;
  return list;
}
inline bool add_case(std::string name, void (*run)()) {
  cases().push_back({std::move(name), run});
  return true;
}
template <template <class> class Body, class... T>
bool add_typed_case(const std::string& suite, const std::string& name, Types<T...>) {
  int i = 0;
  (add_case(suite + "/" + std::to_string(i++) + "." + name, [] { Body<T>().TestBody(); }), ...);
  return true;
}

// What the running case has come to.
struct State {
  bool failed = false;
  std::vector<std::string> traces;
};
inline State& state() {
  static State state;
  return state;
}

struct Trace {
  explicit Trace(const std::string& text) { state().traces.push_back(text); }
  Trace(const Trace&) = delete;
  ~Trace() { state().traces.pop_back(); }
};

// A failed check; what is streamed into it is printed with it.
class Failure {
 public:
  Failure(const char* file, int line, const std::string& what) {
    text_ << file << ":" << line << ": " << what << " ";
    state().failed = true;
  }
  ~Failure() {
    for (const std::string& trace : state().traces) text_ << "\n  in " << trace;
    std::fprintf(stderr, "%s\n", text_.str().c_str());
  }
  template <class T>
  Failure& operator<<(const T& value) {
    text_ << value;
    return *this;
  }

 private:
  std::ostringstream text_;
};
struct ReturnAfter {
  void operator=(const Failure&) const {}
};

struct Result {
  bool ok;
  std::string what;
};
template <class T>
std::string shown(const T& value) {
  std::ostringstream text;
  if constexpr (requires { text << value; }) {
    text << value;
  } else {
    text << "?";
  }
  return text.str();
}
template <class A, class B>
Result judged(bool ok, const A& a, const B& b, const char* what) {
  return {ok, ok ? "" : std::string(what) + "; got " + shown(a) + ", " + shown(b)};
}
inline Result is_true(bool ok, const char* what) { return {ok, what}; }
template <class A, class B, class Compare>
Result compared(const A& a, const B& b, Compare compare, const char* what) {
  return judged(compare(a, b), a, b, what);
}
inline Result is_near(double a, double b, double bound, const char* what) {
  return judged(std::fabs(a - b) <= bound, a, b, what);
}
// Within four units in the last place.
inline Result is_nearly(float a, float b, const char* what) {
  const float unit = std::numeric_limits<float>::epsilon() * std::fmax(std::fabs(a), std::fabs(b));
  return judged(a == b || std::fabs(a - b) <= 4 * unit, a, b, what);
}

}  // namespace testing

#define PLAIN_CHECK(result, otherwise)                                  \
  switch (0)                                                            \
  case 0:                                                               \
  default:                                                              \
    if (const ::testing::Result plain_result = result; plain_result.ok) \
      ;                                                                 \
    else                                                                \
      otherwise ::testing::Failure(__FILE__, __LINE__, plain_result.what)
#define PLAIN_RETURN return ::testing::ReturnAfter() =

#define EXPECT_TRUE(x) PLAIN_CHECK(::testing::is_true(static_cast<bool>(x), #x), )
#define ASSERT_TRUE(x) PLAIN_CHECK(::testing::is_true(static_cast<bool>(x), #x), PLAIN_RETURN)
#define EXPECT_FALSE(x) PLAIN_CHECK(::testing::is_true(!(x), "not " #x), )
#define PLAIN_COMPARE(a, b, compare, sign, otherwise) \
  PLAIN_CHECK(::testing::compared(a, b, std::compare<>(), #a " " #sign " " #b), otherwise)
#define EXPECT_EQ(a, b) PLAIN_COMPARE(a, b, equal_to, ==, )
#define ASSERT_EQ(a, b) PLAIN_COMPARE(a, b, equal_to, ==, PLAIN_RETURN)
#define EXPECT_NE(a, b) PLAIN_COMPARE(a, b, not_equal_to, !=, )
#define ASSERT_NE(a, b) PLAIN_COMPARE(a, b, not_equal_to, !=, PLAIN_RETURN)
#define EXPECT_LT(a, b) PLAIN_COMPARE(a, b, less, <, )
#define ASSERT_LT(a, b) PLAIN_COMPARE(a, b, less, <, PLAIN_RETURN)
#define EXPECT_LE(a, b) PLAIN_COMPARE(a, b, less_equal, <=, )
#define ASSERT_LE(a, b) PLAIN_COMPARE(a, b, less_equal, <=, PLAIN_RETURN)
#define EXPECT_GT(a, b) PLAIN_COMPARE(a, b, greater, >, )
#define ASSERT_GT(a, b) PLAIN_COMPARE(a, b, greater, >, PLAIN_RETURN)
#define EXPECT_GE(a, b) PLAIN_COMPARE(a, b, greater_equal, >=, )
#define ASSERT_GE(a, b) PLAIN_COMPARE(a, b, greater_equal, >=, PLAIN_RETURN)
#define EXPECT_NEAR(a, b, bound) PLAIN_CHECK(::testing::is_near(a, b, bound, #a " ~ " #b), )
#define ASSERT_NEAR(a, b, bound) \
  PLAIN_CHECK(::testing::is_near(a, b, bound, #a " ~ " #b), PLAIN_RETURN)
#define ASSERT_FLOAT_EQ(a, b) PLAIN_CHECK(::testing::is_nearly(a, b, #a " ~ " #b), PLAIN_RETURN)

#define PLAIN_JOIN_(a, b) a##b
#define PLAIN_JOIN(a, b) PLAIN_JOIN_(a, b)
#define SCOPED_TRACE(text) const ::testing::Trace PLAIN_JOIN(plain_trace_, __LINE__)(text)

#define TEST(suite, name)                                        \
  static void suite##_##name();                                  \
  [[maybe_unused]] static const bool suite##_##name##_is_there = \
      ::testing::add_case(#suite "." #name, suite##_##name);     \
  static void suite##_##name()
#define TYPED_TEST_SUITE(suite, types) using suite##_types = types
#define TYPED_TEST(suite, name)                                                  \
  template <class PlainParam>                                                    \
  struct suite##_##name : suite<PlainParam> {                                    \
    using TypeParam = PlainParam;                                                \
    void TestBody();                                                             \
  };                                                                             \
  [[maybe_unused]] static const bool suite##_##name##_is_there =                 \
      ::testing::add_typed_case<suite##_##name>(#suite, #name, suite##_types{}); \
  template <class PlainParam>                                                    \
  void suite##_##name<PlainParam>::TestBody()
