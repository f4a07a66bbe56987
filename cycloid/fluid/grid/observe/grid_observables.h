// What a flow on a staggered grid shows, each with its pullback.
//
//   kinetic_energy  ½ ρ Σ h³ κ u²  over faces, κ = ½ on sides                     (1)  [J; 2-D J/m]
//   enstrophy       ½ Σ h³ κ ω²  over edges, ω = ∂u_b/∂x_a - ∂u_a/∂x_b             (2)
//   divergence      the largest |div(A u + (1 - A) w)| of all cells               (3)  [1/s]
//   vorticity       mean of ω over a cell's edges of each direction, (cells[, 3]) (4)  [1/s]
//   pressure        ρ q', (cells), with y' = r(u) + force:                        (5)  [Pa]
//                   L q' = div(A D (y' - (u - w) (1/D - 1) / Δt)): that of a stage, without the
//                   divergence of u; its mean is zero unless there is an outflow
//   drag, lift      ρ h³ Σ (1 - D) ((u_a - w_a)/Δt + y'_a - ∂q'/∂x_a) - ν E (u_O - u_P)
//                   - (1 - A) force_a                                             (6)  [N; 2-D N/m]
//                   the momentum that a stage leaves in the obstacle, behind the wall and by
//                   friction (immersed.h), less the weight that was added there
//   probe           velocity at points, linear between faces  (p, d)              (7)  [m/s]
//   probe_pressure  pressure at points, linear between open cells  (p)            (8)  [Pa]
//   flux            of volume through lines from a to b, to their right, by the
//                   midpoint rule over probes half a cell apart  (m)              (9)  [m²/s]
// "drag:#0" is axis x, "lift:#0" y, "side_force:#0" z.
#pragma once

#include "cycloid/fluid/grid/grid_work.h"
#include "cycloid/system/observer.h"

namespace cycloid::inline fluid {

class GridObservables final : public Observables {
 public:
  explicit GridObservables(std::shared_ptr<const GridModel> model) : model_(std::move(model)) {}
  std::vector<Observable> listed() const override;
  std::shared_ptr<const ChunkObserver<float>> float32(const std::vector<std::string>& names,
                                                      int lanes) const override;
  std::shared_ptr<const ChunkObserver<double>> float64(const std::vector<std::string>& names,
                                                       int lanes) const override;
  std::shared_ptr<const DifferentiableObserver> differentiable(
      const std::vector<std::string>& names) const override;
  const GridModel& model() const { return *model_; }

 private:
  std::shared_ptr<const GridModel> model_;
};

}  // namespace cycloid::inline fluid
