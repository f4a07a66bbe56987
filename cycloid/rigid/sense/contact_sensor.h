// Sensors of contacts: touch, and MuJoCo's contact sensor.
//
// s, n: the signs of the contacts that count (contact_match.h), and how many they are.
//   touch     Σ f₀ over contacts that count                                                  (1)
//   contact   place k shows the contact of rank k: found n; force, torque: f₀ f₁ s f₂, f₃ f₄ s f₅;
//             dist; pos; normal s n; tangent s t₁; linvel, angvel: of the second body against the
//             first, in the frame, with signs as force                                       (2)
//   net       one contact at the weighted mean point, in world axes:
//             w_j = |(f₀ f₁ f₂)_j|,  point = Σ w pos / Σ w,  force = Σ s p,
//             torque = Σ s (c + (pos - point) × p),  dist 0, normal x, tangent y             (3)
// Where nothing counts, all is zero. found has no derivative, the others have that of the contacts
// which are shown. |f| of a contact without a force has the derivative 0. Source: MuJoCo's manual,
// sensor/contact and sensor/touch.
#pragma once

#include "cycloid/rigid/contact/contact_match.h"

namespace cycloid::inline rigid {

// Bits of Sensor::fields.
enum class ContactField : int {
  found,
  force,
  torque,
  dist,
  pos,
  normal,
  tangent,
  linear_velocity,
  angular_velocity
};
inline constexpr int kContactFields = 9;
inline int numbers_of(ContactField f) {
  return f == ContactField::found || f == ContactField::dist ? 1 : 3;
}

// Calls visit(field, place) for the fields of a slot; returns its numbers.
template <class Visit>
int for_each_field(const Sensor& s, Visit visit) {
  int place = 0;
  for (int i = 0; i < kContactFields; ++i) {
    if ((s.fields >> i & 1) == 0) continue;
    visit(static_cast<ContactField>(i), place);
    place += numbers_of(static_cast<ContactField>(i));
  }
  return place;
}

// The relative motion of a contact's bodies at its point, in the world; pulled back by `gather`.
template <class S>
struct RelativeMotion {
  Vec3<S> linear{}, angular{};
};
template <class S, class P>
RelativeMotion<S> relative_motion(const InteractionPoint<S, P>& at, int slot) {
  RelativeMotion<S> out;
  for_each_contact_side(
      at, slot, [&](const SlotGroup<S>& group, int body, const S& sign, const Vec3<S>& x) {
        const Motion<S>& v = at.w.v[at.r.tree.last_link[static_cast<std::size_t>(body)]];
        out.linear += select(group.lanes(), field_at(v, x) * sign, Vec3<S>{});
        out.angular += select(group.lanes(), v.angular * sign, Vec3<S>{});
      });
  return out;
}
template <class S, class P>
void gather_relative_motion(const InteractionPoint<S, P>& at, int slot,
                            const RelativeMotion<S>& motion, const RelativeMotion<S>& bar) {
  at.views.bar[slot].pos += cross(bar.linear, motion.angular);
  for_each_contact_side(
      at, slot, [&](const SlotGroup<S>& group, int body, const S& sign, const Vec3<S>& x) {
        const Mask<S> own = group.lanes();
        const Vec3<S> none{};
        at.w.bars.v[body] +=
            wrench(select(own, bar.linear * sign, none), x, select(own, bar.angular * sign, none));
      });
}

// (2): one field of a slot, three numbers or one.
template <class S, class P>
Vec3<S> contact_field(const InteractionPoint<S, P>& at, ContactField field, int slot, const S& sign,
                      const S& count) {
  const ContactView<S>& view = at.views.view[slot];
  const auto in_frame = [&](const Vec3<S>& y) {
    return Vec3<S>{dot(view.F.n, y), dot(view.F.t1, y), dot(view.F.t2, y) * sign};
  };
  switch (field) {
    case ContactField::found: return {count, S(0), S(0)};
    case ContactField::force: return {view.f[0], view.f[1], view.f[2] * sign};
    case ContactField::torque: return {view.f[3], view.f[4], view.f[5] * sign};
    case ContactField::dist: return {view.dist, S(0), S(0)};
    case ContactField::pos: return view.pos;
    case ContactField::normal: return view.F.n * sign;
    case ContactField::tangent: return view.F.t1 * sign;
    case ContactField::linear_velocity: return in_frame(relative_motion(at, slot).linear);
    default: return in_frame(relative_motion(at, slot).angular);
  }
}

// Adds to the bars of the view, and for velocities to those of the bodies.
template <class S, class P>
void gather_contact_field(const InteractionPoint<S, P>& at, ContactField field, int slot,
                          const S& sign, const Vec3<S>& y_bar) {
  const ContactView<S>& view = at.views.view[slot];
  ContactView<S>& bar = at.views.bar[slot];
  const auto add_forces = [&](S* f_bar) {
    f_bar[0] += y_bar.x, f_bar[1] += y_bar.y, f_bar[2] += y_bar.z * sign;
  };
  switch (field) {
    case ContactField::found: return;
    case ContactField::force: return add_forces(bar.f);
    case ContactField::torque: return add_forces(bar.f + 3);
    case ContactField::dist: bar.dist += y_bar.x; return;
    case ContactField::pos: bar.pos += y_bar; return;
    case ContactField::normal: bar.F.n += y_bar * sign; return;
    case ContactField::tangent: bar.F.t1 += y_bar * sign; return;
    default: break;
  }
  const RelativeMotion<S> motion = relative_motion(at, slot);
  const bool linear = field == ContactField::linear_velocity;
  const Vec3<S>& y = linear ? motion.linear : motion.angular;
  const Vec3<S> y2 = view.F.t2 * (y_bar.z * sign);
  RelativeMotion<S> motion_bar;
  (linear ? motion_bar.linear : motion_bar.angular) = view.F.n * y_bar.x + view.F.t1 * y_bar.y + y2;
  bar.F.n += y * y_bar.x, bar.F.t1 += y * y_bar.y, bar.F.t2 += y * (y_bar.z * sign);
  gather_relative_motion(at, slot, motion, motion_bar);
}

// Sums of (3).
template <class S>
struct NetContact {
  S weight{};
  Vec3<S> point{}, force{}, torque{};
};
template <class S>
CYCLOID_INLINE S force_size(const ContactView<S>& view) {
  const S square = view.f[0] * view.f[0] + view.f[1] * view.f[1] + view.f[2] * view.f[2];
  const Mask<S> some = square > S(0);
  return select(some, sqrt(select(some, square, S(1))), S(0));
}
template <class S, class P>
NetContact<S> net_contact(const InteractionPoint<S, P>& at, const S* sign) {
  NetContact<S> net;
  Vec3<S> moment{};  // Σ w pos
  for (int slot = 0; slot < at.views.slots; ++slot) {
    const ContactView<S>& view = at.views.view[slot];
    const S w = force_size(view) * abs(sign[slot]);
    net.weight += w;
    moment += view.pos * w;
    net.force += view.force() * sign[slot];
    net.torque += (view.couple() + cross(view.pos, view.force())) * sign[slot];
  }
  net.point = moment * (S(1) / max(net.weight, S(1e-15)));
  net.torque -= cross(net.point, net.force);
  return net;
}

// bar: of point, force and torque.
template <class S, class P>
void gather_net_contact(const InteractionPoint<S, P>& at, const S* sign, const NetContact<S>& net,
                        const NetContact<S>& bar) {
  const Vec3<S> force_bar = bar.force + cross(net.point, bar.torque);
  const Vec3<S> point_bar = bar.point + cross(bar.torque, net.force);
  const S per_weight = S(1) / max(net.weight, S(1e-15));
  for (int slot = 0; slot < at.views.slots; ++slot) {
    const ContactView<S>& view = at.views.view[slot];
    ContactView<S>& own = at.views.bar[slot];
    const S s = sign[slot], w = force_size(view) * abs(s);
    const Vec3<S> p = view.force();
    const Vec3<S> c_bar = bar.torque * s;
    add_world_force(view, force_bar * s + cross(c_bar, view.pos), c_bar, own);
    own.pos += cross(p, c_bar) + point_bar * (w * per_weight);
    const S w_bar = dot(point_bar, view.pos - net.point) * per_weight * abs(s);
    const S size = force_size(view);
    const S by = select(size > S(0), w_bar / select(size > S(0), size, S(1)), S(0));
    for (int i = 0; i < 3; ++i) own.f[i] += by * view.f[i];
  }
}

// A touch or contact sensor. sign: (slots of the plan), to write on.
template <class S, class P>
void contact_sensor(const InteractionPoint<S, P>& at, const Sensor& s, S* sign, S* out) {
  set_zero(out, s.dimension);
  if (!at.plan) return;
  if (kind_of(s) == SensorKind::touch) {
    touching_contacts(at, s, sign);
    for (int i = 0; i < at.views.slots; ++i) out[0] += sign[i] * at.views.view[i].f[0];
    return;
  }
  const S count = match_contacts(at, s, sign);
  const int size = for_each_field(s, [](ContactField, int) {});
  if (static_cast<ContactReduction>(s.reduction) == ContactReduction::net) {
    const NetContact<S> net = net_contact(at, static_cast<const S*>(sign));
    const S one = select(count > S(0), S(1), S(0));
    for_each_field(s, [&](ContactField field, int place) {
      switch (field) {
        case ContactField::found: out[place] = count; break;
        case ContactField::force: store(out + place, net.force); break;
        case ContactField::torque: store(out + place, net.torque); break;
        case ContactField::pos: store(out + place, net.point); break;
        case ContactField::normal: out[place] = one; break;
        case ContactField::tangent: out[place + 1] = one; break;
        default: break;
      }
    });
    return;
  }
  for_each_shown(at, s, s.dimension / size, static_cast<const S*>(sign),
                 [&](int k, int slot, const Mask<S>& chosen) {
                   for_each_field(s, [&](ContactField field, int place) {
                     const Vec3<S> y = contact_field(at, field, slot, sign[slot], count);
                     for (int i = 0; i < numbers_of(field); ++i) {
                       S& to = out[k * size + place + i];
                       to = select(chosen, y[i], to);
                     }
                   });
                 });
}

// Adds to the bars of the views, and of the bodies' velocities.
template <class S, class P>
void gather_contact_sensor(const InteractionPoint<S, P>& at, const Sensor& s, S* sign,
                           const S* y_bar) {
  if (!at.plan) return;
  if (kind_of(s) == SensorKind::touch) {
    touching_contacts(at, s, sign);
    for (int i = 0; i < at.views.slots; ++i) at.views.bar[i].f[0] += sign[i] * y_bar[0];
    return;
  }
  match_contacts(at, s, sign);
  const int size = for_each_field(s, [](ContactField, int) {});
  if (static_cast<ContactReduction>(s.reduction) == ContactReduction::net) {
    NetContact<S> bar;
    for_each_field(s, [&](ContactField field, int place) {
      if (field == ContactField::force) bar.force = load_vec3(y_bar + place);
      if (field == ContactField::torque) bar.torque = load_vec3(y_bar + place);
      if (field == ContactField::pos) bar.point = load_vec3(y_bar + place);
    });
    const S* const counted = sign;
    return gather_net_contact(at, counted, net_contact(at, counted), bar);
  }
  for_each_shown(at, s, s.dimension / size, static_cast<const S*>(sign),
                 [&](int k, int slot, const Mask<S>& chosen) {
                   for_each_field(s, [&](ContactField field, int place) {
                     Vec3<S> bar{};
                     for (int i = 0; i < numbers_of(field); ++i) {
                       bar[i] = select(chosen, y_bar[k * size + place + i], S(0));
                     }
                     gather_contact_field(at, field, slot, sign[slot], bar);
                   });
                 });
}

}  // namespace cycloid::inline rigid
