#include "cycloid/fluid/grid/grid_sides.h"

#include "cycloid/fluid/grid/grid_rows.h"

namespace cycloid::inline fluid {
template <class T>
GridSides<T>::GridSides(const GridModel& model)
    : model_(model), box_(model.box), W_(made<T>()), W_bar_(made<double>()) {}

template <class T>
template <class Number>
SideVelocities<Number> GridSides<T>::made() const {
  SideVelocities<Number> W;
  for (int b = box_.first; b < 3; ++b) {
    for (int s = 0; s < 2 && !box_.periodic(b); ++s) {
      for (int a = box_.first; a < 3; ++a) {
        W[at(b)][at(s)][at(a)].assign(at(box_.numbers / box_.extent[at(b)]), Number(0));
      }
    }
  }
  return W;
}

// A position on the plane of a side.
template <class T>
std::ptrdiff_t GridSides<T>::plane_index(int b, int i, int j, int k) const {
  const int place[3] = {i, j, k};
  std::ptrdiff_t index = 0;
  for (int c = 0; c < 3; ++c) {
    if (c != b) index = index * box_.extent[at(c)] + place[c] + box_.pad[at(c)];
  }
  return index;
}

template <class T>
void GridSides<T>::set(const T* p, const T* u) {
  for (auto& axis : W_bar_) {
    for (auto& side : axis) {
      for (auto& plane : side) std::fill(plane.begin(), plane.end(), 0.0);
    }
  }
  set(p, u, W_);
}

template <class T>
void GridSides<T>::set(const T* p, const T* u, SideVelocities<T>& W_of) const {
  const int d = box_.dimensions;
  for (int b = box_.first; b < 3; ++b) {
    for (int s = 0; s < 2; ++s) {
      const SideKind kind = box_.side[at(b)][at(s)];
      const FlowModel::Place& place = model_.side[at(b)][at(s)];
      auto& W = W_of[at(b)][at(s)];
      if (kind == SideKind::wall) {
        for (int a = box_.first; a < 3; ++a) {
          if (a != b)
            std::fill(W[at(a)].begin(), W[at(a)].end(), number_at(place, a - box_.first, p, u));
        }
      } else if (kind == SideKind::inflow) {
        for (int a = box_.first; a < 3; ++a) std::fill(W[at(a)].begin(), W[at(a)].end(), T(0));
        for_each_on_side(box_, b, [&](int i, int j, int k, int face) {
          for (int a = box_.first; a < 3; ++a) {
            const T value = number_at(place, face * d + a - box_.first, p, u);
            int at_face[3] = {i, j, k};
            const std::ptrdiff_t m = plane_index(b, i, j, k);
            if (a == b) {
              W[at(a)][at(m)] = value;
              continue;
            }
            // Its tangential part lives half a cell away, between two of these; at an end, by one.
            const int i_a = at_face[a], n_a = box_.n[at(a)];
            const bool ring = box_.periodic(a);
            W[at(a)][at(m)] += (i_a == 0 && !ring ? T(1) : T(0.5)) * value;
            at_face[a] = ring && i_a == n_a - 1 ? 0 : i_a + 1;
            W[at(a)][at(plane_index(b, at_face[0], at_face[1], at_face[2]))] +=
                (i_a == n_a - 1 && !ring ? T(1) : T(0.5)) * value;
          }
        });
      }
    }
  }
}

template <class T>
void GridSides<T>::give_back(double* p_bar, T* u_bar) const {
  const int d = box_.dimensions;
  for (int b = box_.first; b < 3; ++b) {
    for (int s = 0; s < 2; ++s) {
      const SideKind kind = box_.side[at(b)][at(s)];
      const FlowModel::Place& place = model_.side[at(b)][at(s)];
      const auto& bar = W_bar_[at(b)][at(s)];
      if (kind == SideKind::wall) {
        for (int a = box_.first; a < 3; ++a) {
          if (a == b) continue;
          double sum = 0;
          for (const double one : bar[at(a)]) sum += one;
          number_at_pullback(place, a - box_.first, sum, p_bar, u_bar);
        }
      } else if (kind == SideKind::inflow) {
        for_each_on_side(box_, b, [&](int i, int j, int k, int face) {
          for (int a = box_.first; a < 3; ++a) {
            int p[3] = {i, j, k};
            double sum = bar[at(a)][at(plane_index(b, i, j, k))];
            if (a != b) {
              const int i_a = p[a], n_a = box_.n[at(a)];
              const bool ring = box_.periodic(a);
              sum *= i_a == 0 && !ring ? 1 : 0.5;
              p[a] = ring && i_a == n_a - 1 ? 0 : i_a + 1;
              sum += (i_a == n_a - 1 && !ring ? 1 : 0.5) *
                     bar[at(a)][at(plane_index(b, p[0], p[1], p[2]))];
            }
            number_at_pullback(place, face * d + a - box_.first, sum, p_bar, u_bar);
          }
        });
      }
    }
  }
}

// States and ghosts.

template <class T>
void GridSides<T>::set_sides(Velocities<T>& u, const SideVelocities<T>& W_of) const {
  for (int b = box_.first; b < 3; ++b) {
    for (int s = 0; s < 2; ++s) {
      if (!velocity_is_given(box_.side[at(b)][at(s)])) continue;
      const std::vector<T>& W = W_of[at(b)][at(s)][at(b)];
      const std::ptrdiff_t to = s * box_.n[at(b)] * box_.stride[at(b)];
      for_each_on_side(box_, b, [&](int i, int j, int k, int) {
        u[at(b)][at(box_.index(i, j, k) + to)] = W[at(plane_index(b, i, j, k))];
      });
    }
  }
}

template <class T>
void GridSides<T>::set_sides_pullback(Velocities<T>& u_bar) {
  for (int b = box_.first; b < 3; ++b) {
    for (int s = 0; s < 2; ++s) {
      if (!velocity_is_given(box_.side[at(b)][at(s)])) continue;
      auto& W_bar = W_bar_[at(b)][at(s)][at(b)];
      const std::ptrdiff_t to = s * box_.n[at(b)] * box_.stride[at(b)];
      for_each_on_side(box_, b, [&](int i, int j, int k, int) {
        T& bar = u_bar[at(b)][at(box_.index(i, j, k) + to)];
        W_bar[at(plane_index(b, i, j, k))] += static_cast<double>(bar);
        bar = 0;
      });
    }
  }
}

template <class T>
void GridSides<T>::fill_ghosts(Velocities<T>& u, const SideVelocities<T>& W_of) const {
  for (int b = box_.first; b < 3; ++b) {
    const std::ptrdiff_t s = box_.stride[at(b)], n = box_.n[at(b)];
    for (int a = box_.first; a < 3; ++a) {
      T* const x = u[at(a)].data();
      if (box_.periodic(b)) {
        for_each_in_plane(box_, b, [&](std::ptrdiff_t, std::ptrdiff_t m) {  // (4)
          for (std::ptrdiff_t i = -2; i < 0; ++i) x[m + i * s] = x[m + (i + n) * s];
          for (std::ptrdiff_t i = n; i < n + 3; ++i) x[m + i * s] = x[m + (i - n) * s];
        });
        continue;
      }
      for (int side = 0; side < 2; ++side) {
        const SideKind kind = box_.side[at(b)][at(side)];
        const std::vector<T>& W = W_of[at(b)][at(side)][at(a)];
        // The last face or cell inside, and the ghost.
        const std::ptrdiff_t last = side ? (a == b ? n : n - 1) * s : 0,
                             ghost = side ? last + s : -s;
        if (a == b) {
          if (kind != SideKind::outflow) continue;
          for_each_in_plane(box_, b, [&](std::ptrdiff_t, std::ptrdiff_t m) {
            x[m + ghost] = x[m + last];  // (3)
          });
        } else if (kind == SideKind::wall || kind == SideKind::inflow) {
          for_each_in_plane(box_, b, [&](std::ptrdiff_t p, std::ptrdiff_t m) {
            x[m + ghost] = 2 * W[at(p)] - x[m + last];  // (1)
          });
        } else {
          for_each_in_plane(box_, b, [&](std::ptrdiff_t, std::ptrdiff_t m) {
            x[m + ghost] = x[m + last];  // (2) (3)
          });
        }
      }
    }
  }
}

template <class T>
void GridSides<T>::fill_ghosts_pullback(Velocities<T>& u_bar) {
  for (int b = 2; b >= box_.first; --b) {
    const std::ptrdiff_t s = box_.stride[at(b)], n = box_.n[at(b)];
    for (int a = box_.first; a < 3; ++a) {
      T* const x = u_bar[at(a)].data();
      if (box_.periodic(b)) {
        for_each_in_plane(box_, b, [&](std::ptrdiff_t, std::ptrdiff_t m) {  // (4)
          for (std::ptrdiff_t i = n + 2; i >= n; --i) {
            x[m + (i - n) * s] += x[m + i * s], x[m + i * s] = 0;
          }
          for (std::ptrdiff_t i = -1; i >= -2; --i) {
            x[m + (i + n) * s] += x[m + i * s], x[m + i * s] = 0;
          }
        });
        continue;
      }
      for (int side = 0; side < 2; ++side) {
        const SideKind kind = box_.side[at(b)][at(side)];
        auto& W_bar = W_bar_[at(b)][at(side)][at(a)];
        const std::ptrdiff_t last = side ? (a == b ? n : n - 1) * s : 0,
                             ghost = side ? last + s : -s;
        if (a == b && kind != SideKind::outflow) {
          for_each_in_plane(box_, b, [&](std::ptrdiff_t, std::ptrdiff_t m) { x[m + ghost] = 0; });
        } else if (kind == SideKind::wall || kind == SideKind::inflow) {
          for_each_in_plane(box_, b, [&](std::ptrdiff_t p, std::ptrdiff_t m) {
            W_bar[at(p)] += 2 * static_cast<double>(x[m + ghost]);  // (1)
            x[m + last] -= x[m + ghost], x[m + ghost] = 0;
          });
        } else {
          for_each_in_plane(box_, b, [&](std::ptrdiff_t, std::ptrdiff_t m) {
            x[m + last] += x[m + ghost], x[m + ghost] = 0;  // (2) (3)
          });
        }
      }
    }
  }
}

template class GridSides<float>;
template class GridSides<double>;

}  // namespace cycloid::inline fluid
