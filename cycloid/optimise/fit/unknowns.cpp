#include "cycloid/optimise/fit/unknowns.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "cycloid/base/error.h"
#include "cycloid/base/nearest_name.h"

namespace cycloid::inline optimise {
namespace {

constexpr double kLeastShare = 0.1;  // of a positive number that one step leaves

// A name and the component that follows it in brackets.
struct Place {
  std::string name;
  std::optional<std::size_t> component;
};

Place split_component(const std::string& name) {
  if (name.empty() || name.back() != ']') return {name, std::nullopt};
  const std::size_t open = name.rfind('[');
  if (open == std::string::npos || open + 2 >= name.size()) return {name, std::nullopt};
  std::size_t value = 0;
  for (std::size_t i = open + 1; i + 1 < name.size(); ++i) {
    if (name[i] < '0' || name[i] > '9' || value > 100'000'000) return {name, std::nullopt};
    value = 10 * value + static_cast<std::size_t>(name[i] - '0');
  }
  return {name.substr(0, open), value};
}

// Of number `i` of a parameter in rows: "[2]" or "[1][0]"; nothing for the only one.
std::string index_text(const std::vector<int>& shape, std::size_t i) {
  std::string text;
  for (std::size_t d = shape.size(); d-- > 0;) {
    const std::size_t n = static_cast<std::size_t>(shape[d]);
    text = message("[", i % n, "]") + text;
    i /= n;
  }
  return text;
}

std::vector<double> spread(std::span<const double> given, std::size_t n, const std::string& what) {
  if (given.size() != n && given.size() != 1) {
    throw ParameterError(
        message(what, ": expected ", n, n == 1 ? " number" : " numbers", ", got ", given.size()));
  }
  return given.size() == n ? std::vector<double>(given.begin(), given.end())
                           : std::vector<double>(n, given[0]);
}

}  // namespace

std::vector<PatternMatch> match_names(const std::string& pattern,
                                      const std::vector<std::string>& names) {
  std::vector<std::string> pieces(1);
  for (const char c : pattern) {
    if (c == '*') {
      pieces.emplace_back();
    } else {
      pieces.back() += c;
    }
  }
  std::vector<PatternMatch> found;
  for (const std::string& name : names) {
    if (!name.starts_with(pieces.front()) || !name.ends_with(pieces.back())) continue;
    PatternMatch match{name, {}};
    std::size_t at = pieces.front().size();
    const std::size_t end = name.size() - pieces.back().size();
    bool ok = pieces.size() == 1 ? name == pattern : at <= end;
    // Each star takes as little as it can, the last one the rest.
    for (std::size_t i = 1; ok && i + 1 < pieces.size(); ++i) {
      const std::size_t next = name.find(pieces[i], at);
      ok = next != std::string::npos && next + pieces[i].size() <= end;
      if (!ok) break;
      match.stars.push_back(name.substr(at, next - at));
      at = next + pieces[i].size();
    }
    if (!ok) continue;
    if (pieces.size() > 1) match.stars.push_back(name.substr(at, end - at));
    found.push_back(std::move(match));
  }
  return found;
}

std::vector<std::vector<std::string>> tied_names(const System& system,
                                                 const std::vector<std::string>& patterns) {
  if (patterns.size() < 2) {
    throw ParameterError("tie: expected two names or patterns at least, whose values are equal");
  }
  const auto stars_in = [](const std::string& p) { return std::count(p.begin(), p.end(), '*'); };
  for (const std::string& pattern : patterns) {
    if (stars_in(pattern) == stars_in(patterns.front())) continue;
    throw ParameterError(message("tie: \"", patterns.front(), "\" and \"", pattern,
                                 "\" must have the same number of stars"));
  }
  if (stars_in(patterns.front()) == 0) return {patterns};
  // A pattern of single numbers ends in "[2]".
  const bool numbers = patterns.front().ends_with(']');
  std::vector<std::string> names;
  for (const Parameter& p : system.parameters().all()) {
    if (!numbers) names.push_back(p.name);
    for (int i = 0; numbers && i < p.size; ++i) names.push_back(message(p.name, "[", i, "]"));
  }
  std::vector<std::vector<std::string>> tied;
  for (const std::string& pattern : patterns) {
    if (!match_names(pattern, names).empty()) continue;
    throw ParameterError(
        message("tie: no parameter matches \"", pattern, "\"", did_you_mean(pattern, names)));
  }
  for (const PatternMatch& first : match_names(patterns.front(), names)) {
    std::vector<std::string> group{first.name};
    for (std::size_t i = 1; i < patterns.size(); ++i) {
      std::string partner;
      std::size_t star = 0;
      for (const char c : patterns[i]) {
        partner += c == '*' ? first.stars[star++] : std::string(1, c);
      }
      if (std::find(names.begin(), names.end(), partner) == names.end()) {
        throw ParameterError(message("tie: \"", first.name, "\" has no partner \"", partner, "\"",
                                     did_you_mean(partner, names)));
      }
      if (partner != first.name) group.push_back(partner);
    }
    tied.push_back(std::move(group));
  }
  return tied;
}

Unknowns::Unknowns(const System& system, const std::vector<UnknownRequest>& requests,
                   const UnknownOptions& options)
    : system_(system),
      base_(options.parameters.empty() ? system.parameters().default_values()
                                       : options.parameters) {
  system.check_parameters(base_);
  for (const UnknownRequest& request : requests) {
    if (request.names.size() == 1) {
      add(request.names, request.guess);
      continue;
    }
    for (const auto& group : tied_names(system, request.names)) add(group, request.guess);
  }
  std::set<int> taken;
  for (const Group& group : groups_) {
    for (const Member& member : group.members) {
      for (int i = 0; i < group.size; ++i) {
        if (taken.insert(member.offset + i).second) continue;
        throw ParameterError(message("\"", member.name, "\" is among the unknowns twice"));
      }
    }
  }
  value_low_.assign(size(), -kInfinity);
  value_high_.assign(size(), kInfinity);
  for (const UnknownBounds& b : options.bounds) bound(b);
  for (const UnknownPrior& p : options.priors) believe(p);
  if (const std::string reason = refusal(start_); !reason.empty()) throw ParameterError(reason);
}

void Unknowns::add(const std::vector<std::string>& names, std::span<const double> guess) {
  const Parameters& registry = system_.parameters();
  Group group;
  group.place = static_cast<int>(size());
  for (const std::string& asked : names) {
    const Place at = registry.contains(asked) ? Place{asked, std::nullopt} : split_component(asked);
    const Parameter& p = registry.find(at.name);
    if (p.name == kTimestepName) {
      throw ParameterError(
          "\"option.timestep\" cannot be an unknown here: the number of steps between two samples "
          "follows from it");
    }
    if (!p.not_differentiable.empty()) {
      throw ParameterError(
          message("\"", p.name, "\" cannot be an unknown: ", p.not_differentiable));
    }
    if (at.component && *at.component >= static_cast<std::size_t>(p.size)) {
      throw ParameterError(message("\"", asked, "\": \"", p.name, "\" has ", p.size,
                                   p.size == 1 ? " number" : " numbers"));
    }
    const int numbers = at.component ? 1 : p.size;
    const bool first = group.members.empty();
    if (first) {
      group.size = numbers;
      group.shape = at.component ? std::vector<int>() : p.shape;
      group.constraint =
          at.component && p.constraint == Constraint::inertia ? Constraint::none : p.constraint;
      group.free = !at.component && p.constraint == Constraint::inertia && p.size == 6;
    } else if (numbers != group.size) {
      throw ParameterError(message("tie: \"", group.members.front().name, "\" has ", group.size,
                                   " numbers and \"", asked, "\" has ", numbers));
    }
    group.members.push_back(
        {asked, p.offset + (at.component ? static_cast<int>(*at.component) : 0)});
    member_names_.push_back(asked);
  }
  const std::string& name = group.members.front().name;
  const std::size_t n = static_cast<std::size_t>(group.size);
  std::vector<double> v(base_.begin() + group.members.front().offset,
                        base_.begin() + group.members.front().offset + group.size);
  if (!guess.empty()) v = spread(guess, n, message("the guess of \"", name, "\""));
  for (const double number : v) {
    if (!std::isfinite(number)) {
      throw ParameterError(message("the guess of \"", name, "\" must be finite, got ", v));
    }
  }
  if (!satisfies(group.constraint, v.data(), group.size)) {
    throw ParameterError(
        message("the guess of \"", name, "\" must be ", describe(group.constraint), ", got ", v));
  }
  std::vector<double> z = v;
  if (group.free) free_from_value(Constraint::inertia, v.data(), group.size, z.data());
  const bool is_positive = group.constraint == Constraint::positive;
  const bool from_zero = is_positive || group.constraint == Constraint::non_negative ||
                         group.constraint == Constraint::unit_interval;
  for (std::size_t i = 0; i < n; ++i) {
    names_.push_back(name + index_text(group.shape, i));
    start_.push_back(z[i]);
    low_.push_back(from_zero ? 0 : -kInfinity);
    high_.push_back(group.constraint == Constraint::unit_interval ? 1 : kInfinity);
    positive_.push_back(from_zero || (group.free && i < 3));
    bounded_below_.push_back(!is_positive);
  }
  groups_.push_back(std::move(group));
}

// The numbers that a name stands for: a member's, or one component of a member's.
std::vector<int> Unknowns::places_of(const std::string& name, const char* what) const {
  const auto find = [&](const std::string& wanted) -> const Group* {
    for (const Group& group : groups_) {
      for (const Member& member : group.members) {
        if (member.name == wanted) return &group;
      }
    }
    return nullptr;
  };
  std::vector<int> places;
  if (const Group* group = find(name)) {
    for (int i = 0; i < group->size; ++i) places.push_back(group->place + i);
    return places;
  }
  const Place at = split_component(name);
  const Group* group = at.component ? find(at.name) : nullptr;
  if (!group || *at.component >= static_cast<std::size_t>(group->size)) {
    throw ParameterError(message(what, ": \"", name, "\" is not among the unknowns",
                                 did_you_mean(name, member_names_)));
  }
  return {group->place + static_cast<int>(*at.component)};
}

void Unknowns::bound(const UnknownBounds& bounds) {
  const std::vector<int> places = places_of(bounds.name, "bounds");
  const std::string what = message("bounds of \"", bounds.name, "\"");
  const std::vector<double> low = spread(bounds.low, places.size(), what),
                            high = spread(bounds.high, places.size(), what);
  const std::vector<double> v = values(start_);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::size_t at = static_cast<std::size_t>(places[i]);
    if (!(low[i] <= high[i])) {
      throw ParameterError(
          message(what, ": low must not exceed high, got ", low[i], " and ", high[i]));
    }
    value_low_[at] = std::max(value_low_[at], low[i]);
    value_high_[at] = std::min(value_high_[at], high[i]);
    if (v[at] < low[i] || v[at] > high[i]) {
      throw ParameterError(message(what, " exclude the start: ", names_[at], " begins at ", v[at],
                                   ", outside ", low[i], " to ", high[i],
                                   "; give a guess inside, or wider bounds"));
    }
  }
  for (const Group& group : groups_) {
    if (group.free) continue;  // refused where it breaks them
    for (int i = group.place; i < group.place + group.size; ++i) {
      const std::size_t at = static_cast<std::size_t>(i);
      if (value_low_[at] > low_[at]) low_[at] = value_low_[at], bounded_below_[at] = true;
      high_[at] = std::min(high_[at], value_high_[at]);
    }
  }
}

