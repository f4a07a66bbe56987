// What a solid body shows besides its state, with pullbacks.
//
//   elastic_energy    W, of cells and of terms that store (contact, springs)      (1)   [J]
//   kinetic_energy    Σ ½ m |v|²                                                  (2)   [J]
//   energy            (1) + (2) - Σ m g·x                                         (3)   [J]
//   reaction (3 n)    of held numbers, zero elsewhere: what the support must give, without inertia
//                     f(x) + f_damping(x, v) + drag m v - F - m g, of terms those at rest (4)   [N]
//   stress (cells, 3, 3)   first Piola, elastic, mean of the cell                 (5)   [Pa]
//   strain (cells, 3, 3)   Green's, mean of the cell (element/strain.h)           (5)
//   potential_energy  of gravity, - Σ m g·x                                       (3)   [J]
//   volume            of the body as it is                                        (6)   [m³]
//   centre_of_mass (3)     Σ m x / Σ m                                            (7)   [m]
//   vertex:#7 (3)     the position of a vertex, numbers of the state
#pragma once

#include "cycloid/soft/solid_numbers.h"
#include "cycloid/system/observer.h"

namespace cycloid::inline soft {

class SolidObservables final : public Observables {
 public:
  explicit SolidObservables(std::shared_ptr<const SolidBody> body) : body_(std::move(body)) {}

  const std::shared_ptr<const SolidBody>& body() const { return body_; }
  std::vector<Observable> listed() const override;
  std::optional<Observable> find(const std::string& name) const override;
  std::shared_ptr<const ChunkObserver<float>> float32(const std::vector<std::string>&,
                                                      int) const override {
    return nullptr;
  }
  std::shared_ptr<const ChunkObserver<double>> float64(const std::vector<std::string>& names,
                                                       int lanes) const override;
  std::shared_ptr<const DifferentiableObserver> differentiable(
      const std::vector<std::string>& names) const override;

 private:
  std::shared_ptr<const SolidBody> body_;
};

}  // namespace cycloid::inline soft
