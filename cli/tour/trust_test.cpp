#include "cli/tour/trust.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"

namespace cycloid::tour {

TEST_CASE("trust: Lorenz is called chaotic, with its exponent and a horizon [threads]") {
  const TrustResult trust = question_lorenz();
  CHECK(trust.chaotic());
  CHECK(trust.lyapunov == doctest::Approx(kLorenzExponent).epsilon(0.02));
  CHECK(trust.lyapunov_error < 0.01);
  // A thousandfold takes log(1000)/0.9056 = 7.6 s on average; single runs of 25 s scatter around
  // it.
  CHECK(trust.horizon > 4);
  CHECK(trust.horizon < 15);
  CHECK(trust.gradient_ok);

  SUBCASE(
      "growth is that of the whole run, and the horizon is where its mean rate reaches a "
      "thousand") {
    CHECK(trust.look_back.size() == trust.times.size());
    const double rate = std::log(trust.look_back.back()) / trust.problem.duration;
    CHECK(std::exp(rate * trust.horizon) == doctest::Approx(1000).epsilon(1e-6));
  }

  SUBCASE("forecasts hold at first, longer for smaller nudges, and are lost in the end") {
    double before = 0;
    for (const NudgeTrace& nudge : trust.nudges) {
      CHECK(nudge.disagreement.size() == trust.times.size());
      CHECK(nudge.disagreement[50] < 10 * nudge.size);  // the curvature's share, at half a second
      CHECK(nudge.disagreement.back() > 0.2);
      CHECK(nudge.lost_at > before + 1);
      before = nudge.lost_at;
    }
    CHECK(before < trust.problem.duration);
  }

  SUBCASE("the gradient follows the loss within the horizon, and not beyond it") {
    const auto worst = [](const Landscape& land, double reach) {
      double error = 0;
      for (std::size_t i = 0; i < land.nudge.size(); ++i) {
        if (std::abs(land.nudge[i]) > reach) continue;
        error =
            std::max(error, std::abs(land.value[i] - land.here - land.gradient * land.nudge[i]));
      }
      return error;
    };
    CHECK(worst(trust.within, 0.05) < 0.1);
    CHECK(worst(trust.beyond, 0.05) > 100);
    CHECK(std::abs(trust.beyond.gradient) > 100 * std::abs(trust.within.gradient));
    CHECK(trust.within.gradient != 0);
  }
}

TEST_CASE("trust: stops when asked") {
  CHECK_THROWS_AS(question_lorenz({}, [] { return false; }), Interrupted);
}

}  // namespace cycloid::tour
