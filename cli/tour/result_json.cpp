#include "cli/tour/result_json.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/base/instruction_set.h"
#include "cycloid/page/number_text.h"

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

Json swing_json(const SwingResult& swing) {
  const SwingProblem& p = swing.problem;
  double most = 0;
  for (const double u : swing.force) most = std::max(most, std::abs(u));
  return {{"up", swing.up()},
          {"miss", swing.miss},
          {"iterations", swing.iterations},
          {"seconds", swing.seconds},
          {"verdict", swing.verdict},
          {"cart", p.cart},
          {"pole", p.pole},
          {"length", p.length},
          {"limit", p.limit},
          {"largest_force", most},
          {"steps", p.steps},
          {"duration", swing.times.back()},
          {"angle", swing.angle},
          {"position", swing.position},
          {"force", swing.force},
          {"scene", to_json(swing.scene)}};
}

// What the page says about a recording, or that none was given.
std::string recording_sentence(const std::optional<RecordingResult>& r) {
  if (!r)
    return "Give it a recording of a real pendulum, cycloid tour --data FILE, and it is fitted "
           "too.";
  return message("A real pendulum (", r->path.filename().string(), ", ", r->samples,
                 " samples): from the first four fifths gravity over length is ",
                 significant(r->rate, 4), " ± ", significant(r->rate_error, 1),
                 "; the last fifth, which it has not seen, is foretold to ",
                 significant(r->held_out, 2), " rad.");
}

Json recording_json(const std::optional<RecordingResult>& r) {
  Json json = {{"given", r.has_value()}, {"sentence", recording_sentence(r)}};
  if (!r) return json;
  json.update({{"path", r->path.string()},
               {"samples", r->samples},
               {"rate", r->rate},
               {"rate_error", r->rate_error},
               {"damping", r->damping},
               {"damping_error", r->damping_error},
               {"rms", r->rms},
               {"held_out", r->held_out}});
  return json;
}

// A story that could not be told is hidden on the page.
std::string shown(const std::string& reason) { return reason.empty() ? "" : "hidden"; }

Json humanoid_json(const HumanoidResult& r) {
  return {{"shown", shown(r.reason)},
          {"reason", r.reason},
          {"ok", r.ok()},
          {"dofs", r.dofs},
          {"parameters", r.parameters},
          {"gradient_error", r.gradient_error},
          {"step_us", r.step_us},
          {"gradient_us", r.gradient_us},
          {"mujoco_step_us", r.mujoco_step_us},
          {"mujoco_differences_us", r.mujoco_differences_us},
          {"scene", to_json(r.scene)}};
}

Json push_json(const PushResult& r) {
  return {{"shown", shown(r.reason)}, {"reason", r.reason}, {"ok", r.ok()},
          {"goal", r.goal},           {"end", r.end},       {"iterations", r.iterations},
          {"seconds", r.seconds},     {"silent", r.silent}, {"scene", to_json(r.scene)}};
}

Json finger_json(const FingerResult& r) {
  return {{"ok", r.ok()},
          {"unknowns", r.unknowns},
          {"sag", -1000 * r.wanted},
          {"reached_mm", -1000 * r.reached},
          {"young_kpa", r.young / 1000},
          {"runs", r.runs},
          {"gradient_error", r.gradient_error},
          {"scene", to_json(r.scene)}};
}

Json stream_json(const StreamResult& r) {
  return {{"ok", r.ok()},     {"cells", r.cells},           {"drag", r.drag},
          {"slope", r.slope}, {"difference", r.difference}, {"scene", to_json(r.scene)}};
}

Json pupil_json(const PupilResult& r) {
  return {{"ok", r.ok()},
          {"weights", r.weights},
          {"seconds", r.seconds},
          {"first_loss", r.first_loss},
          {"last_loss", r.last_loss},
          {"verdict", r.verdict},
          {"one_step", r.one_step},
          {"error", r.error},
          {"scene", to_json(r.scene)}};
}

}  // namespace

nlohmann::ordered_json to_json(const TourResult& result) {
  return {{"ok", result.ok()},
          {"told", result.told()},
          {"seed", result.seed},
          {"seconds", result.seconds},
          {"report", result.report.empty() ? Json() : Json(result.report.string())},
          {"instruction_set", std::string(name(active_instruction_set()))},
          {"aim", aim_json(result.aim)},
          {"fit", fit_json(result.fit)},
          {"trust", trust_json(result.trust)},
          {"slide", slide_json(result.slide)},
          {"swing", swing_json(result.swing)},
          {"humanoid", humanoid_json(result.worlds.humanoid)},
          {"push", push_json(result.worlds.push)},
          {"finger", finger_json(result.worlds.finger)},
          {"stream", stream_json(result.worlds.stream)},
          {"pupil", pupil_json(result.worlds.pupil)},
          {"recording", recording_json(result.recording)}};
}

}  // namespace cycloid::tour
