// Transmission of an actuator by a slider-crank: a slider on the z axis of one site pushes a rod
// whose other end is a second site, the crank.
//
// a is the slider's axis, v from its site to the crank, r the length of the rod, G the gear:
//   p = a·v,   s² = p² + r² - |v|²,   λ = p - s,   l = G λ                                   (1)
//   κ = 1 - p/s,   g = ∂λ/∂v = κ a + v/s,   T = a × ∂λ/∂a = κ a × v                          (2)
//   J x = G (g·(y_c(x_c) - y_s(x_s)) + T·y_s_ω)       y the field of x                       (3)
// Where the rod is too short, s² ≤ 0, MuJoCo counts without it: λ = p, 1/s = 0.
//
// Pullback of row.h (1), with ḡ = G Σ_y c_y (y_c(x_c) - y_s(x_s)), T̄ = G Σ_y c_y y_s_ω, λ̄ = G l̄:
//   ȳ_c += G c_y wrench(g, x_c),   ȳ_s += G c_y (wrench(-g, x_s) + (T; 0))                   (4)
//   κ̄ = ḡ·a + T̄·(a × v),   s̄ = -λ̄ - ḡ·v/s² + κ̄ p/s²,   p̄ = λ̄ - κ̄/s + s̄ p/s             (5)
//   ā = κ ḡ + κ v × T̄ + p̄ v,   v̄ = ḡ/s + κ T̄ × a + p̄ a - s̄ v/s                           (6)
// The length of the rod is a number of the model.
#pragma once

#include "cycloid/rigid/force/passive.h"
#include "cycloid/rigid/tree/row.h"

