#include "cycloid/fluid/grid/carried_rate.h"

#include "cycloid/fluid/grid/grid_rows.h"

namespace cycloid::inline fluid {
namespace {

// Whether a face lies inside an obstacle: nothing is carried there.
template <class T>
bool still(const Velocities<T>* D, int a, std::size_t m) {
  return D && (*D)[at(a)][m] == 0;
}

// What MacCormack's scheme makes of a face, before it is clamped, and between what.
template <class T>
struct Corrected {
  FollowedFace<T> back;
  T next;
  std::size_t least, most;
};

template <class T>
Corrected<T> corrected(const GridBox& box, const Velocities<T>& u, const Velocities<T>& hat,
                       double dt, int a, std::size_t m, const int* place) {
  const FollowedFace<T> there = follow(box, u, dt, a, place);
  Corrected<T> c{follow(box, u, -dt, a, place), 0, at(there.extreme(u[at(a)], -1)),
                 at(there.extreme(u[at(a)], 1))};
  c.next = hat[at(a)][m] + T(0.5) * (u[at(a)][m] - c.back.value(hat[at(a)]));
  return c;
}

}  // namespace

template <class T>
CarriedRate<T>::CarriedRate(const GridModel& model, GridSides<T>& sides, int threads)
    : model_(model), box_(model.box), sides_(sides), threads_(threads) {
  for (int a = box_.first; a < 3; ++a) hat_[at(a)].assign(at(box_.numbers), T(0));
  hat_bar_ = hat_;
}

template <class T>
void CarriedRate<T>::make_hat(const Velocities<T>& u, const Velocities<T>* D) {
  for (int a = box_.first; a < 3; ++a) {
    for_each_face(box_, a, threads_, [&](std::size_t m, const int* place) {
      hat_[at(a)][m] =
          still(D, a, m) ? u[at(a)][m] : follow(box_, u, model_.dt, a, place).value(u[at(a)]);
    });
  }
  if (model_.advection == Advection::maccormack) sides_.set_sides(hat_), sides_.fill_ghosts(hat_);
}

template <class T>
void CarriedRate<T>::carried_rate(const Velocities<T>& u, const Velocities<T>* D,
                                  Velocities<T>& r) {
  const T over = static_cast<T>(1 / model_.dt);
  make_hat(u, D);
  for (int a = box_.first; a < 3; ++a) {
    for_each_face(box_, a, threads_, [&](std::size_t m, const int* place) {
      T next = hat_[at(a)][m];
      if (model_.advection == Advection::maccormack && !still(D, a, m)) {
        const Corrected<T> c = corrected(box_, u, hat_, model_.dt, a, m, place);
        const T least = u[at(a)][c.least], most = u[at(a)][c.most];
        next = c.next < least ? least : c.next > most ? most : c.next;
      }
      r[at(a)][m] += over * (next - u[at(a)][m]);  // (1)
    });
  }
}

// Face by face onto what it read: a fixed order. û is made again.
template <class T>
void CarriedRate<T>::carried_rate_pullback(const Velocities<T>& u, const Velocities<T>* D,
                                           const Velocities<T>& g, Velocities<T>& u_bar) {
  const double dt = model_.dt;
  const T over = static_cast<T>(1 / dt);
  const bool twice = model_.advection == Advection::maccormack;
  make_hat(u, D);
  for (int a = box_.first; a < 3; ++a) {
    std::fill(hat_bar_[at(a)].begin(), hat_bar_[at(a)].end(), T(0));
  }
  for (int a = box_.first; a < 3; ++a) {
    for_each_face(box_, a, 1, [&](std::size_t m, const int* place) {
      if (still(D, a, m)) return;
      const T bar = over * g[at(a)][m];
      u_bar[at(a)][m] -= bar;
      if (!twice) {
        hat_bar_[at(a)][m] += bar;
        return;
      }
      const Corrected<T> c = corrected(box_, u, hat_, dt, a, m, place);
      if (c.next < u[at(a)][c.least]) {
        u_bar[at(a)][c.least] += bar;
      } else if (c.next > u[at(a)][c.most]) {
        u_bar[at(a)][c.most] += bar;
      } else {
        hat_bar_[at(a)][m] += bar, u_bar[at(a)][m] += T(0.5) * bar;
        follow_pullback(box_, c.back, hat_[at(a)], -dt, a, T(-0.5) * bar, hat_bar_[at(a)], u_bar);
      }
    });
  }
  if (twice) sides_.fill_ghosts_pullback(hat_bar_), sides_.set_sides_pullback(hat_bar_);
  for (int a = box_.first; a < 3; ++a) {
    for_each_face(box_, a, 1, [&](std::size_t m, const int* place) {
      const T bar = hat_bar_[at(a)][m];
      if (bar == 0) return;
      if (still(D, a, m)) {
        u_bar[at(a)][m] += bar;
        return;
      }
      follow_pullback(box_, follow(box_, u, dt, a, place), u[at(a)], dt, a, bar, u_bar[at(a)],
                      u_bar);
    });
  }
}

template class CarriedRate<float>;
template class CarriedRate<double>;

}  // namespace cycloid::inline fluid
