// Unknowns: named parameters of a System as the numbers that an optimiser moves.
//
// A group is one parameter ("mass", shape and all), one component ("option.gravity[2]"), or several
// of equal size that are tied to have equal values. Its physical values v and its coordinates z:
//   z = v                               for all but whole inertias                        (1)
//   v = inertia_from_free(z)            of six numbers, system/constraint.h (5)           (2)
//   p[offset of member + i] = v_i       for every member of the group                     (3)
// so that every z is an inertia of a real body, and other numbers stay physical by bounds:
//   low ≤ z ≤ high                      the registry's constraint and the caller's own    (4)
// A positive number without a bound of the caller's keeps a tenth of itself in one step
// (`project`): it comes near to zero, never to it.
// A prior (mean, std) of a value is one more residual, (v - mean) / std.                  (5)
//
// Ties are patterns with `*`: {"body:left_*.mass", "body:right_*.mass"} ties each pair for which
// the stars stand for the same.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "cycloid/system/system.h"

namespace cycloid::inline optimise {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What is unknown: a name, or several patterns that are tied. The guess has one number for each
// number of a member, or one for all; empty: where the parameters stand.
struct UnknownRequest {
  std::vector<std::string> names;
  std::vector<double> guess = {};
};

// Of a name or a component among the unknowns; one number for all, or one each.
struct UnknownBounds {
  std::string name;
  std::vector<double> low, high;
};
struct UnknownPrior {
  std::string name;
  std::vector<double> mean, std;
};

struct UnknownOptions {
  std::vector<UnknownBounds> bounds = {};
  std::vector<UnknownPrior> priors = {};
  std::vector<double> parameters = {};  // where all others stand; empty: the defaults
};

class Unknowns {
 public:
  struct Member {
    std::string name;  // as it was asked for: "body:l2.com", "option.gravity[2]"
    int offset = 0;    // of its first number in the flat vector
  };
  struct Group {
    std::vector<Member> members;  // the first gives the names of the numbers
    int place = 0, size = 1;      // in z and v
    std::vector<int> shape;       // of its values
    Constraint constraint = Constraint::none;
    bool free = false;  // z are free variables (2)
  };
  struct Prior {
    int place;
    double mean, std;
  };

  // Throws ParameterError on a name that there is not (with the nearest), one that is asked for
  // twice, is not differentiated or is the time step; on a guess, bounds or a prior that cannot be;
  // and on bounds that exclude the guess.
  Unknowns(const System& system, const std::vector<UnknownRequest>& requests,
           const UnknownOptions& options = {});

  std::size_t size() const { return start_.size(); }
  const std::vector<Group>& groups() const { return groups_; }
  const std::vector<std::string>& names() const { return names_; }  // one per number
  const std::vector<Prior>& priors() const { return priors_; }
  const std::vector<double>& start() const { return start_; }  // z of the guess
  const std::vector<double>& low() const { return low_; }      // of z
  const std::vector<double>& high() const { return high_; }
  bool positive(std::size_t i) const { return positive_[i]; }  // v_i is never below zero
  const System& system() const { return system_; }

  std::vector<double> values(std::span<const double> z) const;      // v, (2)
  std::vector<double> parameters(std::span<const double> z) const;  // p, (3)
  // Adds to z_bar.
  void pull_parameters(std::span<const double> z, std::span<const double> p_bar,
                       std::span<double> z_bar) const;
  // ∂v/∂z, (k, k) row by row.
  std::vector<double> values_jacobian(std::span<const double> z) const;
  // ∂p/∂z transposed: a row of the flat vector for each z.
  std::vector<double> directions(std::span<const double> z) const;
  // Brings a step from z to `to` within the bounds.
  void project(std::span<const double> z, std::span<double> to) const;
  // Why these numbers cannot be parameters, or nothing.
  std::string refusal(std::span<const double> z) const;

 private:
  void add(const std::vector<std::string>& names, std::span<const double> guess);
  void bound(const UnknownBounds& bounds);
  void believe(const UnknownPrior& prior);
  std::vector<int> places_of(const std::string& name, const char* what) const;

  System system_;
  std::vector<double> base_;  // p
  std::vector<Group> groups_;
  std::vector<std::string> names_, member_names_;
  std::vector<double> start_, low_, high_;
  std::vector<double> value_low_, value_high_;  // of v, the caller's own
  std::vector<bool> positive_, bounded_below_;
  std::vector<Prior> priors_;
};

// Names that match a pattern with `*`, with what the stars stand for.
struct PatternMatch {
  std::string name;
  std::vector<std::string> stars;
};
std::vector<PatternMatch> match_names(const std::string& pattern,
                                      const std::vector<std::string>& names);

// The pairs (or triples, …) that tied patterns name. Throws ParameterError where one matches
// nothing, or has no partner.
std::vector<std::vector<std::string>> tied_names(const System& system,
                                                 const std::vector<std::string>& patterns);

}  // namespace cycloid::inline optimise
