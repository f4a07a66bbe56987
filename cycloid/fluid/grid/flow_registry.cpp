#include "cycloid/fluid/grid/flow_registry.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/base/nearest_name.h"

namespace cycloid::inline fluid {
namespace {

std::string side_key(const GridBox& box, int axis, int high) {
  const char* const kind = box.side[at(axis)][at(high)] == SideKind::inflow ? "inflow:" : "wall:";
  return message(kind, side_name(axis - box.first, high));
}

}  // namespace

GridBox make_box(const std::vector<int>& shape, const std::vector<double>& size,
                 const std::vector<std::array<GridSide, 2>>& sides) {
  std::vector<std::array<SideKind, 2>> kinds;
  for (const auto& axis : sides) kinds.push_back({axis[0].kind, axis[1].kind});
  const GridBox box(shape, size, kinds);
  if (box.has(SideKind::inflow) && !box.has(SideKind::outflow)) {
    throw ModelError(
        "what flows in must flow out: a box with an \"inflow\" side needs an \"outflow\" side");
  }
  return box;
}

void check_number(const char* name, const char* unit, double value, bool may_be_zero) {
  if (std::isfinite(value) && (value > 0 || (may_be_zero && value == 0))) return;
  throw ParameterError(message(name, " must be ", may_be_zero ? "zero or positive" : "positive",
                               unit, "; got ", value));
}

void check_obstacles(const GridBox& box, const std::vector<FluidObstacle>& obstacles) {
  std::vector<bool> covers(obstacles.size(), false);
  bool any_open = obstacles.empty();
  for (int i = 0; i < box.n[0]; ++i) {
    for (int j = 0; j < box.n[1]; ++j) {
      for (int k = 0; k < box.n[2]; ++k) {
        const double x[3] = {(i + 0.5) * box.h[0], (j + 0.5) * box.h[1], (k + 0.5) * box.h[2]};
        bool open = true;
        for (std::size_t o = 0; o < obstacles.size(); ++o) {
          const FluidObstacle& one = obstacles[o];
          if (signed_distance(box, one.kind, one.numbers.data(), x) >= 0) continue;
          covers[o] = true;
          open = false;
        }
        any_open = any_open || open;
      }
    }
  }
  for (std::size_t o = 0; o < obstacles.size(); ++o) {
    if (covers[o]) continue;
    throw ModelError(message("obstacle:#", o,
                             " covers no cell of the grid: it lies outside the "
                             "box, or is smaller than a cell"));
  }
  if (!any_open) throw ModelError("obstacles cover every cell of the grid: no fluid is left");
}

std::string obstacle_outside(const FlowModel& model, const double* p) {
  const GridBox& box = model.box;
  for (std::size_t i = 0; i < model.obstacles.size(); ++i) {
    const FluidObstacle& o = model.obstacles[i];
    const double* const numbers = p + model.obstacle[i].numbers;
    if (o.kind == ObstacleKind::array) {
      const auto count = static_cast<std::ptrdiff_t>(o.numbers.size()) - (o.turns ? 2 : 0);
      if (*std::min_element(numbers, numbers + count) < 0) continue;
      return message("obstacle:#", i, ".sdf has no number below zero: there is no such obstacle");
    }
    double reach = numbers[box.dimensions];  // from its center
    if (o.kind == ObstacleKind::box) {
      double squares = 0;
      for (int a = 0; a < box.dimensions; ++a) {
        squares += numbers[box.dimensions + a] * numbers[box.dimensions + a];
      }
      reach = std::sqrt(squares) / 2;
    }
    for (int a = 0; a < box.dimensions; ++a) {
      const int b = a + box.first;
      const double length = box.n[at(b)] * box.h[at(b)];
      if (box.periodic(b) || (numbers[a] + reach > 0 && numbers[a] - reach < length)) continue;
      return message("obstacle:#", i, " lies outside the box: its center is at ", numbers[a],
                     " m along axis ", a, ", which goes from 0 to ", length, " m");
    }
  }
  return {};
}

int FlowRegistry::add(const std::string& name, const char* unit, Constraint constraint,
                      std::vector<int> shape, const std::vector<double>& value) {
  Parameter p;
  p.name = name, p.unit = unit, p.constraint = constraint, p.shape = std::move(shape);
  p.size = static_cast<int>(value.size());
  parameters_.add(std::move(p), value);
  const int place = model_.parameters;
  model_.parameters += static_cast<int>(value.size());
  return place;
}

void FlowRegistry::input(const std::string& name, const char* unit, int size) {
  known_.push_back(name);
  const auto found = std::find(wanted_.begin(), wanted_.end(), name);
  if (found == wanted_.end()) return;
  sizes_.push_back({found - wanted_.begin(), name, unit, size});
}

int FlowRegistry::offset(const std::string& name) const {
  const auto found = offsets_.find(name);
  return found == offsets_.end() ? -1 : found->second;
}

Space FlowRegistry::place_inputs() {
  std::sort(sizes_.begin(), sizes_.end(),
            [](const auto& x, const auto& y) { return x.order < y.order; });
  std::vector<BlockSpec> specs;
  for (const Wanted& w : sizes_) {
    offsets_[w.name] = model_.inputs;
    model_.inputs += w.size;
    specs.push_back({w.name.c_str(), w.size, w.unit});
  }
  for (const std::string& name : wanted_) {
    if (std::count(wanted_.begin(), wanted_.end(), name) > 1) {
      throw ModelError(message("the input \"", name, "\" is named twice"));
    }
    if (!offsets_.contains(name)) {
      throw ModelError(
          message("no input of this flow is called \"", name, "\"", did_you_mean(name, known_)));
    }
  }
  model_.force_input = offset("force");
  for (int b = model_.box.first; b < 3; ++b) {
    for (int s = 0; s < 2; ++s) {
      model_.side[at(b)][at(s)].input = offset(side_key(model_.box, b, s));
    }
  }
  for (std::size_t i = 0; i < model_.obstacle.size(); ++i) {
    model_.obstacle[i].velocity.input = offset(message("obstacle:#", i, ".velocity"));
    model_.obstacle[i].spin.input = offset(message("obstacle:#", i, ".angular_velocity"));
  }
  return specs.empty() ? Space() : Space(specs);
}

void FlowRegistry::add_sides(const std::vector<std::array<GridSide, 2>>& sides) {
  const GridBox& box = model_.box;
  const int d = box.dimensions;
  for (int b = box.first; b < 3; ++b) {
    for (int s = 0; s < 2; ++s) {
      const GridSide& side = sides[at(b - box.first)][at(s)];
      const bool wall = side.kind == SideKind::wall;
      if (!wall && side.kind != SideKind::inflow) continue;
      const int rows = wall ? 1 : box.side_faces(b);
      std::vector<double> velocity = side.velocity;
      if (wall && velocity.empty()) velocity.assign(at(d), 0.0);
      const std::string key = side_key(box, b, s);
      if (velocity.size() != at(rows * d)) {
        throw ModelError(
            message(key, ".velocity needs ", rows * d, " numbers; got ", velocity.size()));
      }
      if (wall && velocity[at(b - box.first)] != 0) {
        throw ModelError(message(
            "\"", side_name(b - box.first, s), "\": a wall moves along itself; its velocity has ",
            velocity[at(b - box.first)], " m/s across it: take (\"inflow\", velocity)"));
      }
      model_.side[at(b)][at(s)].parameter =
          add(key + ".velocity", "m/s", Constraint::none,
              wall ? std::vector<int>{d} : std::vector<int>{rows, d}, velocity);
      input(key, "m/s", rows * d);
    }
  }
}

void FlowRegistry::add_obstacles() {
  const GridBox& box = model_.box;
  const int d = box.dimensions;
  for (std::size_t i = 0; i < model_.obstacles.size(); ++i) {
    const FluidObstacle& o = model_.obstacles[i];
    const std::string key = message("obstacle:#", i);
    FlowModel::ObstaclePlace place;
    if (o.turns && d == 3) throw ModelError(message(key, ": obstacles turn in the plane only"));
    const auto part = [&](int from, int count) {
      return std::vector<double>(o.numbers.begin() + from, o.numbers.begin() + from + count);
    };
    if (o.kind == ObstacleKind::array) {
      std::vector<int> shape;
      int count = 1;
      for (int a = box.first; a < 3; ++a) shape.push_back(box.n[at(a)] + 1), count *= shape.back();
      if (o.numbers.size() != at(count + (o.turns ? d : 0))) {
        throw ModelError(message(key,
                                 ": the array of signed distances has one number for each "
                                 "corner of cells, ",
                                 count, " in all; got ", o.numbers.size() - at(o.turns ? d : 0)));
      }
      place.numbers = add(key + ".sdf", "m", Constraint::none, shape, part(0, count));
      if (o.turns) place.centre = add(key + ".pivot", "m", Constraint::none, {d}, part(count, d));
    } else {
      const int sizes = o.kind == ObstacleKind::circle ? 1 : d;
      if (o.numbers.size() != at(d + sizes)) {
        throw ModelError(message(key, " needs ", d, " numbers of its center; got ",
                                 o.numbers.size() - at(sizes)));
      }
      place.numbers = place.centre = add(key + ".center", "m", Constraint::none, {d}, part(0, d));
      if (sizes == 1) add(key + ".radius", "m", Constraint::positive, {}, part(d, 1));
      else add(key + ".size", "m", Constraint::positive, {d}, part(d, d));
    }
    if (place.centre >= 0) {
      place.spin.parameter = add(key + ".angular_velocity", "rad/s", Constraint::none,
                                 d == 2 ? std::vector<int>{} : std::vector<int>{3},
                                 std::vector<double>(at(model_.spins()), 0.0));
      input(key + ".angular_velocity", "rad/s", model_.spins());
    }
    place.velocity.parameter =
        add(key + ".velocity", "m/s", Constraint::none, {d}, std::vector<double>(at(d), 0.0));
    input(key + ".velocity", "m/s", d);
    model_.obstacle.push_back(place);
  }
}

}  // namespace cycloid::inline fluid
