#include "cycloid/system/randomise.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/base/fnv_hash.h"
#include "cycloid/base/random.h"

namespace cycloid::inline system {
namespace {

[[noreturn]] void refuse(const Parameter& p, const std::string& what) {
  throw ParameterError(message("parameter \"", p.name, "\": ", what));
}

void check_numbers(const Parameter& p, std::string_view what, const std::vector<double>& numbers) {
  if (numbers.size() != 1 && numbers.size() != static_cast<std::size_t>(p.size)) {
    refuse(p, message("expected one number for ", what, ", or ", p.size, "; got ", numbers.size()));
  }
  for (const double v : numbers) {
    if (!std::isfinite(v)) refuse(p, message(what, " must be finite; got ", v));
  }
}

double at(const std::vector<double>& numbers, int i) {
  return numbers[numbers.size() == 1 ? 0 : static_cast<std::size_t>(i)];
}

void check_width(const Parameter& p, const std::vector<double>& s) {
  check_numbers(p, "s", s);
  for (const double v : s) {
    if (v < 0) refuse(p, message("s must not be negative; got ", v));
  }
}

bool is_inertia(const Parameter& p) {
  return p.constraint == Constraint::inertia || (p.size == 6 && p.unit == "kg·m²");
}

// One law for one parameter: whether it makes sense, what it draws, what it is called.
struct Check {
  const Parameter& p;
  void operator()(const LogNormal& law) const {
    check_width(p, law.s);
    if (is_inertia(p) && law.s.size() != 1) {
      refuse(p, "LogNormal scales an inertia as a whole: s must be one number");
    }
  }
  void operator()(const Normal& law) const { check_width(p, law.s); }
  void operator()(const Uniform& law) const {
    check_numbers(p, "the lower end", law.low);
    check_numbers(p, "the upper end", law.high);
    for (int i = 0; i < p.size; ++i) {
      if (at(law.low, i) > at(law.high, i)) {
        refuse(p, message("Uniform goes from a lower to an upper end; got ", at(law.low, i), " to ",
                          at(law.high, i)));
      }
    }
  }
};

// False when a number has left the range of doubles.
struct Draw {
  const Parameter& p;
  const double* standard;  // the defaults
  RandomStream& random;
  double* value;

  bool operator()(const LogNormal& law) const {
    double factor = 1;
    for (int i = 0; i < p.size; ++i) {
      if (i == 0 || !is_inertia(p)) factor = std::exp(at(law.s, i) * random.normal());
      value[i] = standard[i] * factor;  // (1)
      if (value[i] == 0 && standard[i] != 0) return false;
    }
    return true;
  }
  bool operator()(const Normal& law) const {
    for (int i = 0; i < p.size; ++i)
      value[i] = standard[i] + at(law.s, i) * random.normal();  // (2)
    return true;
  }
  bool operator()(const Uniform& law) const {
    for (int i = 0; i < p.size; ++i) {
      value[i] = random.uniform(at(law.low, i), at(law.high, i));  // (3)
    }
    return true;
  }
};

std::string_view name_of(const Spread& spread) {
  constexpr std::string_view kNames[] = {"LogNormal", "Normal", "Uniform"};
  return kNames[spread.index()];
}

// A multiple of a degenerate default is as good as the default.
Constraint asked_of(const Parameter& p, const Spread& spread) {
  const bool scaled = std::holds_alternative<LogNormal>(spread);
  return is_inertia(p) && !scaled ? Constraint::inertia : p.constraint;
}

}  // namespace

std::map<std::string, std::vector<double>> randomise(const System& system,
                                                     const std::map<std::string, Spread>& spreads,
                                                     std::int64_t batch, std::uint64_t seed) {
  constexpr std::int64_t kMost = std::int64_t{1} << 32;  // environments of a stream
  if (batch < 1 || batch > kMost) {
    throw Error(message("batch must be from 1 to ", kMost, "; got ", batch));
  }
  const Parameters& registry = system.parameters();
  for (const auto& [name, spread] : spreads) {
    const Parameter& p = registry.find(name);  // knows the nearest name
    if (!system.varies(p.offset)) {
      refuse(p, "it may not differ between environments: name it in vary when the system is made");
    }
    std::visit(Check{p}, spread);
  }

  std::map<std::string, std::vector<double>> drawn;
  for (const auto& [name, spread] : spreads) {
    const Parameter& p = registry.find(name);
    const double* standard = registry.default_values().data() + p.offset;
    const Constraint asked = asked_of(p, spread);
    const auto size = static_cast<std::size_t>(p.size);
    std::vector<double>& values = drawn[name];
    values.resize(static_cast<std::size_t>(batch) * size);
    for (std::int64_t e = 0; e < batch; ++e) {
      RandomStream random(seed, static_cast<std::uint32_t>(e), fnv_hash(name));
      double* value = values.data() + static_cast<std::size_t>(e) * size;
      int draws = 0;
      while (!std::visit(Draw{p, standard, random, value}, spread) ||
             !satisfies(asked, value, p.size)) {
        if (++draws == kMostDraws) {
          refuse(p, message("of ", kMostDraws, " draws of ", name_of(spread), " for environment ",
                            e, " none is ", describe(asked), "; make the spread narrower"));
        }
      }
    }
  }
  return drawn;
}

}  // namespace cycloid::inline system
