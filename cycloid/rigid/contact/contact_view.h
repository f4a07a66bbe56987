// What can be seen of a chunk's contacts: place, frame and force of each slot; and the way back.
//
// Slot k of a lane is that lane's k-th contact in MuJoCo's order (contact_space.h). x is the
// contact point about the origin o of its pair's reference body, F = (n; t₁; t₂) the frame by rows,
// f the forces of its rows. In the world, on the second body:
//   pos = o + x [m],   p = Fᵀ (f₀ f₁ f₂) [N],   c = Fᵀ (f₃ f₄ f₅) [N·m]                       (1)
// Rows that a contact does not have show zero, and so do those of a contact within its gap. In a
// lane without a k-th contact the slot shows harmless numbers.
//
// Way back, given the cotangents of dist, pos, F and f: the forces' go to the rows
// (constrained_instant.h), which know how they depend on everything else; the others through frame
// and narrow phase to the poses and sizes of the geoms. Cotangents of p and c are those of
// F and f by (1):
//   f̄ = (F p̄ ; F c̄),   F̄_i = f_i p̄ + f_{3+i} c̄                                       (2)
#pragma once

#include "cycloid/base/array_items.h"
#include "cycloid/rigid/contact/contact_rows_pullback.h"

namespace cycloid::inline rigid {

// Also the cotangents of its numbers.
template <class S>
struct ContactView {
  S dist{};
  Vec3<S> pos{};
  ContactFrame<S> F{};
  S f[kMostRows] = {};

  Vec3<S> force() const { return F.n * f[0] + F.t1 * f[1] + F.t2 * f[2]; }  // (1)
  Vec3<S> couple() const { return F.n * f[3] + F.t1 * f[4] + F.t2 * f[5]; }
};

// Adds the cotangents of force() and couple().
template <class S>
void add_world_force(const ContactView<S>& at, const Vec3<S>& p_bar, const Vec3<S>& c_bar,
                     ContactView<S>& bar) {
  const Vec3<S>* const axis = &at.F.n;
  Vec3<S>* const axis_bar = &bar.F.n;
  for (int i = 0; i < 3; ++i) {  // (2)
    bar.f[i] += dot(axis[i], p_bar);
    bar.f[i + 3] += dot(axis[i], c_bar);
    axis_bar[i] += p_bar * at.f[i] + c_bar * at.f[i + 3];
  }
}

// The contacts of a chunk after the solver, and the cotangents of what is seen of them.
template <class S>
struct ContactViews {
  ContactView<S>*view, *bar;  // (slots of the plan)
  int slots;                  // in use

  void carve(const ContactPlan& plan, Arena& arena) {
    for (ContactView<S>** array : {&view, &bar}) {
      arena.take(*array, static_cast<std::size_t>(plan.slots));
    }
    slots = 0;
  }
};

// After add_contact_rows, whose groups are the last ones of the problem. f: the forces of all rows.
template <class S, class P>
void view_contacts(const ContactScene<S, P>& s, const ContactSpace<S>& w,
                   const ConstraintProblem<S>& problem, const S* f, ContactViews<S>& out) {
  out.slots = w.slots;
  const int first = problem.groups - w.slots;
  for (int slot = 0; slot < w.slots; ++slot) {
    const ContactSlot<S>& c = w.slot[slot];
    ContactView<S>& view = out.view[slot];
    view = out.bar[slot] = ContactView<S>{};
    view.dist = c.touch.dist;
    view.F = contact_frame(c.touch.normal, c.touch.tangent);
    Vec3<S> origin{};
    for_each_group(w, slot, [&](const SlotGroup<S>& group) {
      const ContactPair& pair = s.pair(w.touched[group.owner].pair);
      origin = select(group.lanes(), s.frames.origin[pair.reference], origin);
    });
    view.pos = origin + c.touch.pos;  // (1)
    const int row = problem.group_row(first + slot), rows = problem.group[first + slot].rows;
    for (int i = 0; i < rows; ++i) view.f[i] = select(c.rows > S(i), f[row + i], S(0));
    if (s.tree.sticks) view.f[0] -= select(c.rows > S(0), c.adhesion, S(0));
  }
}

// Adds to f_bar (all rows), and to the bodies' pose wrenches and the parameters of `sink`.
template <class S, class P>
void gather_contact_views(const ContactScene<S, P>& s, const ContactSpace<S>& w,
                          const ConstraintProblem<S>& problem, const ContactViews<S>& views,
                          S* f_bar, const RowGradient<S>& sink) {
  const int first = problem.groups - w.slots;
  fill_items(w.touch_bars, w.touch_count, TouchBar<S>{});
  for (int slot = 0; slot < w.slots; ++slot) {
    const ContactSlot<S>& c = w.slot[slot];
    const ContactView<S>& bar = views.bar[slot];
    const int row = problem.group_row(first + slot), rows = problem.group[first + slot].rows;
    for (int i = 0; i < rows; ++i) f_bar[row + i] += select(c.rows > S(i), bar.f[i], S(0));
    TouchBar<S> touch{bar.dist, bar.pos, {}, {}};
    contact_frame_pullback(c.touch.normal, c.touch.tangent, bar.F, touch.normal, touch.tangent);
    for_each_group(w, slot, [&](const SlotGroup<S>& group) {
      group.move_all(touch, w.touch_bars[group.touch]);
      if (!s.tree.sticks || !sink.p_bar) return;
      const S shown = select(group.lanes() & (c.rows > S(0)), bar.f[0], S(0));
      pair_adhesion_pullback(s.plan, s.pair(w.touched[group.owner].pair), -shown, sink.p_bar);
    });
  }
  for (int i = 0; i < w.touched_count; ++i) gather_shapes(s, w, w.touched[i], sink);
}

}  // namespace cycloid::inline rigid
