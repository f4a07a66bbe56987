#include "cycloid/base/error.h"

#include <charconv>

namespace cycloid::inline base {

Error::~Error() = default;
ModelError::~ModelError() = default;
ParameterError::~ParameterError() = default;
GradientError::~GradientError() = default;
FileNotFound::~FileNotFound() = default;
NotANumber::~NotANumber() = default;
InternalError::~InternalError() = default;
Interrupted::~Interrupted() = default;

namespace {

// 32 characters hold every 64-bit integer and every shortest double.
template <class T>
void append_number(std::string& text, T value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  text.append(digits, end);
}

}  // namespace

void append_integer(std::string& text, long long value) { append_number(text, value); }
void append_unsigned(std::string& text, unsigned long long value) { append_number(text, value); }
void append_real(std::string& text, float value) { append_number(text, value); }
void append_real(std::string& text, double value) { append_number(text, value); }

}  // namespace cycloid::inline base
