#include "cli/tour/result_json.h"

#include <cmath>

#include "cycloid/base/instruction_set.h"

namespace cycloid::tour {
namespace {

using Json = nlohmann::ordered_json;

Json aim_json(const AimResult& aim) {
  Json misses = Json::array();
  for (const AimIterate& iterate : aim.iterates) misses.push_back(iterate.miss);
  const AimProblem& p = aim.problem;
  return {{"hit", aim.hit()},
          {"miss", aim.miss()},
          {"first_miss", aim.iterates.front().miss},
          {"iterations", aim.iterations()},
          {"simulations", aim.simulations},
          {"steps", std::llround(p.flight_time / p.dt)},
          {"status", aim.status},
          {"first_velocity", aim.iterates.front().velocity},
          {"velocity", aim.iterates.back().velocity},
          {"target", p.target},
          {"wind", p.wind},
          {"head_wind", -p.wind[0]},
          {"side_wind", std::abs(p.wind[1])},
          {"flight_time", p.flight_time},
          {"gradient_error", aim.gradient_error},
          {"gradient_ok", aim.gradient_ok},
          {"misses", misses}};
}

Json estimate_json(const Estimate& e, double truth, double guess, const char* unit) {
  return {{"truth", truth},
          {"guess", guess},
          {"estimate", e.value},
          {"standard_error", e.standard_error},
          {"low", e.value - kNormal95 * e.standard_error},
          {"high", e.value + kNormal95 * e.standard_error},
          {"unit", unit}};
}

Json coverage_json(const FitResult& fit) {
  const double n = static_cast<double>(fit.repeats.size());
  const auto share = [n](std::size_t count) { return static_cast<double>(count) / n; };
  return {{"repeats", fit.repeats.size()},
          {"length_95", fit.length_covered()},
          {"length_95_share", share(fit.length_covered())},
          {"length_68", fit.length_covered(1)},
          {"length_68_share", share(fit.length_covered(1))},
          {"damping_95", fit.damping_covered()},
          {"damping_95_share", share(fit.damping_covered())},
          {"damping_68", fit.damping_covered(1)},
          {"damping_68_share", share(fit.damping_covered(1))}};
}

Json fit_json(const FitResult& fit) {
  const Swing &t = fit.problem.truth, &g = fit.problem.guess;
  return {{"found", fit.found()},
          {"status", fit.fit.status},
          {"iterations", fit.fit.iterations},
          {"samples", fit.recording.angles.size()},
          {"interval", fit.recording.interval},
          {"duration", fit.recording.times().back()},
          {"length", estimate_json(fit.fit.length, t.length, g.length, "m")},
          {"damping", estimate_json(fit.fit.damping, t.damping, g.damping, "N·m·s/rad")},
          {"angle", estimate_json(fit.fit.angle, t.angle, g.angle, "rad")},
          {"velocity", estimate_json(fit.fit.velocity, t.velocity, g.velocity, "rad/s")},
          {"noise", {{"truth", fit.problem.noise}, {"estimate", fit.fit.noise}, {"unit", "rad"}}},
          {"correlation", fit.fit.correlation},
          {"coverage", coverage_json(fit)}};
}

Json trust_json(const TrustResult& trust) {
  Json nudges = Json::array();
  for (const NudgeTrace& n : trust.nudges) {
    nudges.push_back({{"size", n.size}, {"lost_at", n.lost_at}});
  }
  const auto land = [](const Landscape& l) {
    return Json{{"duration", l.duration},
                {"value", l.here},
                {"gradient", l.gradient},
                {"count", l.nudge.size()}};
  };
  return {{"verdict", trust.verdict},
          {"advice", trust.advice},
          {"duration", trust.problem.duration},
          {"horizon", trust.horizon},
          {"growth", trust.look_back.back()},
          {"lyapunov", trust.lyapunov},
          {"lyapunov_error", trust.lyapunov_error},
          {"published", kLorenzExponent},
          {"environments", trust.problem.environments},
          {"exponent_time", trust.problem.exponent_time},
          {"gradient_error", trust.gradient_error},
          {"gradient_ok", trust.gradient_ok},
          {"nudges", nudges},
          {"within", land(trust.within)},
          {"beyond", land(trust.beyond)}};
}

Json slide_json(const SlideResult& slide) {
  Json times = Json::array();
  for (const SlideIterate& iterate : slide.iterates) times.push_back(iterate.time);
  const SlideProblem& p = slide.problem;
  return {{"fastest", slide.fastest()},
          {"time", slide.time()},
          {"straight_time", slide.straight_time()},
          {"cycloid_time", slide.cycloid_time},
          {"excess", slide.excess()},
          {"deviation", slide.deviation},
          {"saved", 1 - slide.time() / slide.straight_time()},
          {"iterations", slide.iterations()},
          {"simulations", slide.simulations},
          {"status", slide.status},
          {"width", p.width},
          {"drop", p.drop},
          {"free_heights", p.free_heights},
          {"dt", p.dt},
          {"gradient_error", slide.gradient_error},
          {"heights", slide.iterates.back().heights},
          {"times", times}};
}

}  // namespace

nlohmann::ordered_json to_json(const TourResult& result) {
  return {{"ok", result.ok()},
          {"seed", result.seed},
          {"seconds", result.seconds},
          {"report", result.report.empty() ? Json() : Json(result.report.string())},
          {"instruction_set", std::string(name(active_instruction_set()))},
          {"aim", aim_json(result.aim)},
          {"fit", fit_json(result.fit)},
          {"trust", trust_json(result.trust)},
          {"slide", slide_json(result.slide)}};
}

}  // namespace cycloid::tour
