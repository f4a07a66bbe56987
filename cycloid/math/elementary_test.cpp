// Elementary functions against the long double functions of the C library: a significand of 64 bits
// has 11 digits to spare behind a double's last and 40 behind a float's.
//
// CYCLOID_LONG_TESTS=1 in the environment takes 16 times the samples and walks through the floats.
#include "cycloid/math/elementary.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "cycloid/base/compiled_sets.h"
#include "cycloid/base/instruction_set.h"
#include "cycloid/math/elementary_test_isa.h"

#if CYCLOID_HAS_PORTABLE
CYCLOID_ELEMENTARY_ENTRIES(portable)
#endif
#if CYCLOID_HAS_V3
CYCLOID_ELEMENTARY_ENTRIES(v3)
#endif
#if CYCLOID_HAS_V4
CYCLOID_ELEMENTARY_ENTRIES(v4)
#endif

namespace cycloid {
namespace {

using enum ElementaryFunction;

constexpr double kLargestError = 2;  // [ulp], what elementary.h promises

struct Function {
  ElementaryFunction id;
  const char* name;
  long double (*reference)(long double, long double);
};
const Function kFunctions[] = {
    {sqrt, "sqrt", [](long double x, long double) { return std::sqrt(x); }},
    {sin, "sin", [](long double x, long double) { return std::sin(x); }},
    {cos, "cos", [](long double x, long double) { return std::cos(x); }},
    {tan, "tan", [](long double x, long double) { return std::tan(x); }},
    {asin, "asin", [](long double x, long double) { return std::asin(x); }},
    {acos, "acos", [](long double x, long double) { return std::acos(x); }},
    {atan2, "atan2", [](long double y, long double x) { return std::atan2(y, x); }},
    {exp, "exp", [](long double x, long double) { return std::exp(x); }},
    {log, "log", [](long double x, long double) { return std::log(x); }},
    {pow, "pow", [](long double x, long double y) { return std::pow(x, y); }},
    {tanh, "tanh", [](long double x, long double) { return std::tanh(x); }},
    {sigmoid, "sigmoid", [](long double x, long double) { return 1 / (1 + std::exp(-x)); }},
};

constexpr LaneForm kForms[] = {LaneForm::scalar, LaneForm::half_register, LaneForm::one_register,
                               LaneForm::two_registers};

template <class T>
std::vector<T> evaluate(InstructionSet set, ElementaryFunction f, LaneForm form,
                        const std::vector<T>& x, const std::vector<T>& y) {
  std::vector<T> out(x.size());
  switch (set) {
#if CYCLOID_HAS_PORTABLE
    case InstructionSet::portable:
      isa::portable::evaluate(f, form, x.data(), y.data(), out.data(), int(x.size()));
      break;
#endif
#if CYCLOID_HAS_V3
    case InstructionSet::v3:
      isa::v3::evaluate(f, form, x.data(), y.data(), out.data(), int(x.size()));
      break;
#endif
#if CYCLOID_HAS_V4
    case InstructionSet::v4:
      isa::v4::evaluate(f, form, x.data(), y.data(), out.data(), int(x.size()));
      break;
#endif
    default: FAIL("an instruction set that is not compiled in");
  }
  return out;
}

// |value - reference| in units of the last place that T has at the reference. Overflow counts as
// the first number beyond the range, so that the border is judged like any other place.
template <class T>
double error_in_ulp(T value, long double reference) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(reference) || std::isnan(value)) {
    return std::isnan(reference) && std::isnan(value) ? 0 : HUGE_VAL;
  }
  const long double beyond = std::ldexp(1.0L, Limits::max_exponent);
  const auto bounded = [&](long double v) { return std::max(-beyond, std::min(beyond, v)); };
  const long double difference = std::abs(bounded(value) - bounded(reference));
  if (difference == 0) return 0;
  const int exponent =
      std::ilogb(std::max<long double>(std::abs(bounded(reference)), Limits::min()));
  return double(
      std::ldexp(difference, Limits::digits - 1 - std::min(exponent, Limits::max_exponent - 1)));
}

int sample_factor() { return std::getenv("CYCLOID_LONG_TESTS") ? 16 : 1; }

// Arguments: every binade of both signs, and the range where the function does its work.
template <class T>
struct Samples {
  using Limits = std::numeric_limits<T>;
  std::mt19937_64 random;
  std::vector<T> x, y;

