// FlowRegistry: the parameters and inputs of a flow in a box, by name, and their places.
//
//   viscosity, density; wall:top.velocity (d), inflow:left.velocity (faces, d);
//   obstacle:#0.center, .radius, .size, .sdf, .pivot, .velocity, .angular_velocity
// and, as inputs that are added to them, force (d), wall:top, inflow:left, obstacle:#0.velocity,
// obstacle:#0.angular_velocity.
#pragma once

#include <map>

#include "cycloid/fluid/grid/flow_model.h"
#include "cycloid/system/system.h"

namespace cycloid::inline fluid {

struct GridSide {
  SideKind kind = SideKind::periodic;
  std::vector<double> velocity = {};  // wall: (d) or none; inflow: (faces, d) [m/s]
};

// Throws ModelError on what is no box, and where what flows in cannot flow out.
GridBox make_box(const std::vector<int>& shape, const std::vector<double>& size,
                 const std::vector<std::array<GridSide, 2>>& sides);
void check_number(const char* name, const char* unit, double value, bool may_be_zero);
// Throws on obstacles that no cell of the grid feels.
void check_obstacles(const GridBox& box, const std::vector<FluidObstacle>& obstacles);

// Which obstacle parameters have put beyond a side, so that no fluid feels it; empty: none.
std::string obstacle_outside(const FlowModel& model, const double* p);

class FlowRegistry {
 public:
  FlowRegistry(Parameters& parameters, FlowModel& model, std::vector<std::string> wanted)
      : parameters_(parameters), model_(model), wanted_(std::move(wanted)) {
    model_.parameters = 0;
  }

  // Returns its place.
  int add(const std::string& name, const char* unit, Constraint constraint, std::vector<int> shape,
          const std::vector<double>& value);
  // An input that the user may have asked for.
  void input(const std::string& name, const char* unit, int size);
  void add_sides(const std::vector<std::array<GridSide, 2>>& sides);
  void add_obstacles();
  // Inputs stand in the row in the order in which they were asked for.
  Space place_inputs();

 private:
  struct Wanted {
    std::ptrdiff_t order;
    std::string name;
    const char* unit;
    int size;
  };
  int offset(const std::string& name) const;  // of an input, or -1
  Parameters& parameters_;
  FlowModel& model_;
  std::vector<std::string> wanted_, known_;
  std::vector<Wanted> sizes_;
  std::map<std::string, int> offsets_;
};

}  // namespace cycloid::inline fluid
