// LawBody: a law and its integrator (law_stepper.h) as one thread of a device steps them.
//
// Parameters: the law's own, then the time step h. The image is the law itself; the memory is the
// scratch of a law of run-time size.
#pragma once

#include "cycloid/device/environment_run.h"
#include "cycloid/system/law/law_point.h"

namespace cycloid::inline device {

template <class Law, class Scheme, class T>
class LawBody {
 public:
  CYCLOID_HD LawBody(const StepCall<T>& call, const T* p, std::byte* memory)
      : law_(*static_cast<const LawImage*>(call.image)), p_(p), scratch_{memory} {}

  struct LawImage {
    Law law;
    LawShape<Law> shape;
  };
  static_assert(std::is_trivially_copyable_v<LawImage>);

  CYCLOID_HD void step(double t0, std::int64_t k, const T* x, const T* u, T* x_next, T* record,
                       LaneNote&) {
    Scheme::step(point(t0, k, u), x, x_next, record);
  }

  // Adds to x_bar and u_bar, and to p_bar, which is null where nobody asks: then p̄ is dropped.
  CYCLOID_HD void pullback(double t0, std::int64_t k, const T* x, const T* u, const T* record,
                           const T* x_next_bar, T* x_bar, T* u_bar, T* p_bar) {
    LawPoint<Law, T> inner = point(t0, k, u);
    T* const own = reinterpret_cast<T*>(scratch_.next);  // (parameters)
    const int n = law_.shape.parameters;
    inner.scratch.next = reinterpret_cast<std::byte*>(own + n);
    for (int i = 0; i < n; ++i) own[i] = T(0);
    LawPointBar<T> bar{T(0), T(0), u_bar, own};
    Scheme::step_pullback(inner, x, record, x_next_bar, bar, x_bar);
    if (!p_bar) return;
    for (int i = 0; i < n; ++i) p_bar[i] += own[i];
    p_bar[n] += bar.h + static_cast<T>(k) * bar.t;  // t = t0 + k h
  }

  // Row after row.
  CYCLOID_HD void linearise(double t0, std::int64_t k, const T* x, const T* u, const T* record,
                            JacobianRows<T>& rows) {
    for (int i = 0; i < rows.size(); ++i) {
      if (!rows.owns(i)) continue;
      rows.find(i, [&] {
        pullback(t0, k, x, u, record, rows.x_next_bar, rows.x_bar, rows.u_bar, nullptr);
      });
    }
  }

 private:
  CYCLOID_HD LawPoint<Law, T> point(double t0, std::int64_t k, const T* u) const {
    const T h = p_[law_.shape.parameters];
    return {law_.law, law_.shape, time_of_step(t0, k, h), h, u, p_, scratch_};
  }

  const LawImage& law_;
  const T* p_;
  Scratch scratch_;
};

}  // namespace cycloid::inline device
