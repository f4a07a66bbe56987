// Learned laws of every kind and option, small enough to difference.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cycloid/learn/learned_law.h"

namespace cycloid::test {

inline std::vector<std::pair<std::string, LearnedLaw>> small_laws() {
  LearnedLaw ode;
  ode.n = 3, ode.inputs = 1, ode.hidden = {5, 4}, ode.angles = {1}, ode.seed = 3;
  LearnedLaw h = ode;
  h.kind = LearnedKind::hamiltonian, h.n = 2, h.inputs = 0, h.angles = {}, h.side_hidden = {4};
  LearnedLaw port = h;
  port.inputs = 1, port.dissipation = true, port.angles = {0};
  LearnedLaw separable = port;
  separable.separable = true, separable.inputs = 2, separable.input_matrix = InputMatrix::network;
  LearnedLaw l = h;
  l.kind = LearnedKind::lagrangian, l.activation = Activation::softplus;
  LearnedLaw driven = l;
  driven.inputs = 2, driven.input_matrix = InputMatrix::identity, driven.dissipation = true;
  driven.angles = {0, 1};
  LearnedLaw deep = driven;
  deep.kind = LearnedKind::deep_lagrangian;
  LearnedLaw deep3 = deep;
  deep3.n = 3, deep3.inputs = 1, deep3.input_matrix = InputMatrix::network, deep3.angles = {2};
  LearnedLaw rods = deep;  // a double pendulum, its lower rod driven, in the plane
  rods.kind = LearnedKind::constrained, rods.n = 4, rods.inputs = 1, rods.angles = {};
  rods.input_matrix = InputMatrix::constant, rods.dimension = 2;
  rods.distances = {{2, 0}, {0, 1}}, rods.masses = {0.7, 1.3}, rods.lengths = {0.9, 1.1};
  rods.anchors = {0.1, 1.5}, rods.stabilisation = 0.8;
  return {{"neural_ode", ode},      {"hamiltonian", h},     {"port-Hamiltonian", port},
          {"separable", separable}, {"lagrangian", l},      {"driven lagrangian", driven},
          {"deep", deep},           {"deep, n = 3", deep3}, {"constrained", rods}};
}

}  // namespace cycloid::test
