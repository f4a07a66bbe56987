// base/error.h: what is thrown, and how its text is built.
//
// Three roots, because three parties can be the reason:
//   Error          the caller: a wrong model, name, shape, number or option
//   InternalError  us: a check of our own failed (check.h)
//   Interrupted    the user asked a long run to stop (interrupt.h)
// Whoever handles an Error does not thereby swallow a fault of ours or a Ctrl-C. The physics throws
// nothing: what goes wrong inside a step is a status in its report.
//
// A text says what was expected, what came, and what to try:
//   throw ParameterError(message("expected ", n, " numbers for \"", name, "\", got ", m));
//
// Every class has its destructor in error.cpp, so that its type information exists once, also
// for objects whose other symbols are local (instruction_set.h).
#pragma once

#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace cycloid::inline base {

// The caller gave something that cannot be. Python: cycloid.Error, a ValueError.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~Error() override;
};

// A model that cannot be built, or contains what is not supported.
class ModelError final : public Error {
 public:
  using Error::Error;
  ~ModelError() override;
};

// An unknown parameter, a value outside its constraint, a derivative that does not exist.
class ParameterError final : public Error {
 public:
  using Error::Error;
  ~ParameterError() override;
};

// A gradient that cannot be given, such as one through an environment that diverged.
class GradientError final : public Error {
 public:
  using Error::Error;
  ~GradientError() override;
};

// Python: FileNotFoundError.
class FileNotFound final : public Error {
 public:
  using Error::Error;
  ~FileNotFound() override;
};

// Something that is not a number where one was expected. Python: TypeError.
class NotANumber final : public Error {
 public:
  using Error::Error;
  ~NotANumber() override;
};

// A check of our own failed. Python: cycloid.InternalError.
class InternalError final : public std::logic_error {
 public:
  using std::logic_error::logic_error;
  ~InternalError() override;
};

// A run stopped because it was asked to. Python: KeyboardInterrupt.
class Interrupted final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~Interrupted() override;
};

void append_integer(std::string& text, long long value);
void append_unsigned(std::string& text, unsigned long long value);
void append_real(std::string& text, float value);  // the shortest text that reads back as value
void append_real(std::string& text, double value);

// Appends one part of a message: text, a number, an enumeration that has a name(), or a range of
// these as [a, b, c].
template <class T>
void append(std::string& text, const T& part) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    text += std::string_view(part);
  } else if constexpr (std::same_as<T, bool>) {
    text += part ? "true" : "false";
  } else if constexpr (std::same_as<T, char>) {
    text += part;
  } else if constexpr (std::same_as<T, float>) {
    append_real(text, part);
  } else if constexpr (std::floating_point<T>) {
    append_real(text, static_cast<double>(part));
  } else if constexpr (std::signed_integral<T>) {
    append_integer(text, part);
  } else if constexpr (std::unsigned_integral<T>) {
    append_unsigned(text, part);
  } else if constexpr (std::is_enum_v<T>) {
    append(text, name(part));
  } else {
    std::string_view separator = "[";
    for (const auto& element : part) {
      append(text, separator);
      append(text, element);
      separator = ", ";
    }
    text += separator == "[" ? "[]" : "]";
  }
}

// The parts, one after the other.
template <class... Parts>
std::string message(const Parts&... parts) {
  std::string text;
  (append(text, parts), ...);
  return text;
}

}  // namespace cycloid::inline base
