#include "cycloid/base/error.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace {

enum class Colour { red, blue };
std::string_view name(Colour colour) { return colour == Colour::red ? "red" : "blue"; }

template <class Thrown, class Caught>
bool caught_as() {
  try {
    throw Thrown("text");
  } catch (const Caught& e) {
    return std::string_view(e.what()) == "text";
  } catch (...) {
    return false;
  }
}

}  // namespace

TEST_CASE("message: joins text, numbers, names and ranges") {
  CHECK(cycloid::message("expected ", 3, " numbers, got ", std::size_t{4}) ==
        "expected 3 numbers, got 4");
  CHECK(cycloid::message(std::string("a"), std::string_view("b"), 'c', true, false) ==
        "abctruefalse");
  CHECK(cycloid::message(Colour::blue) == "blue");
  CHECK(cycloid::message(std::vector<int>{2, 3}, std::vector<double>{}) == "[2, 3][]");
  CHECK(cycloid::message(std::vector<std::vector<int>>{{1}, {2, 3}}) == "[[1], [2, 3]]");
  CHECK(cycloid::message() == "");
}

TEST_CASE("message: writes numbers in the shortest form that reads back") {
  CHECK(cycloid::message(0.1, " ", 0.1f, " ", 1e300, " ", -2.5) == "0.1 0.1 1e+300 -2.5");
  CHECK(cycloid::message(INT64_MIN, " ", UINT64_MAX) ==
        "-9223372036854775808 18446744073709551615");
  CHECK(cycloid::message(std::numeric_limits<double>::quiet_NaN(), " ",
                         -std::numeric_limits<double>::infinity()) == "nan -inf");
}

TEST_CASE("Error: holds the caller's mistakes, and neither ours nor an interruption") {
  using namespace cycloid;
  CHECK(caught_as<ModelError, Error>());
  CHECK(caught_as<ParameterError, Error>());
  CHECK(caught_as<GradientError, Error>());
  CHECK(caught_as<FileNotFound, Error>());
  CHECK(caught_as<NotANumber, Error>());
  CHECK(caught_as<Error, std::exception>());
  CHECK_FALSE(caught_as<InternalError, Error>());
  CHECK_FALSE(caught_as<Interrupted, Error>());
  CHECK(caught_as<InternalError, std::exception>());
  CHECK(caught_as<Interrupted, std::exception>());
}
