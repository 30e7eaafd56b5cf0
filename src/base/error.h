// The three kinds of error, and the checks that raise them. The message is built only on failure.
//
// Message form: `where: what is wrong; got X; want Y; hint`.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace lamella {

// Base of every error that Lamella raises on purpose.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A bad model, shape, flag or prompt. Command line: exit 2; HTTP 400; Python ValueError.
class UserError : public Error {
 public:
  using Error::Error;
};

// A bug of ours. Exit 70; HTTP 500. No input file may cause one.
class InternalError : public Error {
 public:
  using Error::Error;
};

// A driver or memory failure. Exit 71; HTTP 503.
class DeviceError : public Error {
 public:
  using Error::Error;
};

// Concatenates anything that has an operator<<.
template <class... Args>
std::string str(Args&&... args) {
  std::ostringstream out;
  (out << ... << std::forward<Args>(args));
  return std::move(out).str();
}

}  // namespace lamella

#define CHECK_USER(condition, ...)                             \
  do {                                                         \
    if (!(condition)) [[unlikely]]                             \
      throw ::lamella::UserError(::lamella::str(__VA_ARGS__)); \
  } while (false)

#define CHECK_INTERNAL(condition, ...)                             \
  do {                                                             \
    if (!(condition)) [[unlikely]]                                 \
      throw ::lamella::InternalError(::lamella::str(__VA_ARGS__)); \
  } while (false)