namespace cycloid::inline rigid {

// The quantities of (1)-(3).
template <class S>
struct CrankRow {
  int crank, slider;     // sites
  int crank_body, body;  // of the crank, of the slider
  Vec3<S> x_c, x_s;      // each from the origin of its tree
  Quat<S> frame;         // of the slider
  Vec3<S> a, v, g, T;
  S p, s, inverse, kappa, lambda, gear;  // inverse: 1/s
};

template <class S, class P>
CYCLOID_HD CrankRow<S> crank_row(const TreeView& tree, const P* p, int actuator,
                                 const Frames<S>& f) {
  const std::size_t i = static_cast<std::size_t>(actuator);
  const Actuator& on = tree.model.actuators[i];
  CrankRow<S> row;
  row.crank = on.target, row.slider = on.reference_site;
  row.crank_body = tree.model.sites[static_cast<std::size_t>(row.crank)].body;
  row.body = tree.model.sites[static_cast<std::size_t>(row.slider)].body;
  row.x_c = site_point(tree, p, row.crank, f), row.x_s = site_point(tree, p, row.slider, f);
  row.frame = f.link_quat[last_link(tree, row.body)] *
              quat_of<S>(p + tree.sites[static_cast<std::size_t>(row.slider)].quat);
  row.a = rotate(row.frame, Vec3<S>{S(0), S(0), S(1)});
  row.v = (f.origin[row.crank_body] - f.origin[row.body]) + (row.x_c - row.x_s);
  row.p = dot(row.a, row.v);
  const S rod = number<S>(on.crank_length), square = row.p * row.p + rod * rod - dot(row.v, row.v);
  const Mask<S> reaches = square > S(0);
  row.s = sqrt(select(reaches, square, S(1)));  // (1)
  row.inverse = select(reaches, S(1) / row.s, S(0));
  row.lambda = row.p - select(reaches, row.s, S(0));
  row.kappa = S(1) - row.p * row.inverse;  // (2)
  row.g = row.a * row.kappa + row.v * row.inverse;
  row.T = cross(row.a, row.v) * row.kappa;
  row.gear = S(p[tree.actuators[i].gear]);
  return row;
}

template <class S, class P>
CYCLOID_HD S slider_crank_length(const TreeView& tree, const P* p, int actuator,
                                 const Frames<S>& f) {
  const CrankRow<S> row = crank_row(tree, p, actuator, f);
  return row.gear * row.lambda;
}

// y_c(x_c) - y_s(x_s).
template <class S>
CYCLOID_INLINE Vec3<S> crank_motion(const TreeView& tree, const CrankRow<S>& row,
                                    const Motion<S>* field) {
  return field_at(field[last_link(tree, row.crank_body)], row.x_c) -
         field_at(field[last_link(tree, row.body)], row.x_s);
}

// J x. field: the field of x.
template <class S, class P>
CYCLOID_HD S slider_crank_rate(const TreeView& tree, const P* p, int actuator, const Frames<S>& f,
                               const Motion<S>* field) {
  const CrankRow<S> row = crank_row(tree, p, actuator, f);
  return row.gear * (dot(row.g, crank_motion(tree, row, field)) +
                     dot(row.T, field[last_link(tree, row.body)].angular));  // (3)
}

// Adds Jᵀ force to wrenches (bodies).
template <class S, class P>
CYCLOID_HD void apply_slider_crank(const TreeView& tree, const P* p, int actuator,
                                   const Frames<S>& f, const S& force, Force<S>* wrenches) {
  const CrankRow<S> row = crank_row(tree, p, actuator, f);
  const S pull = force * row.gear;
  wrenches[row.crank_body] += wrench(row.g * pull, row.x_c, Vec3<S>{});
  wrenches[row.body] += wrench(row.g * -pull, row.x_s, row.T * pull);
}

template <class S, class P>
CYCLOID_HD void slider_crank_pullback(const TreeView& tree, const P* p, int actuator,
                                      const RowPoint<S>& at, const RowBars<S>& bar,
                                      const RowSinks<S>& to) {
  const CrankRow<S> row = crank_row(tree, p, actuator, at.frames);
  const std::size_t c = last_link(tree, row.crank_body), l = last_link(tree, row.body);
  Vec3<S> g_bar{}, T_bar{}, x_c_bar{}, x_s_bar{};
  S gear_bar = bar.length * row.lambda;
  const auto gather = [&](const Motion<S>* y, const S& c_y, Force<S>* y_bar) {
    const Vec3<S> between = crank_motion(tree, row, y);
    const S scaled = c_y * row.gear;
    gear_bar += c_y * (dot(row.g, between) + dot(row.T, y[l].angular));
    g_bar += between * scaled, T_bar += y[l].angular * scaled;
    y_bar[row.crank_body] += wrench(row.g * scaled, row.x_c, Vec3<S>{});  // (4)
    y_bar[row.body] += wrench(row.g * -scaled, row.x_s, row.T * scaled);
    x_c_bar += cross(row.g, y[c].angular) * scaled;
    x_s_bar -= cross(row.g, y[l].angular) * scaled;
  };
  gather(at.m, bar.m, to.bodies.m);
  gather(at.v, bar.v, to.bodies.v);

  const S lambda_bar = row.gear * bar.length, inverse = row.inverse;
  const S kappa_bar = dot(g_bar, row.a) + dot(T_bar, cross(row.a, row.v));  // (5)
  const S s_bar = select(inverse == S(0), S(0),
                         (kappa_bar * row.p - dot(g_bar, row.v)) * inverse * inverse - lambda_bar);
  const S p_bar = lambda_bar - kappa_bar * inverse + s_bar * row.p * inverse;
  const Vec3<S> a_bar = g_bar * row.kappa + cross(row.v, T_bar) * row.kappa + row.v * p_bar;
  const Vec3<S> v_bar = g_bar * inverse + cross(T_bar, row.a) * row.kappa + row.a * p_bar -
                        row.v * (s_bar * inverse);  // (6)
  site_point_pullback(tree, row.crank, at.frames, row.x_c, x_c_bar + v_bar, to.bodies.pose,
                      to.p_bar);
  site_point_pullback(tree, row.slider, at.frames, row.x_s, x_s_bar - v_bar, to.bodies.pose,
                      to.p_bar);
  to.bodies.pose[row.body].torque += cross(row.a, a_bar);
  if (!to.p_bar) return;
  add_to(to.p_bar + tree.sites[static_cast<std::size_t>(row.slider)].quat,
         cross(Vec3<S>{S(0), S(0), S(1)}, rotate_inverse(row.frame, a_bar)));
  to.p_bar[tree.actuators[static_cast<std::size_t>(actuator)].gear] += gear_bar;
}

}  // namespace cycloid::inline rigid
