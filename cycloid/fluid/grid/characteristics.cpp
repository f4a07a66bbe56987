#include "cycloid/fluid/grid/characteristics.h"

#include <algorithm>
#include <cmath>

namespace cycloid::inline fluid {
namespace {

// Faces of component b around face m of component a, whose mean is u_b there: their steps from m.
int around(const GridBox& box, int a, int b, std::ptrdiff_t* step) {
  if (a == b) {
    step[0] = 0;
    return 1;
  }
  const std::ptrdiff_t sa = box.stride[at(a)], sb = box.stride[at(b)];
  step[0] = -sa, step[1] = 0, step[2] = sb - sa, step[3] = sb;
  return 4;
}

// Along one axis: the cell, the part of it, and whether the position moves freely.
struct AxisPlace {
  int low;
  double part;
  bool free;
};

AxisPlace place_along(const GridBox& box, int a, int b, double position) {
  const int n = box.n[at(b)];
  if (box.periodic(b)) {
    const double cell = std::floor(position);
    const int low = static_cast<int>(cell - n * std::floor(cell / n));  // far ones are rounded
    return {std::clamp(low, 0, n - 1), position - cell, true};
  }
  const double first = a == b ? 0 : -0.5, last = a == b ? n : n - 0.5;
  const double inside = std::clamp(position, first, last);
  const int low = std::clamp(static_cast<int>(std::floor(inside)), a == b ? 0 : -1, n - 1);
  return {low, inside - low, inside == position};
}

}  // namespace

template <class T>
T FollowedFace<T>::value(const std::vector<T>& phi) const {
  T sum = 0;
  for (int c = 0; c < corners; ++c) sum += weight[c] * phi[at(corner[c])];
  return sum;
}

template <class T>
std::ptrdiff_t FollowedFace<T>::extreme(const std::vector<T>& phi, int sign) const {
  int best = 0;
  for (int c = 1; c < corners; ++c) {
    const T gap = phi[at(corner[c])] - phi[at(corner[best])];
    if (sign > 0 ? gap > 0 : gap < 0) best = c;
  }
  return corner[best];
}

template <class T>
FollowedFace<T> follow(const GridBox& box, const Velocities<T>& u, double dt, int a,
                       const int* place) {
  FollowedFace<T> face;
  face.m = box.index(place[0], place[1], place[2]);
  AxisPlace axis[3] = {};
  for (int b = box.first; b < 3; ++b) {
    std::ptrdiff_t step[4];
    const int count = around(box, a, b, step);
    double speed = 0;
    for (int k = 0; k < count; ++k) {
      speed += static_cast<double>(u[at(b)][at(face.m + step[k])]) / count;
    }
    axis[b] = place_along(box, a, b, place[b] - dt * speed / box.h[at(b)]);
  }
  face.corners = 1 << box.dimensions;
  for (int c = 0; c < face.corners; ++c) {
    int corner[3] = {};
    double weight[3] = {1, 1, 1}, slope[3] = {};
    for (int b = box.first; b < 3; ++b) {
      const int up = c >> (2 - b) & 1;
      corner[b] = axis[b].low + up;
      if (box.periodic(b) && corner[b] == box.n[at(b)]) corner[b] = 0;
      weight[b] = up ? axis[b].part : 1 - axis[b].part;
      slope[b] = axis[b].free ? (up ? 1 : -1) : 0;
    }
    face.corner[c] = box.index(corner[0], corner[1], corner[2]);
    face.weight[c] = static_cast<T>(weight[0] * weight[1] * weight[2]);  // (1)
    for (int b = 0; b < 3; ++b) {
      face.slope[c][b] = static_cast<T>(slope[b] * weight[(b + 1) % 3] * weight[(b + 2) % 3]);
    }
  }
  return face;
}

template <class T>
void follow_pullback(const GridBox& box, const FollowedFace<T>& face, const std::vector<T>& phi,
                     double dt, int a, T bar, std::vector<T>& phi_bar, Velocities<T>& u_bar) {
  T position_bar[3] = {};
  for (int c = 0; c < face.corners; ++c) {
    phi_bar[at(face.corner[c])] += face.weight[c] * bar;
    const T value = phi[at(face.corner[c])] * bar;
    for (int b = box.first; b < 3; ++b) position_bar[b] += face.slope[c][b] * value;
  }
  for (int b = box.first; b < 3; ++b) {
    std::ptrdiff_t step[4];
    const int count = around(box, a, b, step);
    const T each = static_cast<T>(-dt / box.h[at(b)] / count) * position_bar[b];
    for (int k = 0; k < count; ++k) u_bar[at(b)][at(face.m + step[k])] += each;
  }
}

template struct FollowedFace<float>;
template struct FollowedFace<double>;
template FollowedFace<float> follow(const GridBox&, const Velocities<float>&, double, int,
                                    const int*);
template FollowedFace<double> follow(const GridBox&, const Velocities<double>&, double, int,
                                     const int*);
template void follow_pullback(const GridBox&, const FollowedFace<float>&, const std::vector<float>&,
                              double, int, float, std::vector<float>&, Velocities<float>&);
template void follow_pullback(const GridBox&, const FollowedFace<double>&,
                              const std::vector<double>&, double, int, double, std::vector<double>&,
                              Velocities<double>&);

}  // namespace cycloid::inline fluid
