#include "cycloid/fluid/lattice/lattice_links.h"

#include <algorithm>

namespace cycloid::inline fluid {
namespace {

// Which of two sides a corner belongs to: the smaller.
int rank(SideKind kind) {
  switch (kind) {
    case SideKind::wall: return 0;
    case SideKind::inflow: return 1;
    case SideKind::outflow: return 2;
    default: return 3;
  }
}

}  // namespace

LatticeLinks::LatticeLinks(const LatticeModel& model)
    : model_(model),
      set_(model.set()),
      n_{model.box.n[0], model.box.n[1], model.box.n[2]},
      nodes_(model.box.cells),
      owner_(at(nodes_), 0),
      solid_(at(nodes_), 0),
      phi_(at(nodes_), 1.0) {}

void LatticeLinks::position(int node, double* x) const {
  const int place[3] = {node / n_[2] / n_[1], node / n_[2] % n_[1], node % n_[2]};
  for (int a = 0; a < 3; ++a) x[a] = (place[a] + 0.5) * model_.box.h[at(a)];
}

int LatticeLinks::wrapped(int node, const int* way, int times) const {
  int place[3] = {node / n_[2] / n_[1], node / n_[2] % n_[1], node % n_[2]};
  for (int a = 0; a < 3; ++a) place[a] = (place[a] + times * way[a] + n_[a]) % n_[a];
  return number(place);
}

std::ptrdiff_t LatticeLinks::pushed(int i, int m) const {
  return i * nodes_ + wrapped(m, set_.c[i], 1);
}

int LatticeLinks::pusher(std::ptrdiff_t place) const {
  return wrapped(static_cast<int>(place % nodes_), set_.c[place / nodes_], -1);
}

LatticeLinks::Beyond LatticeLinks::neighbour(const int* place, const int* way) const {
  Beyond b;
  int to[3];
  for (int a = 0; a < 3; ++a) {
    to[a] = place[a] + way[a];
    if (to[a] >= 0 && to[a] < n_[a]) continue;
    if (model_.box.periodic(a)) {
      to[a] = to[a] < 0 ? n_[a] - 1 : 0;
      continue;
    }
    const int high = to[a] < 0 ? 0 : 1;
    ++b.crossed;
    if (b.axis < 0 ||
        rank(model_.box.side[at(a)][at(high)]) < rank(model_.box.side[at(b.axis)][at(b.high)])) {
      b.axis = a, b.high = high;
    }
    to[a] = place[a];
  }
  b.node = number(to);
  return b;
}

void LatticeLinks::set(const std::vector<const double*>& numbers) {
  links_.clear(), solids_.clear();
  for (int m = 0; m < nodes_ && !numbers.empty(); ++m) {
    double x[3];
    position(m, x);
    for (std::size_t o = 0; o < numbers.size(); ++o) {
      const double phi = signed_distance(model_.box, model_.obstacles[o].kind, numbers[o], x);
      if (o == 0 || phi < phi_[at(m)]) phi_[at(m)] = phi, owner_[at(m)] = static_cast<int>(o);
    }
    solid_[at(m)] = phi_[at(m)] < 0;
    if (solid_[at(m)]) solids_.push_back(m);
  }
  int node = 0;
  for (int p0 = 0; p0 < n_[0]; ++p0) {
    for (int p1 = 0; p1 < n_[1]; ++p1) {
      for (int p2 = 0; p2 < n_[2]; ++p2, ++node) {
        const int place[3] = {p0, p1, p2};
        const bool inner = is_inner(place);
        if (solid_[at(node)] || (inner && solids_.empty())) continue;
        for (int j = 1; j < set_.directions; ++j) {
          // In the middle of the box only an obstacle links.
          if (!inner || solid_[at(wrapped(node, set_.c[j], -1))]) add_link(node, place, j);
        }
      }
    }
  }
}

bool LatticeLinks::is_inner(const int* place) const {
  for (int a = set_.first; a < 3; ++a) {
    if (place[a] == 0 || place[a] == n_[a] - 1) return false;
  }
  return true;
}

void LatticeLinks::add_link(int node, const int* place, int j) {
  const int i = opposite(j);
  const Beyond y = neighbour(place, set_.c[i]);
  LatticeLink l;
  l.node = node, l.direction = j, l.to = j * nodes_ + node;
  if (y.axis < 0 && !solid_[at(y.node)]) return;  // (1)
  l.from = pushed(i, node);
  if (y.axis < 0) {
    l.kind = LinkKind::obstacle, l.inside = y.node, l.obstacle = owner_[at(y.node)];
    l.owner = owner_[at(node)];
    cut_link(l, place);
    links_.push_back(l);
    return;
  }
  const SideKind side = model_.box.side[at(y.axis)][at(y.high)];
  l.axis = y.axis, l.high = y.high;
  int face[3] = {place[0], place[1], place[2]}, count[3] = {n_[0], n_[1], n_[2]};
  face[y.axis] = 0, count[y.axis] = 1;
  l.face = (face[0] * count[1] + face[1]) * count[2] + face[2];
  if (side == SideKind::outflow) {
    l.kind = LinkKind::outflow, l.a = -1;  // (4)
  } else if (side == SideKind::inflow) {
    l.kind = LinkKind::inflow;
  } else if (side == SideKind::wall) {
    l.kind = LinkKind::wall;
  } else if (y.crossed == 1) {  // (2)
    int along[3], mirror = 0;
    for (int a = 0; a < 3; ++a) along[a] = a == y.axis ? 0 : -set_.c[j][a];
    const Beyond source = neighbour(place, along);
    for (int m = 1; m < set_.directions; ++m) {
      bool same = true;
      for (int a = 0; a < 3; ++a) {
        same = same && set_.c[m][a] == (a == y.axis ? -set_.c[j][a] : set_.c[j][a]);
      }
      if (same) mirror = m;
    }
    if (source.axis < 0 && !solid_[at(source.node)]) l.from = pushed(mirror, source.node);
  }
  links_.push_back(l);
}

void LatticeLinks::cut_link(LatticeLink& l, const int* place) const {
  const double open = phi_[at(l.node)], behind = -phi_[at(l.inside)];
  l.theta = open / (open + behind);
  const Beyond back = neighbour(place, set_.c[l.direction]);
  if (l.theta < 0.5) {
    if (back.axis >= 0 || solid_[at(back.node)]) return;
    l.second = pushed(opposite(l.direction), back.node);
    l.a = 2 * l.theta, l.b = 1 - l.a;  // (6)
  } else {
    l.second = pushed(l.direction, l.node);
    l.a = l.s = 0.5 / l.theta, l.b = 1 - l.a;  // (7)
  }
  l.cut = true;
}

void LatticeLinks::slopes(const LatticeLink& l, double& a, double& b, double& s) {
  a = b = s = 0;
  if (!l.cut) return;
  a = l.theta < 0.5 ? 2 : -0.5 / (l.theta * l.theta);
  b = -a;
  s = l.theta < 0.5 ? 0 : a;
}

void LatticeLinks::theta_pullback(const LatticeLink& l, const std::vector<const double*>& numbers,
                                  double theta_bar, const std::vector<double*>& numbers_bar) const {
  const double open = phi_[at(l.node)], behind = -phi_[at(l.inside)], sum = open + behind;
  double x[3];
  position(l.node, x);
  signed_distance_pullback(model_.box, model_.obstacles[at(l.owner)].kind, numbers[at(l.owner)], x,
                           theta_bar * behind / (sum * sum), numbers_bar[at(l.owner)]);
  position(l.inside, x);
  signed_distance_pullback(model_.box, model_.obstacles[at(l.obstacle)].kind,
                           numbers[at(l.obstacle)], x, theta_bar * open / (sum * sum),
                           numbers_bar[at(l.obstacle)]);
}

double LatticeLinks::theta_pushforward(const LatticeLink& l,
                                       const std::vector<const double*>& numbers,
                                       const std::vector<const double*>& numbers_tan) const {
  const double open = phi_[at(l.node)], behind = -phi_[at(l.inside)], sum = open + behind;
  double x[3];
  position(l.node, x);
  const double of_node =
      signed_distance_pushforward(model_.box, model_.obstacles[at(l.owner)].kind,
                                  numbers[at(l.owner)], x, numbers_tan[at(l.owner)]);
  position(l.inside, x);
  const double of_inside =
      signed_distance_pushforward(model_.box, model_.obstacles[at(l.obstacle)].kind,
                                  numbers[at(l.obstacle)], x, numbers_tan[at(l.obstacle)]);
  return (behind * of_node + open * of_inside) / (sum * sum);
}

}  // namespace cycloid::inline fluid
