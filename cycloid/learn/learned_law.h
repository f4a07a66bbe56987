// Room learn: laws of motion that are networks, and how they are trained.
//
// Where to start reading:
//   learned_law.h   the laws, as recipes, and the Systems made of them
//   field.h         their mathematics: rate and energy of many columns, with pullbacks;
//                   field_lanes.h  ... in the lanes of steppers and observers
//   training_loss.h how well parameters explain derivatives or recordings, with the gradient
//   train.h         the way down: Adam, AdamW, L-BFGS; schedules, validation, checkpoints
//   transitions.h, gaussian_loss.h, dropout.h, laplace.h   models that state their uncertainty;
//                   moments.h  ... carried through a run
//   safetensors.h   files of arrays by name;   law_file.h  ... that hold a trained law
//
// With networks N of weights w, q (n) coordinates, u (m) inputs, B an input matrix:
//   neural_ode        ẋ = N([x, u])                                               (1)
//   hamiltonian       x = [q, p], H = N(x), or V(q) + T(p) where separable         (2)
//                     q̇ = ∂H/∂p,  ṗ = -∂H/∂q - D(q) ∂H/∂p + B u,  D = E Eᵀ           (3)
//   lagrangian        x = [q, v], L = ½ |v|² + N(x); M = ∂²L/∂v∂v, C = ∂²L/∂v∂q         (4)
//                     M v̇ = ∂L/∂q - C v - D v + B u                                 (5)
//   deep_lagrangian   M(q) = F Fᵀ + ε, F = 1 + lower triangle of N(q), V(q)            (6)
//                     M v̇ = ½ ∂(vᵀ M v)/∂q - Ṁ v - ∂V/∂q - D v + B u                  (7)
//   constrained       x = [q, v], points in space with masses m; V = N(q); distances held:
//                     Φ_k = ½ (|r_k|² - L_k²), r_k from one point to another, J = ∂Φ/∂q      (10)
//                     m v̇ = -∂V/∂q - D v + B u + Jᵀ λ,  Φ̈ = -2 α Φ̇ - α² Φ                  (11)
// after [Chen2018], [Greydanus2019], [Zhong2020], [Cranmer2020], [Lutter2019] and [Finzi2020].
// E is a lower triangle that a network of q gives, so that D is positive semi-definite whatever its
// weights: the energy never grows by itself. B is 1 (identity), numbers of its own (constant), or
// a network of
// q. Networks see angles through sine and cosine. In (5) ½ |v|² makes M regular before anything is
// learned; where it is singular in a lane, that lane's step is not finite.
// In (11) λ solves with J m⁻¹ Jᵀ, which is singular where distances say the same twice. Points are
// the particles, then anchors, which stand still. α pulls back what integration drifts.
// Energies: H;  v · ∂L/∂v - L;  ½ vᵀ M v + V;  ½ Σ m |v|² + V.
//
// A law may have jumps (system/event/jump.h): impacts, with restitution a parameter.
#pragma once

#include <array>
#include <map>

#include "cycloid/network/mlp_shape.h"
#include "cycloid/system/event/jump.h"
#include "cycloid/system/systems.h"

namespace cycloid::inline learn {

enum class LearnedKind { neural_ode, hamiltonian, lagrangian, deep_lagrangian, constrained };
enum class InputMatrix { identity, constant, network };

const char* name(LearnedKind kind);

struct LearnedLaw {
  LearnedKind kind = LearnedKind::neural_ode;
  int n = 1;  // states of (1), else coordinates
  int inputs = 0;
  std::vector<int> hidden = {64, 64};
  std::vector<int> side_hidden = {32, 32};  // of the networks for D and B
  Activation activation = Activation::tanh;
  bool dissipation = false, separable = false;
  InputMatrix input_matrix = InputMatrix::constant;
  std::vector<int> angles = {};  // coordinates on the circle, rising
  std::uint64_t seed = 0;
  std::vector<JumpSpec> jumps = {};  // with the first values of their parameters
  // Of constrained: coordinates of a point; pairs of points, the particles and then the anchors;
  // the first values of masses [kg], lengths [m] and anchors [m], point by point; α [1/s].
  int dimension = 2;
  std::vector<std::array<int, 2>> distances = {};
  std::vector<double> masses = {}, lengths = {}, anchors = {};
  double stabilisation = 0;

  int states() const { return kind == LearnedKind::neural_ode ? n : 2 * n; }
  bool second_order() const {
    return kind != LearnedKind::neural_ode && kind != LearnedKind::hamiltonian;
  }
  int particles() const { return n / dimension; }
  int triangle() const { return n * (n + 1) / 2; }
};

// A network of a law, by the name that its parameters begin with.
struct LearnedNetwork {
  std::string name;
  MlpShape shape;
};

// In the order of their parameters: the law's own one or two, then dissipation, then input.
std::vector<LearnedNetwork> networks_of(const LearnedLaw& law);

// A System with parameters option.timestep, "hamiltonian.weight0" (out, in), "hamiltonian.bias0",
// …, "input.matrix" (n, m), of constrained "masses", "lengths", "anchors", of a jump those of
// system/event/jump.h; observables x_dot and, but for (1), energy, of constrained violation.
// `values`: parameters in place of the first ones, which come from the seed. Throws ModelError on
// a law or an integrator
// that cannot be, ParameterError on values that do not fit.
System make_learned(const LearnedLaw& law, const systems::Settings& settings = {},
                    const std::map<std::string, std::vector<double>>& values = {});

// What a System was made of, or null where it is not such a law.
const LearnedLaw* learned_law(const System& system);
systems::Settings learned_settings(const System& system);

}  // namespace cycloid::inline learn