void Unknowns::believe(const UnknownPrior& prior) {
  const std::vector<int> places = places_of(prior.name, "priors");
  const std::string what = message("the prior of \"", prior.name, "\"");
  const std::vector<double> mean = spread(prior.mean, places.size(), what),
                            std = spread(prior.std, places.size(), what);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!std::isfinite(mean[i]) || !(std[i] > 0) || !std::isfinite(std[i])) {
      throw ParameterError(message(what,
                                   ": expected a finite mean and a positive standard "
                                   "deviation, got ",
                                   mean[i], " and ", std[i]));
    }
    priors_.push_back({places[i], mean[i], std[i]});
  }
}

std::vector<double> Unknowns::values(std::span<const double> z) const {
  std::vector<double> v(z.begin(), z.end());
  for (const Group& group : groups_) {
    if (group.free) inertia_from_free(z.data() + group.place, v.data() + group.place);  // (2)
  }
  return v;
}

std::vector<double> Unknowns::parameters(std::span<const double> z) const {
  const std::vector<double> v = values(z);
  std::vector<double> p = base_;
  for (const Group& group : groups_) {
    for (const Member& member : group.members) {
      std::copy_n(v.begin() + group.place, group.size, p.begin() + member.offset);  // (3)
    }
  }
  return p;
}

