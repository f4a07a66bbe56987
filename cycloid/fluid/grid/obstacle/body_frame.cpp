#include "cycloid/fluid/grid/obstacle/body_frame.h"

#include <cmath>

namespace cycloid::inline fluid {
namespace {

// R(θ) of (1), and what is turned: the plane's axes are 1 and 2.
struct Turn {
  double c, s;
  explicit Turn(double angle) : c(std::cos(angle)), s(std::sin(angle)) {}
  void forward(const double* from, double* to) const {
    to[1] = c * from[1] - s * from[2], to[2] = s * from[1] + c * from[2];
  }
  void back(const double* from, double* to) const {
    to[1] = c * from[1] + s * from[2], to[2] = -s * from[1] + c * from[2];
  }
};

// q = Rᵀ r.
void turned_back(const GridBox& box, const double* centre, const double* way, const double* x,
                 double* q) {
  const double place[2] = {centre[0] + way[0], centre[1] + way[1]};
  double r[3] = {};
  way_from(box, place, x, r);
  Turn(way[box.dimensions]).back(r, q);
}

}  // namespace

void seen_from(const GridBox& box, const FluidObstacle& obstacle, const double* numbers,
               const double* way, const double* x, double* y) {
  if (!obstacle.turns) {
    for (int a = 0; a < 3; ++a) y[a] = x[a] - (a < box.first ? 0 : way[a - box.first]);
    return;
  }
  const double* const centre = numbers + obstacle.centre(box.dimensions);
  double q[3] = {};
  turned_back(box, centre, way, x, q);
  y[0] = x[0];
  for (int a = box.first; a < 3; ++a) y[a] = centre[a - box.first] + q[a];  // (1)
}

void seen_from_pullback(const GridBox& box, const FluidObstacle& obstacle, const double* numbers,
                        const double* way, const double* x, const double* y_bar,
                        double* numbers_bar, double* way_bar) {
  if (!obstacle.turns) {
    for (int a = box.first; a < 3; ++a) way_bar[a - box.first] -= y_bar[a];
    return;
  }
  const int centre = obstacle.centre(box.dimensions);
  double q[3] = {}, r_bar[3] = {};
  turned_back(box, numbers + centre, way, x, q);
  Turn(way[box.dimensions]).forward(y_bar, r_bar);
  for (int a = box.first; a < 3; ++a) {
    numbers_bar[centre + a - box.first] += y_bar[a] - r_bar[a];  // (2)
    way_bar[a - box.first] -= r_bar[a];
  }
  way_bar[box.dimensions] += q[2] * y_bar[1] - q[1] * y_bar[2];
}

void seen_from_pushforward(const GridBox& box, const FluidObstacle& obstacle, const double* numbers,
                           const double* way, const double* x, const double* numbers_tan,
                           const double* way_tan, double* y_tan) {
  if (!obstacle.turns) {
    for (int a = box.first; a < 3; ++a) y_tan[a] = -way_tan[a - box.first];
    return;
  }
  const int centre = obstacle.centre(box.dimensions);
  const double* const centre_tan = numbers_tan + centre;
  double q[3] = {}, r_tan[3] = {}, q_tan[3] = {};
  turned_back(box, numbers + centre, way, x, q);
  for (int a = box.first; a < 3; ++a) {
    r_tan[a] = -centre_tan[a - box.first] - way_tan[a - box.first];
  }
  Turn(way[box.dimensions]).back(r_tan, q_tan);
  const double turn_tan = way_tan[box.dimensions];
  y_tan[1] = centre_tan[0] + q_tan[1] + turn_tan * q[2];  // (1)
  y_tan[2] = centre_tan[1] + q_tan[2] - turn_tan * q[1];
}

}  // namespace cycloid::inline fluid
