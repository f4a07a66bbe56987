// Which contacts a sensor sees, and in what order it shows them.
//
// Each slot of contact_view.h has a sign s: 1 where its contact counts, -1 where it counts turned
// round (the sensor's first object is the contact's second), 0 elsewhere.
//   touch     contacts of the site's body with f₀ > 0, whose ray from the point, along the normal
//             away from that body, meets the site's volume                                     (1)
//   contact   its geoms or bodies are the sensor's, and its point is inside the site           (2)
// A contact sensor ranks those that count: in MuJoCo's order, by dist, or by -|force|².         (3)
// All of this is decided, and has no derivative. Source: MuJoCo's manual, sensor/contact and
// sensor/touch.
#pragma once

#include "cycloid/rigid/sense/site_zone.h"
#include "cycloid/rigid/tree/interaction.h"

namespace cycloid::inline rigid {

enum class ContactReduction : int { none, nearest, strongest, net };

// Whether a body or geom is what a sensor names; one that names nothing, or a site, takes all.
inline bool is_named(const ModelView& m, int type, int object, int body, int geom) {
  switch (static_cast<ObjectKind>(type)) {
    case ObjectKind::geom: return geom == object;
    case ObjectKind::body: return body == object;
    case ObjectKind::xbody:  // with all below it
      while (body > object) body = m.bodies[static_cast<std::size_t>(body)].parent;
      return body == object;
    default: return true;
  }
}

// s of (2) for a pair of geoms, but for the site.
inline int pair_sign(const ModelView& m, const Sensor& s, const ContactPlan& plan,
                     const ContactPair& pair) {
  const int geom[2] = {plan.geoms[static_cast<std::size_t>(pair.geom1)].geom,
                       plan.geoms[static_cast<std::size_t>(pair.geom2)].geom};
  const int body[2] = {pair.body1, pair.body2};
  const auto first = [&](int i) { return is_named(m, s.object_type, s.object, body[i], geom[i]); };
  const auto second = [&](int i) {
    return is_named(m, s.reference_type, s.reference, body[i], geom[i]);
  };
  if (s.object_type == 0 && s.reference_type == 0) return 1;
  if (s.object_type != 0 && s.reference_type != 0) {
    if (first(0) && second(1)) return 1;
    return first(1) && second(0) ? -1 : 0;
  }
  if (s.object_type != 0) return first(0) ? 1 : first(1) ? -1 : 0;
  return second(1) ? 1 : second(0) ? -1 : 0;
}

// s of every slot into sign (slots); returns n.
template <class S, class P>
S match_contacts(const InteractionPoint<S, P>& at, const Sensor& s, S* sign) {
  const TreeView& tree = at.r.tree;
  const ContactSpace<S>& contacts = at.memory.contacts;
  S count = S(0);
  for (int slot = 0; slot < at.views.slots; ++slot) {
    sign[slot] = S(0);
    for_each_group(contacts, slot, [&](const SlotGroup<S>& group) {
      const ContactPair& pair = at.scene().pair(contacts.touched[group.owner].pair);
      const S own = S(pair_sign(tree.model, s, at.plan->contacts, pair));
      group.move(&own, sign + slot, 1);
    });
    if (static_cast<ObjectKind>(s.object_type) == ObjectKind::site) {
      const SensedFrame<S> site = sensed_frame(
          tree, at.r.p, frame_mount(tree, s.object_type, s.object), at.w.frames, at.w.v, at.w.a);
      const Vec3<S> from = at.views.view[slot].pos - site.origin - site.x;
      sign[slot] = select(inside_zone(s, rotate_inverse(site.q, from)), sign[slot], S(0));
    }
    count += abs(sign[slot]);
  }
  return count;
}

// (3): whether contact i of those that count comes before j.
template <class S>
Mask<S> comes_before(ContactReduction by, const ContactView<S>* view, int i, int j) {
  const auto key = [&](int k) {
    const S* f = view[k].f;
    return by == ContactReduction::nearest ? view[k].dist
                                           : -(f[0] * f[0] + f[1] * f[1] + f[2] * f[2]);
  };
  if (by == ContactReduction::none) return Mask<S>(i < j);
  const S a = key(i), b = key(j);
  return (a < b) | ((a == b) & Mask<S>(i < j));
}

// Calls visit(k, slot, chosen): the contact `slot` is shown at place k in the lanes of `chosen`.
template <class S, class P, class Visit>
void for_each_shown(const InteractionPoint<S, P>& at, const Sensor& s, int places, const S* sign,
                    Visit visit) {
  const ContactReduction by = static_cast<ContactReduction>(s.reduction);
  for (int slot = 0; slot < at.views.slots; ++slot) {
    const Mask<S> counts = sign[slot] != S(0);
    if (!any(counts)) continue;
    S rank = S(0);
    for (int j = 0; j < at.views.slots; ++j) {
      if (j == slot) continue;
      const Mask<S> before = (sign[j] != S(0)) & comes_before(by, at.views.view, j, slot);
      rank += select(before, S(1), S(0));
    }
    for (int k = 0; k < places; ++k) {
      const Mask<S> chosen = counts & (rank == S(k));
      if (any(chosen)) visit(k, slot, chosen);
    }
  }
}

// (1).
template <class S, class P>
void touching_contacts(const InteractionPoint<S, P>& at, const Sensor& s, S* sign) {
  const TreeView& tree = at.r.tree;
  const FrameMount on = frame_mount(tree, static_cast<int>(ObjectKind::site), s.object);
  const SensedFrame<S> site = sensed_frame(tree, at.r.p, on, at.w.frames, at.w.v, at.w.a);
  for (int slot = 0; slot < at.views.slots; ++slot) {
    const ContactView<S>& view = at.views.view[slot];
    const Vec3<S> from = rotate_inverse(site.q, view.pos - site.origin - site.x);
    sign[slot] = S(0);
    for_each_contact_side(
        at, slot, [&](const SlotGroup<S>& group, int body, const S& side, const Vec3<S>&) {
          if (body != on.body) return;
          const Vec3<S> along = rotate_inverse(site.q, view.F.n * -side);
          const Mask<S> counts = group.lanes() & (view.f[0] > S(0)) & meets_zone(s, from, along);
          sign[slot] = select(counts, S(1), sign[slot]);
        });
  }
}

}  // namespace cycloid::inline rigid