void Unknowns::pull_parameters(std::span<const double> z, std::span<const double> p_bar,
                               std::span<double> z_bar) const {
  for (const Group& group : groups_) {
    std::vector<double> v_bar(static_cast<std::size_t>(group.size), 0.0);
    for (const Member& member : group.members) {
      for (int i = 0; i < group.size; ++i) {
        v_bar[static_cast<std::size_t>(i)] += p_bar[static_cast<std::size_t>(member.offset + i)];
      }
    }
    if (group.free) {
      inertia_from_free_pullback(z.data() + group.place, v_bar.data(), z_bar.data() + group.place);
      continue;
    }
    for (int i = 0; i < group.size; ++i) {
      z_bar[static_cast<std::size_t>(group.place + i)] += v_bar[static_cast<std::size_t>(i)];
    }
  }
}

std::vector<double> Unknowns::values_jacobian(std::span<const double> z) const {
  const std::size_t k = size();
  std::vector<double> jacobian(k * k, 0.0);
  for (const Group& group : groups_) {
    for (int i = 0; i < group.size; ++i) {
      const std::size_t row = static_cast<std::size_t>(group.place + i);
      if (!group.free) {
        jacobian[row * k + row] = 1;
        continue;
      }
      double v_bar[6] = {};
      v_bar[i] = 1;
      inertia_from_free_pullback(z.data() + group.place, v_bar,
                                 jacobian.data() + row * k + static_cast<std::size_t>(group.place));
    }
  }
  return jacobian;
}