  explicit Samples(ElementaryFunction f) : random(20240501 + unsigned(f)) {
    const int few = (sizeof(T) == 4 ? 160 : 24) * sample_factor();
    const int many = 40000 * sample_factor();
    for (int e = Limits::min_exponent - Limits::digits; e < Limits::max_exponent; ++e) {
      for (int i = 0; i < few; ++i) add(binade(e), any_number());
    }
    const auto range = [&](double low, double high) {
      for (int i = 0; i < many; ++i) add(T(low + (high - low) * unit()), any_number());
    };
    switch (f) {
      case sin:
      case cos:
      case tan:
        range(-8, 8);
        range(-20000, 20000);
        range(-2e6, 2e6);
        for (int n = 1; n < 2 * many; ++n) add(T(n * 1.57079632679489661923L), T(0));
        break;
      case asin:
      case acos:
        range(-1, 1);
        for (int i = 0; i < many; ++i) add(1 - std::abs(binade(int(random() % 50) - 50)), T(0));
        break;
      case exp:
        range(-1, 1);
        range(-Limits::max_exponent * 0.8, Limits::max_exponent * 0.8);
        break;
      case log:
        range(0, 4);
        range(0.99, 1.01);
        break;
      case tanh:
      case sigmoid:
        range(-1, 1);
        range(-40, 40);
        range(-800, 100);
        break;
      case atan2:
        for (int i = 0; i < 4 * many; ++i) {
          const T b = binade(int(random() % 40) - 20);
          add(T(b * (2 * unit() - 1)), b);
          add(b, T(b * (2 * unit() - 1)));
        }
        break;
      case pow:  // results within the range, from bases of all sizes and close to one
        for (int i = 0; i < 4 * many; ++i) {
          const T base =
              i % 2 ? std::abs(any_number()) : T(1 + binade(-1 - int(random() % Limits::digits)));
          const double exponent = (2 * unit() - 1) * (Limits::max_exponent + Limits::digits);
          add(base, T(exponent / std::log2(double(base))));
          add(T(8 * unit()), T(8 * unit() - 4));
        }
        break;
      default: range(0, 4); break;
    }
    while (x.size() % 32) add(T(1), T(1));
  }

  void add(T a, T b) {
    x.push_back(a);
    y.push_back(b);
  }
  double unit() { return double(random() >> 11) * 0x1p-53; }
  T binade(int e) { return std::ldexp(T(random() % 2 ? 1 + unit() : -1 - unit()), e); }
  T any_number() {
    const int binades = Limits::max_exponent - Limits::min_exponent + Limits::digits;
    return binade(Limits::min_exponent - Limits::digits + int(random() % unsigned(binades)));
  }
};

