// What a flow on a lattice shows, each with its pullback.
//
// u is the velocity of a node, c = h / Δt the lattice's, δ the sum of a node's populations:
//   velocity        c u, (nodes, d)                                                (1) [m/s]
//   pressure        ρ c² δ / 3, (nodes), less its mean unless there is an outflow  (2) [Pa]
//   kinetic_energy  ½ ρ h³ Σ |c u|²                                                (3) [J; 2-D J/m]
//   vorticity       of (1) by central differences, one-sided next to walls         (4) [1/s]
//   enstrophy       ½ h³ Σ |ω|² of (4)                                             (5)
//   drag, lift      ρ h³ c / Δt Σ c_i (X'_i + X_j) over an obstacle's links:       (6) [N; 2-D N/m]
//                   the momentum that it takes in a step (Ladd1994)
//   probe           (1) at points, linear between nodes  (p, d)                    (7)
//   probe_pressure  (2) at points, linear between nodes of the fluid  (p)          (8)
// "drag:#0" is axis x, "lift:#0" y, "side_force:#0" z. Inside obstacles all is zero.
#pragma once

#include "cycloid/fluid/lattice/lattice_links.h"
#include "cycloid/system/observer.h"

namespace cycloid::inline fluid {

class LatticeObservables final : public Observables {
 public:
  explicit LatticeObservables(std::shared_ptr<const LatticeModel> model)
      : model_(std::move(model)) {}
  std::vector<Observable> listed() const override;
  std::shared_ptr<const ChunkObserver<float>> float32(const std::vector<std::string>& names,
                                                      int lanes) const override;
  std::shared_ptr<const ChunkObserver<double>> float64(const std::vector<std::string>& names,
                                                       int lanes) const override;
  std::shared_ptr<const DifferentiableObserver> differentiable(
      const std::vector<std::string>& names) const override;

 private:
  std::shared_ptr<const LatticeModel> model_;
};

}  // namespace cycloid::inline fluid
