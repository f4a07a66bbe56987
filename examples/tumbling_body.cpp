// A free body that spins about its middle axis turns over, again and again; and the gradient of
// where it points with respect to its orientation at the start (a quaternion) and its inertia.
#include <cmath>
#include <cstdio>

#include "cycloid/cycloid.h"
#include "cycloid/math/rotation.h"

using cycloid::Vec3;

// Euler's equations: q̇ = ½ q ⊗ (0, ω), J ω̇ = J ω × ω, with ω and J in the body's axes. A law
// gives the rate of a quaternion as the angular velocity in the body's axes: three numbers, not
// four.
struct FreeBody {
  static constexpr const char* kName = "free_body";
  static constexpr std::array kState = {
      cycloid::BlockSpec{"orientation", 4, "1", cycloid::BlockKind::quaternion},
      cycloid::BlockSpec{"spin", 3, "rad/s"}};
  static constexpr std::array kParameters = {
      cycloid::ParameterSpec{"inertia", 1.0, "kg·m²", cycloid::Constraint::inertia, 6}};

  template <class S>
  void x_dot(const S& /*t*/, const S* x, const S* /*u*/, const S* p, S* dx) const {
    // Columns of J from xx yy zz xy xz yz, and its inverse by cross products.
    const Vec3<S> a{p[0], p[3], p[4]}, b{p[3], p[1], p[5]}, c{p[4], p[5], p[2]};
    const Vec3<S> w = cycloid::load_vec3(x + 4);
    const Vec3<S> torque = cross(a * w.x + b * w.y + c * w.z, w);
    const S determinant = dot(a, cross(b, c));
    cycloid::store(dx, w);
    dx[3] = dot(cross(b, c), torque) / determinant;
    dx[4] = dot(cross(c, a), torque) / determinant;
    dx[5] = dot(cross(a, b), torque) / determinant;
  }
};

// How far the body's y axis points along the world's: 1 upright, -1 turned over.
double upright(std::span<const double> x) {
  return x[0] * x[0] - x[1] * x[1] + x[2] * x[2] - x[3] * x[3];
}

int main() {
  const cycloid::System system = cycloid::make_system(
      FreeBody{}, {.dt = 0.01, .values = {{"inertia", {1.0, 2.0, 2.9, 0.05, 0.0, -0.1}}}});
  // Spinning about y, nearly. The quaternion need not have unit length: it is normalised on entry.
  const std::vector<double> x0 = {2, 0.1, 0, -0.2, 0.01, 5, 0};
  const int steps = 1000;
  const auto run = cycloid::rollout(system, x0, steps);
  std::printf("time [s]  body's y axis along the world's y\n");
  double lowest = 1;
  for (int k = 0; k <= steps; k += 50) {
    const double up = upright(run.state(0, k));
    lowest = std::min(lowest, up);
    std::printf("%8.2f  %+.3f %*s\n", k * 0.01, up, static_cast<int>(20 * (1 + up)) + 1, "*");
  }

  // The loss: `upright` after 3 s. Its gradient in the coordinates of the last state, pulled back.
  const auto short_run = cycloid::rollout(system, x0, 300, {}, {.save = cycloid::Save::last()});
  const auto x = short_run.states();
  const cycloid::Gradient<double> g =
      short_run.pullback(std::vector{2 * x[0], -2 * x[1], 2 * x[2], -2 * x[3], 0.0, 0.0, 0.0});

  // Central differences of the raw numbers.
  const auto loss = [&](std::vector<double> start, std::vector<double> params) {
    return upright(cycloid::rollout(system, start, 300, params).state(0, -1));
  };
  const std::vector<double> p0 = system.parameters().default_values();
  double worst = 0, largest = 0;
  const auto compare = [&](const char* what, int i, double gradient, double difference) {
    std::printf("dL/d(%s[%d]) = %+.8f, by differences %+.8f\n", what, i, gradient, difference);
    worst = std::max(worst, std::abs(gradient - difference));
    largest = std::max(largest, std::abs(gradient));
  };
  const double h = 1e-6;
  for (int i = 0; i < 4; ++i) {
    std::vector<double> more = x0, less = x0;
    more[i] += h, less[i] -= h;
    compare("orientation", i, g.x0[i], (loss(more, p0) - loss(less, p0)) / (2 * h));
  }
  for (int i = 0; i < 6; ++i) {
    std::vector<double> more = p0, less = p0;
    more[i] += h, less[i] -= h;
    compare("inertia", i, g.params[i], (loss(x0, more) - loss(x0, less)) / (2 * h));
  }
  return lowest < -0.9 && largest > 0.1 && worst < 1e-6 * largest ? 0 : 1;
}