template <class T>
std::vector<long double> reference(const Function& f, const Samples<T>& s) {
  std::vector<long double> out(s.x.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = f.reference(s.x[i], s.y[i]);
  return out;
}

// Bits, so that -0 is not 0 and NaN is NaN.
template <class T>
bool same_bits(T a, T b) {
  return to_bits(a) == to_bits(b) || (std::isnan(a) && std::isnan(b));
}

struct Worst {
  double error = 0;
  std::size_t where = 0;

  void meet(double e, std::size_t i) {
    if (e > error) error = e, where = i;
  }
};

template <class T>
void check_errors() {
  std::string table = "largest errors [ulp]\n";
  for (const Function& f : kFunctions) {
    const Samples<T> s(f.id);
    const std::vector<long double> expected = reference(f, s);
    for (const InstructionSet set : available_instruction_sets()) {
      const std::vector<T> got = evaluate(set, f.id, LaneForm::one_register, s.x, s.y);
      Worst worst;
      for (std::size_t i = 0; i < got.size(); ++i) worst.meet(error_in_ulp(got[i], expected[i]), i);
      char line[200];
      std::snprintf(line, sizeof line, "%-8s %-9s %5.3f at (%a, %a), %zu samples\n", f.name,
                    std::string(name(set)).c_str(), worst.error, double(s.x[worst.where]),
                    double(s.y[worst.where]), got.size());
      table += line;
      CHECK_MESSAGE(worst.error < kLargestError, line);
    }
  }
  MESSAGE(table);
}

TEST_CASE(
    "elementary: float errors stay below 2 ulp over the whole range, on every instruction set") {
  check_errors<float>();
}

TEST_CASE(
    "elementary: double errors stay below 2 ulp over the whole range, on every instruction set") {
  check_errors<double>();
}

// The 64 bits of the reference hold to the last place only if its own reduction is good: these are
// the arguments that come closest to a multiple of π/2, with the value of the rest to 20 digits.
TEST_CASE("elementary: sin, cos and tan are right at the worst arguments of float and double") {
  const auto check = [](auto x, double rest, bool odd) {
    using T = decltype(x);
    const std::vector<T> a(32, x);
    for (const InstructionSet set : available_instruction_sets()) {
      const T s = std::abs(evaluate(set, sin, LaneForm::one_register, a, a)[0]);
      const T c = std::abs(evaluate(set, cos, LaneForm::one_register, a, a)[0]);
      const T t = std::abs(evaluate(set, tan, LaneForm::one_register, a, a)[0]);
      CHECK(error_in_ulp(odd ? c : s, rest) < 1);
      CHECK((odd ? s : c) == 1);
      CHECK(error_in_ulp(t, odd ? 1 / static_cast<long double>(rest) : rest) < kLargestError);
    }
  };
  check(std::ldexp(16367173.0f, 72), 1.6147697982476211883e-9, true);
  check(std::ldexp(6381956970095103.0, 797), 4.6871659242546276111e-19, true);
}

template <class T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> positive = {T(0),
                             Limits::denorm_min(),
                             3 * Limits::denorm_min(),
                             Limits::min(),
                             Limits::min() / 2,
                             Limits::epsilon(),
                             T(0.5),
                             1 - Limits::epsilon() / 2,
                             T(1),
                             1 + Limits::epsilon(),
                             T(1.5),
                             T(2),
                             T(3),
                             T(4),
                             T(1e4),
                             T(12867),
                             T(1647099),
                             std::ldexp(T(1), Limits::digits) - 1,
                             std::ldexp(T(1), Limits::digits) + 2,
                             std::sqrt(Limits::max()),
                             Limits::max(),
                             Limits::infinity(),
                             Limits::quiet_NaN()};
  // The borders of exp: overflow, the subnormal numbers, zero.
  for (const double e :
       {88.72283, 88.72284, 87.33654, 103.97, 103.98, 709.78271289338397, 709.7827128933841,
        708.3964185322641, 745.13321910194122, 745.1332191019413}) {
    positive.push_back(T(e));
  }
  std::vector<T> out;
  for (const T v : positive) out.push_back(v), out.push_back(-v);
  return out;
}

template <class T>
void check_special_values() {
  std::vector<T> x, y;
  for (const T a : special_values<T>()) {
    for (const T b : special_values<T>()) x.push_back(a), y.push_back(b);
  }
  while (x.size() % 32) x.push_back(T(1)), y.push_back(T(1));
  for (const Function& f : kFunctions) {
    for (const InstructionSet set : available_instruction_sets()) {
      for (const LaneForm form : kForms) {
        const std::vector<T> got = evaluate(set, f.id, form, x, y);
        for (std::size_t i = 0; i < got.size(); ++i) {
          const long double expected = f.reference(x[i], y[i]);
          const bool sign_is_right =
              std::isnan(expected) || std::signbit(got[i]) == std::signbit(expected);
          const bool exact = expected == 0 || std::isinf(expected);  // then nothing near it will do
          const bool value_is_right =
              exact ? got[i] == T(expected) : error_in_ulp(got[i], expected) < kLargestError;
          if (sign_is_right && value_is_right) continue;
          FAIL_CHECK(std::string(f.name), "(", x[i], ", ", y[i], ") is ", expected, ", not ",
                     got[i], "; ", name(set), ", lane form ", int(form));
        }
      }
    }
  }
}

TEST_CASE("elementary: zeros, infinities, NaN and the borders of the range are those of <cmath>") {
  check_special_values<float>();
  check_special_values<double>();
}

template <class T>
void check_neighbours() {
  const std::vector<T> disturbing = special_values<T>();
  for (const Function& f : kFunctions) {
    const Samples<T> s(f.id);
    std::mt19937_64 random(7);
    std::vector<T> x, y;
    for (int i = 0; i < 32 * 64; ++i) {
      const std::size_t j = random() % s.x.size();
      x.push_back(s.x[j]);
      y.push_back(s.y[j]);
    }
    // Two thirds of the lanes get other arguments, the rest must keep their bits.
    std::vector<T> x2 = x, y2 = y;
    std::vector<bool> kept(x.size(), true);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (random() % 3 == 0) continue;
      kept[i] = false;
      x2[i] = disturbing[random() % disturbing.size()];
      y2[i] = disturbing[random() % disturbing.size()];
    }
    for (const InstructionSet set : available_instruction_sets()) {
      for (const LaneForm form : kForms) {
        const std::vector<T> a = evaluate(set, f.id, form, x, y),
                             b = evaluate(set, f.id, form, x2, y2);
        int changed = 0;
        for (std::size_t i = 0; i < a.size(); ++i) changed += kept[i] && !same_bits(a[i], b[i]);
        CHECK_MESSAGE(changed == 0, f.name);
      }
    }
  }
}

