// A Model without names, as kernels read it: all that moves, touches and acts, in tables
// (base/table.h).
#pragma once

#include "cycloid/base/table.h"
#include "cycloid/model/model.h"

namespace cycloid::inline model {

template <template <class> class List>
struct ModelLists {
  List<Body> bodies;
  List<Joint> joints;
  List<Dof> dofs;
  List<Marker> sites, cameras;
  List<Geom> geoms;
  List<GivenPair> pairs;
  List<Equality> equalities;
  List<Wrap> wraps;
  List<Tendon> tendons;
  List<Actuator> actuators;
};

struct ModelView : ModelLists<Table> {
  Options options;
  int nq = 0, nv = 0, na = 0, nu = 0, nmocap = 0, trees = 0;

  // f(list...) for every list of some models, in the order of their block.
  template <class F, class... Models>
  static void each_table(F&& f, Models&... of) {
    f(of.bodies...), f(of.joints...), f(of.dofs...);
    f(of.sites...), f(of.cameras...), f(of.geoms...), f(of.pairs...);
    f(of.equalities...), f(of.wraps...), f(of.tendons...), f(of.actuators...);
  }
};

// The numbers of a model's elements; names stay behind.
inline ModelLists<Vector> without_names(const Model& m) {
  ModelLists<Vector> out;
  const auto copy = [](const auto& named, auto& plain) {
    plain.assign(named.begin(), named.end());
  };
  ModelView::each_table(copy, m, out);
  return out;
}

}  // namespace cycloid::inline model