std::vector<double> Unknowns::directions(std::span<const double> z) const {
  const std::size_t k = size(), np = base_.size();
  const std::vector<double> dv_dz = values_jacobian(z);
  std::vector<double> rows(k * np, 0.0);
  for (const Group& group : groups_) {
    for (const Member& member : group.members) {
      for (int i = 0; i < group.size; ++i) {
        for (int j = 0; j < group.size; ++j) {
          const std::size_t of = static_cast<std::size_t>(group.place + j),
                            at = static_cast<std::size_t>(member.offset + i),
                            row = static_cast<std::size_t>(group.place + i);
          rows[of * np + at] = dv_dz[row * k + of];
        }
      }
    }
  }
  return rows;
}

void Unknowns::project(std::span<const double> z, std::span<double> to) const {
  for (std::size_t i = 0; i < size(); ++i) {
    const double low = bounded_below_[i] ? low_[i] : std::max(low_[i], kLeastShare * z[i]);
    to[i] = std::clamp(to[i], low, high_[i]);
  }
}

std::string Unknowns::refusal(std::span<const double> z) const {
  const std::vector<double> v = values(z);
  for (std::size_t i = 0; i < size(); ++i) {
    if (!std::isfinite(v[i])) return message(names_[i], " is not finite");
    if (v[i] < value_low_[i] || v[i] > value_high_[i]) {
      return message(names_[i], " must be between ", value_low_[i], " and ", value_high_[i],
                     ", got ", v[i]);
    }
  }
  try {
    system_.check_parameters(parameters(z));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace cycloid::inline optimise