TEST_CASE(
    "elementary: a lane keeps its bits whatever its neighbours are, huge angles and NaN included") {
  check_neighbours<float>();
  check_neighbours<double>();
}

// Products and sums may be fused in one place and not in another, so two forms of one text can
// round differently; each is within 2 ulp of the truth, and they stay this close to each other.
constexpr double kLargestDifference = 2;  // [ulp]

template <class T>
void check_agreement() {
  for (const Function& f : kFunctions) {
    const Samples<T> s(f.id);
    const InstructionSet first = available_instruction_sets().front();
    const std::vector<T> base = evaluate(first, f.id, LaneForm::scalar, s.x, s.y);
    for (const InstructionSet set : available_instruction_sets()) {
      for (const LaneForm form : kForms) {
        const std::vector<T> got = evaluate(set, f.id, form, s.x, s.y);
        Worst worst;
        for (std::size_t i = 0; i < got.size(); ++i) worst.meet(error_in_ulp(got[i], base[i]), i);
        CAPTURE(f.name);
        CAPTURE(name(set));
        CAPTURE(int(form));
        CAPTURE(s.x[worst.where]);
        CHECK(worst.error <= kLargestDifference);
      }
    }
  }
}

TEST_CASE("elementary: scalars, packs of every width and all instruction sets agree within 2 ulp") {
  check_agreement<float>();
  check_agreement<double>();
}

template <class T>
void check_identities() {
  const auto negated = [](std::vector<T> v) {
    for (T& a : v) a = -a;
    return v;
  };
  const auto differing = [](const std::vector<T>& a, const std::vector<T>& b) {
    int n = 0;
    for (std::size_t i = 0; i < a.size(); ++i) n += !same_bits(a[i], b[i]);
    return n;
  };
  for (const InstructionSet set : available_instruction_sets()) {
    for (const LaneForm form : kForms) {
      const Samples<T> s(sin);
      const auto f = [&](ElementaryFunction id, const std::vector<T>& x) {
        return evaluate(set, id, form, x, s.y);
      };
      CHECK(differing(f(sine_of_sin_cos, s.x), f(sin, s.x)) == 0);
      CHECK(differing(f(cosine_of_sin_cos, s.x), f(cos, s.x)) == 0);
      for (const ElementaryFunction odd : {sin, tan, asin, tanh, atan2}) {
        CHECK(differing(f(odd, negated(s.x)), negated(f(odd, s.x))) == 0);
      }
      CHECK(differing(f(cos, negated(s.x)), f(cos, s.x)) == 0);
    }
  }
}

TEST_CASE(
    "elementary: sin_cos has the bits of sin and cos, and odd and even functions are so to the "
    "bit") {
  check_identities<float>();
  check_identities<double>();
}

TEST_CASE("elementary: every 61st float is right, for functions of one argument" *
          doctest::skip(std::getenv("CYCLOID_LONG_TESTS") == nullptr)) {
  constexpr std::uint64_t kStep = 61, kChunk = 1 << 16;
  for (const Function& f : kFunctions) {
    if (f.id == atan2 || f.id == pow) continue;
    std::vector<Worst> worst(available_instruction_sets().size());
    std::uint64_t next = 0;
    while (next < (std::uint64_t(1) << 32)) {
      std::vector<float> x(kChunk);
      for (float& v : x) {
        v = from_bits<float>(std::uint32_t(next));
        next += kStep;
      }
      std::vector<long double> expected;
      for (const float v : x) expected.push_back(f.reference(v, 0));
      for (std::size_t k = 0; k < worst.size(); ++k) {
        const InstructionSet set = available_instruction_sets()[k];
        const std::vector<float> got = evaluate(set, f.id, LaneForm::one_register, x, x);
        for (std::size_t i = 0; i < x.size(); ++i) {
          worst[k].meet(error_in_ulp(got[i], expected[i]), to_bits(x[i]));
        }
      }
    }
    for (std::size_t k = 0; k < worst.size(); ++k) {
      const std::string line = std::string(f.name) + " " +
                               std::string(name(available_instruction_sets()[k])) + ": " +
                               std::to_string(worst[k].error) + " ulp";
      MESSAGE(line);
      CHECK_MESSAGE(worst[k].error < kLargestError, line);
    }
  }
}

}  // namespace
}  // namespace cycloid
