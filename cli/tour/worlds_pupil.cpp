#include <chrono>
#include <cmath>

#include "cli/tour/stop.h"
#include "cli/tour/worlds.h"
#include "cycloid/base/random.h"
#include "cycloid/evaluate/evaluate.h"
#include "cycloid/learn/learned_law.h"
#include "cycloid/learn/train.h"

namespace cycloid::tour {
namespace {

using Row = std::vector<double>;

constexpr double kDt = 0.05;

// Runs of the truth from drawn starts.
std::vector<Recording> lessons(const System& truth, int runs, int steps) {
  RandomStream random(7);
  std::vector<Recording> out;
  for (int r = 0; r < runs; ++r) {
    const double angle = random.uniform(-2.0, 2.0), speed = random.uniform(-1.5, 1.5);
    const auto run = rollout(truth, Row{angle, speed}, steps);
    Recording recording;
    recording.times = run.times();
    recording.values.assign(run.states().begin(), run.states().end());
    out.push_back(std::move(recording));
  }
  return out;
}

// A pendulum that hangs at (0, y, 1.2), as a body whose shapes are its rod and its ball.
void hang(MovingScene& scene, double y, std::array<int, 3> colour) {
  const int body = static_cast<int>(scene.shapes.size() / 2);
  scene.shapes.push_back({"capsule", body, {0, y, -0.5}, {1, 0, 0, 0}, {0.02, 0.5, 0}, colour});
  scene.shapes.push_back({"sphere", body, {0, y, -1}, {1, 0, 0, 0}, {0.1, 0, 0}, colour});
}

}  // namespace

PupilResult teach_pendulum(const KeepGoing& keep_going) {
  PupilResult out;
  const System truth = systems::pendulum({.damping = 0.2}, {.dt = kDt});
  LearnedLaw law;
  law.kind = LearnedKind::hamiltonian;
  law.hidden = {24, 24}, law.side_hidden = {8}, law.dissipation = true, law.angles = {0};
  const System blank = make_learned(law, {.dt = kDt});
  out.weights = blank.parameters().size() - 1;
  LossOptions loss_options;
  loss_options.horizon = 4;
  const auto loss = window_loss(blank, lessons(truth, 16, 60), loss_options);
  TrainOptions options;
  options.steps = 600, options.batch = 128, options.horizon = 4, options.first_horizon = 1;
  options.learning_rate = 1e-2, options.schedule = RateSchedule::cosine;
  options.watch = [&](const TrainProgress&) { return !keep_going || keep_going(); };
  const auto begin = std::chrono::steady_clock::now();
  const TrainRun run = train(blank, *loss, options);
  stop_if_asked(keep_going);
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  out.first_loss = run.state.history.front().loss, out.last_loss = run.state.history.back().loss;

  const System pupil = make_learned(law, {.dt = kDt}, blank.parameters().unpack(run.params));
  Row starts;
  RandomStream random(8);
  for (int i = 0; i < 24; ++i) {
    starts.push_back(random.uniform(-1.5, 1.5));
    starts.push_back(random.uniform(-1.0, 1.0));
  }
  EvaluateOptions judge;
  judge.timing = false;
  judge.keep_going = keep_going;
  const Scorecard card = evaluate_model({"network", pupil}, truth, starts, 80, judge);
  out.verdict = card.verdict();
  if (const Score* s = card.find("one_step_error")) out.one_step = s->value;
  if (const Score* s = card.find("error")) out.error = s->value;

  const Row start = {1.4, 0.0};
  const auto real = rollout(truth, start, 160), learned = rollout(pupil, start, 160);
  hang(out.scene, -0.2, {70, 110, 190});
  hang(out.scene, 0.2, {205, 133, 63});
  for (std::int64_t k = 0; k <= 160; ++k) {
    Row poses;
    for (const double angle : {real.state(0, k)[0], learned.state(0, k)[0]}) {
      const double half = -angle / 2;  // about y: a positive angle goes to +x
      poses.insert(poses.end(), {0, 0, 1.2, std::cos(half), 0, std::sin(half), 0});
    }
    out.scene.poses.push_back(std::move(poses));
  }
  out.scene.frame_seconds = kDt;
  return out;
}

}  // namespace cycloid::tour
