#include "cli/tour/slide.h"

#include <algorithm>
#include <limits>
#include <span>

#include "cli/tour/stop.h"
#include "cycloid/adjoint/rollout.h"
#include "cycloid/optimise/lbfgs.h"
#include "cycloid/system/laws/bead_on_curve.h"
#include "cycloid/system/systems.h"

namespace cycloid::tour {
namespace {

constexpr int kCurvePoints = 120;
constexpr double kPatience = 1.5;  // a descent is watched for so many times the straight slide's

using Heights = std::vector<double>;

Heights straight(const SlideProblem& problem) {
  Heights heights;
  const int n = problem.free_heights + 2;
  for (int i = 0; i < n; ++i) {
    const double s = static_cast<double>(i) / (n - 1);
    heights.push_back(problem.drop * (1 - s * s));
  }
  return heights;
}

// What a descent needs: the system, and how long it may take.
struct Slides {
  explicit Slides(const SlideProblem& p)
      : problem(p),
        law{p.free_heights + 2},
        system(systems::bead_on_curve(
            {.heights = straight(p), .width = p.width, .gravity = p.gravity}, {.dt = p.dt})),
        steps(static_cast<std::int64_t>(
            kPatience *
            std::sqrt(2 * (p.width * p.width + p.drop * p.drop) / (p.gravity * p.drop)) / p.dt)) {}

  Heights with_ends(std::span<const double> free) const {
    Heights all = {problem.drop};
    all.insert(all.end(), free.begin(), free.end());
    all.push_back(0);
    return all;
  }
  Heights parameters(const Heights& heights) const {
    return system.parameters().pack({{"heights", heights}});
  }
  Trajectory<double> descend(const Heights& heights, const RolloutOptions& options) const {
    return rollout(system, Heights{0.0}, steps, parameters(heights), options);
  }

  const SlideProblem& problem;
  BeadOnCurve law;
  System system;
  std::int64_t steps;
};

// T and, unless empty, its derivative by the free heights; infinite where the bead does not arrive.
double travel_time(const Slides& slides, std::span<const double> free, std::span<double> gradient,
                   const KeepGoing& keep_going) {
  RolloutOptions options;
  options.save = Save::last();
  options.keep_going = keep_going;
  const auto run = slides.descend(slides.with_ends(free), options);
  if (run.events().empty()) return std::numeric_limits<double>::infinity();
  if (!gradient.empty()) {
    const std::vector<double> none(run.states().size(), 0.0), one = {1.0};
    PullbackOptions back;
    back.x0 = back.controls = false;
    back.event_times_bar = one;
    const auto g = run.pullback(none, back);
    std::copy_n(g.params.begin() + 1, gradient.size(), gradient.begin());
  }
  return run.events().front().time;  // (1)
}

SlideIterate watched(const Slides& slides, std::span<const double> free, double time) {
  SlideIterate iterate;
  iterate.time = time;
  iterate.heights = slides.with_ends(free);
  const Heights p = slides.parameters(iterate.heights);
  for (int i = 0; i <= kCurvePoints; ++i) {
    iterate.curve.push_back(slides.law.point(static_cast<double>(i) / kCurvePoints, p.data()));
  }
  const auto run = slides.descend(iterate.heights, {});
  const std::int64_t steps = run.events().empty() ? slides.steps : run.events().front().step + 1;
  for (std::int64_t k = 0; k <= steps; ++k) {  // in the last of them it arrives
    iterate.bead.push_back(slides.law.point(run.state(0, k)[0], p.data()));
  }
  return iterate;
}

// (2): φ at the end, by bisection of (φ - sin φ)/(1 - cos φ) = width/drop, which rises with φ.
void add_cycloid(const Slides& slides, SlideResult& result) {
  const SlideProblem& p = result.problem;
  double low = 1e-3, high = 6.28;
  for (int i = 0; i < 200; ++i) {
    const double phi = (low + high) / 2;
    ((phi - std::sin(phi)) * p.drop < p.width * (1 - std::cos(phi)) ? low : high) = phi;
  }
  const double end = (low + high) / 2, r = p.drop / (1 - std::cos(end));
  result.cycloid_time = end * std::sqrt(r / p.gravity);
  const Heights found = slides.parameters(result.iterates.back().heights);
  for (int i = 0; i <= kCurvePoints; ++i) {
    const double phi = end * i / kCurvePoints;
    const double x = r * (phi - std::sin(phi)), y = p.drop - r * (1 - std::cos(phi));
    result.cycloid.push_back({x, y});
    const double s = std::sqrt(std::min(1.0, x / p.width));
    const double off = std::abs(slides.law.point(s, found.data())[1] - y) / p.drop;
    result.deviation = std::max(result.deviation, off);
  }
}

// The largest deviation of the gradient from central differences, over its largest number.
double gradient_error(const Slides& slides, const KeepGoing& keep_going) {
  const Heights all = straight(slides.problem);
  Heights free(all.begin() + 1, all.end() - 1), gradient(free.size());
  travel_time(slides, free, gradient, keep_going);
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < free.size(); ++i) {
    const double here = free[i], move = 1e-6;  // small: the spline's third derivative jumps
    const auto moved = [&](double by) {
      free[i] = here + by;
      return travel_time(slides, free, {}, keep_going);
    };
    const double difference = (moved(move) - moved(-move)) / (2 * move);
    free[i] = here;
    worst = std::max(worst, std::abs(gradient[i] - difference));
    largest = std::max(largest, std::abs(gradient[i]));
  }
  return worst / largest;
}

}  // namespace

std::vector<std::size_t> slide_frames(const SlideResult& result) {
  const std::size_t last = result.iterates.size() - 1;
  std::vector<std::size_t> frames;
  for (std::size_t k = 0; k < last; k += 1 + k / 2) frames.push_back(k);
  frames.push_back(last);
  return frames;
}

SlideResult bend_slide(const SlideProblem& problem, const KeepGoing& keep_going,
                       const std::function<void(int, const SlideIterate&)>& watch) {
  SlideResult result;
  result.problem = problem;
  const Slides slides(result.problem);
  LbfgsOptions options;
  options.gradient_tolerance = 1e-7;
  options.first_move = 0.1;
  options.memory = 20;
  options.watch = [&](const LbfgsIterate& at) {
    stop_if_asked(keep_going);
    result.iterates.push_back(watched(slides, at.x, at.value));
    if (watch) watch(at.iteration, result.iterates.back());
    return true;
  };
  const Heights all = straight(problem);
  const LbfgsResult found = lbfgs(
      [&](std::span<const double> free, std::span<double> gradient) {
        return travel_time(slides, free, gradient, keep_going);
      },
      Heights(all.begin() + 1, all.end() - 1), options);
  result.status = name(found.status);
  result.simulations = found.evaluations;
  add_cycloid(slides, result);
  result.gradient_error = gradient_error(slides, keep_going);
  return result;
}

}  // namespace cycloid::tour
