#include "cli/tour/figures.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cycloid/base/error.h"
#include "cycloid/page/html.h"
#include "cycloid/page/number_text.h"
#include "cycloid/page/svg_plot.h"

namespace cycloid::tour {
namespace {

constexpr double kWidth = 440, kHeight = 290;  // of a figure that takes half a wide page [px]
constexpr double kWide = 920;
constexpr std::size_t kShownRepeats = 50;
constexpr std::size_t kOrbitStride = 2;  // divides the number of steps

using Row = std::vector<double>;

// One coordinate of a path.
template <std::size_t N>
Row along(const std::vector<std::array<double, N>>& path, std::size_t i) {
  Row row;
  for (const auto& p : path) row.push_back(p[i]);
  return row;
}

Row every(const Row& all, std::size_t k) {
  Row some;
  for (std::size_t i = 0; i < all.size(); i += k) some.push_back(all[i]);
  return some;
}

// The iterates' paths, coordinate `i` against the distance, with what the slider says about each.
void add_iterates(Plot& plot, const AimResult& aim, std::size_t i) {
  const std::size_t last = aim.iterates.size() - 1;
  for (std::size_t k = 0; k <= last; ++k) {
    const AimIterate& at = aim.iterates[k];
    const std::string who =
        k == 0 ? "First guess" : message("Correction ", k, k == last ? " (the last)" : "");
    const std::string note =
        message(who, ": launch at (", typeset(fixed(at.velocity[0], 1)), ", ",
                typeset(fixed(at.velocity[1], 1)), ", ", typeset(fixed(at.velocity[2], 1)),
                ") m/s, misses by ", length_text(at.miss));
    const double strength =
        last == 0 ? 1 : 0.35 + 0.5 * static_cast<double>(k) / static_cast<double>(last);
    const char* css = k == 0 ? "iterate first" : k == last ? "iterate best" : "iterate between";
    plot.line(along(at.path, 0), along(at.path, i), css,
              message("data-frame=\"", k, "\" data-note=\"", escape_html(note),
                      "\" style=\"--strength:", fixed(strength, 2), "\""));
  }
}

std::string aim_side(const AimResult& aim) {
  const Vector3& target = aim.problem.target;
  Plot plot("aim-side", "Height against distance of the ball's path, for each correction", kWidth,
            kHeight);
  plot.x_axis("distance [m]", 0, 50).y_axis("height [m]", 0, 20);
  add_iterates(plot, aim, 2);
  plot.dot(target[0], target[2], 6, "target");
  plot.note(target[0], target[2], "target", "start", 9, 4);
  plot.arrow(46, 17.5, aim.problem.wind[0] * 6, 0, "wind");
  plot.note(46, 17.5, "head wind", "end", 0, -8);
  return plot.svg();
}

std::string aim_top(const AimResult& aim) {
  const Vector3& target = aim.problem.target;
  Plot plot("aim-top", "Sideways position against distance of the ball's path, seen from above",
            kWidth, kHeight);
  plot.x_axis("distance [m]", 0, 50).y_axis("sideways [m]", -6, 10);
  add_iterates(plot, aim, 1);
  plot.dot(target[0], target[1], 6, "target");
  plot.note(target[0], target[1], "target", "start", 9, 4);
  plot.arrow(7, 3.4, 0, -aim.problem.wind[1] * 6, "wind");
  plot.note(7, 5, "side wind", "start", 8, 4);
  return plot.svg();
}

std::string aim_miss(const AimResult& aim) {
  Row k, miss;
  for (std::size_t i = 0; i < aim.iterates.size(); ++i) {
    k.push_back(static_cast<double>(i));
    miss.push_back(std::max(aim.iterates[i].miss, 1e-12));
  }
  const double lowest = *std::min_element(miss.begin(), miss.end());
  Plot plot("aim-miss",
            "Distance from the target after each correction, falling by many powers of ten", kWidth,
            kHeight);
  plot.x_axis("correction", -0.3, k.back() + 0.3)
      .y_axis("miss [m]", std::pow(10.0, std::floor(std::log10(lowest))) * 0.5, 200,
              Scale::logarithmic);
  plot.horizontal(1e-3, "one millimetre", "muted", 0);
  plot.line(k, miss, "c1");
  plot.dots(k, miss, 4, "c1");
  for (std::size_t i = 0; i < k.size(); ++i) {
    plot.dot(k[i], miss[i], 7, "ring frame", message("data-frame=\"", i, "\""));
  }
  return plot.svg();
}

std::string recording(const FitResult& fit, const char* id, double width, double seconds) {
  Plot plot(id, "The recorded angles, the pendulum of the first guess and the fitted one", width,
            kHeight);
  plot.x_axis("time [s]", 0, seconds).y_axis("angle [rad]", -1.5, 1.5);
  const Row t = fit.recording.times();
  plot.line(t, fit.guess_curve.angles, "c4 thin dashed");
  plot.dots(t, fit.recording.angles, 2, "sample");
  plot.line(t, fit.fitted_curve.angles, "c1 thin");
  return plot.svg();
}

std::string fit_recording(const FitResult& fit) {
  const double seconds = fit.recording.times().back();
  return "<div class=\"on-wide\">" + recording(fit, "fit-recording", kWide, seconds) +
         "</div><div class=\"on-narrow\">" +
         recording(fit, "fit-recording-narrow", kWidth, seconds / 2) + "</div>";
}

// The ellipse of estimates within which the truth lies with the given confidence:
//   (δ_l, δ_d) = k (σ_l cos a, σ_d (ρ cos a + √(1-ρ²) sin a)),   k² = -2 log(1 - confidence)
void add_ellipse(Plot& plot, const PendulumFit& fit, double confidence, const std::string& css) {
  const double k = std::sqrt(-2 * std::log(1 - confidence)), rho = fit.correlation;
  Row l, d;
  for (int i = 0; i < 120; ++i) {
    const double a = 2 * std::numbers::pi * i / 120;
    l.push_back(fit.length.value + k * fit.length.standard_error * std::cos(a));
    d.push_back(fit.damping.value +
                k * fit.damping.standard_error *
                    (rho * std::cos(a) + std::sqrt(1 - rho * rho) * std::sin(a)));
  }
  plot.area(l, d, css);
}

std::string fit_ellipse(const FitResult& fit) {
  const PendulumFit& f = fit.fit;
  const Swing& truth = fit.problem.truth;
  // Wide enough for the ellipse, and for the truth where the noise was unlucky.
  const auto reach = [](const Estimate& e, double t) {
    return std::max(3.4 * e.standard_error, 1.3 * std::abs(t - e.value));
  };
  const double rl = reach(f.length, truth.length), rd = reach(f.damping, truth.damping);
  Plot plot("fit-ellipse", "Length and damping: estimate, its regions of confidence, and the truth",
            kWidth, kHeight);
  plot.x_axis("length [m]", f.length.value - rl, f.length.value + rl)
      .y_axis("damping [N·m·s/rad]", f.damping.value - rd, f.damping.value + rd);
  add_ellipse(plot, f, 0.95, "c1 faint");
  add_ellipse(plot, f, 0.6827, "c1");
  plot.dot(f.length.value, f.damping.value, 4.5, "c1");
  plot.dot(truth.length, truth.damping, 5.5, "truth");
  return plot.svg();
}

std::string fit_repeats(const FitResult& fit, const char* id, const char* what,
                        Estimate PendulumFit::* which, double truth, const char* label) {
  Plot plot(
      id, message("Error bars of the ", what, " in repeated experiments, with the truth as a line"),
      kWidth, kHeight);
  const std::size_t n = std::min(kShownRepeats, fit.repeats.size());
  double reach = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Estimate& e = fit.repeats[i].*which;
    reach = std::max(reach, std::abs(e.value - truth) + kNormal95 * e.standard_error);
  }
  plot.x_axis(message("the first ", n, " of ", fit.repeats.size(), " repeats"), -1,
              static_cast<double>(n))
      .y_axis(label, truth - 1.1 * reach, truth + 1.1 * reach)
      .without_x_ticks();
  plot.horizontal(truth, "", "truth");
  for (std::size_t i = 0; i < n; ++i) {
    const Estimate& e = fit.repeats[i].*which;
    const double x = static_cast<double>(i), bar = kNormal95 * e.standard_error;
    const char* css = e.covers(truth) ? "c1" : "c2";
    plot.bar(x, e.value - bar, e.value + bar, css);
    plot.dot(x, e.value, 2.4, message(css, " plain"));
  }
  return plot.svg();
}

std::string trust_orbit(const TrustResult& trust) {
  Plot plot("trust-orbit",
            "The Lorenz butterfly: height against x, of two runs that start almost alike", kWidth,
            kHeight);
  plot.x_axis("x", -22, 22).y_axis("z", 0, 50);
  std::string apart;  // how far the two are from each other, for the slider
  for (std::size_t k = 0; k < trust.orbit.size(); k += kOrbitStride) {
    const auto &a = trust.orbit[k], &b = trust.neighbour[k];
    apart += message(apart.empty() ? "" : " ",
                     significant(std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]), 2));
  }
  const auto show = [&](const std::vector<std::array<double, 3>>& path, const std::string& css) {
    plot.exact_line(every(along(path, 0), kOrbitStride), every(along(path, 2), kOrbitStride),
                    css + " orbit", message("data-orbit=\"", css, "\" data-apart=\"", apart, "\""));
    apart.clear();
  };
  show(trust.orbit, "c1");
  show(trust.neighbour, "c2");
  plot.dot(trust.orbit.back()[0], trust.orbit.back()[2], 5, "c1", "data-head=\"c1\"");
  plot.dot(trust.neighbour.back()[0], trust.neighbour.back()[2], 5, "c2", "data-head=\"c2\"");
  return plot.svg();
}

std::string trust_growth(const TrustResult& trust) {
  Plot plot("trust-growth", "Growth of the cotangent on its way back, on a logarithmic scale",
            kWidth, kHeight);
  plot.x_axis("seconds looked back", 0, trust.problem.duration)
      .y_axis("growth of the gradient", 1e-2, 1e10, Scale::logarithmic);
  Row t = trust.times, rate;
  for (const double s : t) rate.push_back(std::exp(trust.lyapunov * s));
  plot.horizontal(1e3, "a thousandfold", "muted", 1);
  plot.vertical(trust.horizon, message("horizon ", fixed(trust.horizon, 1), " s"), "c2", 0.08);
  plot.line(t, rate, "c3 thin dashed");
  plot.line(t, trust.look_back, "c1");
  return plot.svg();
}

std::string trust_forecast(const TrustResult& trust) {
  Plot plot("trust-forecast",
            "Error of the gradient's forecast against time, for three sizes of the nudge", kWidth,
            kHeight);
  plot.x_axis("time [s]", 0, trust.problem.duration)
      .y_axis("error of the forecast, as a share", 1e-8, 30, Scale::logarithmic);
  plot.horizontal(0.5, "half wrong", "muted", 0);
  const char* const kColours[] = {"c2", "c3", "c1"};
  for (std::size_t n = 0; n < trust.nudges.size(); ++n) {
    plot.line(trust.times, trust.nudges[n].disagreement, kColours[n]);
  }
  return plot.svg();
}

std::string trust_landscape(const Landscape& land, const char* id, double reach) {
  Plot plot(id,
            message("x after ", fixed(land.duration, 0),
                    " s against a change of the start, and the gradient's "
                    "straight line"),
            kWidth, kHeight);
  plot.x_axis("change of x at the start", -reach, reach)
      .y_axis(message("x after ", fixed(land.duration, 0), " s"), -20, 20);
  plot.dots(land.nudge, land.value, 1.3, "c1");
  const Row ends = {-reach, reach};
  const Row line = {land.here - reach * land.gradient, land.here + reach * land.gradient};
  plot.line(ends, line, "c2");
  plot.dot(0, land.here, 4.5, "c2");
  return plot.svg();
}

// The slides that are worth showing, and where a bead on each is after every tenth of a second.
std::string bending(const SlideResult& slide, const char* id, double width) {
  const SlideProblem& p = slide.problem;
  Plot plot(id, "The slide after each correction, from straight to the cycloid", width, kHeight);
  double lowest = 0;
  for (const auto& point : slide.cycloid) lowest = std::min(lowest, point[1]);
  plot.x_axis("distance [m]", -0.02 * p.width, 1.02 * p.width)
      .y_axis("height [m]", lowest - 0.1 * p.drop, 1.06 * p.drop);
  const std::vector<std::size_t> frames = slide_frames(slide);
  const std::size_t tenth = static_cast<std::size_t>(std::lround(0.1 / p.dt));
  // The straight slide after the others: the first corrections nearly cover it.
  for (std::size_t drawn = 1; drawn <= frames.size(); ++drawn) {
    const std::size_t f = drawn % frames.size();
    const SlideIterate& at = slide.iterates[frames[f]];
    const bool last = f + 1 == frames.size();
    const std::string who =
        f == 0 ? "Straight" : message("Correction ", frames[f], last ? " (the last)" : "");
    const char* css = f == 0 ? "iterate first" : last ? "iterate best" : "iterate between";
    plot.line(along(at.curve, 0), along(at.curve, 1), css,
              message("data-frame=\"", f, "\" data-note=\"", who, ": ", fixed(at.time, 5), " s, ",
                      significant(100 * (at.time / slide.cycloid_time - 1), 2),
                      " % above the cycloid\" style=\"--strength:0.5\""));
    for (std::size_t k = tenth; k < at.bead.size(); k += tenth) {
      plot.dot(at.bead[k][0], at.bead[k][1], 4, "ring frame", message("data-frame=\"", f, "\""));
    }
  }
  plot.line(along(slide.cycloid, 0), along(slide.cycloid, 1), "c2 thin dashed");
  return plot.svg();
}

std::string slide_bending(const SlideResult& slide) {
  return "<div class=\"on-wide\">" + bending(slide, "slide-bending", kWide) +
         "</div><div class=\"on-narrow\">" + bending(slide, "slide-bending-narrow", kWidth) +
         "</div>";
}

std::string slide_time(const SlideResult& slide) {
  Row k, excess;
  for (std::size_t i = 0; i < slide.iterates.size(); ++i) {
    k.push_back(static_cast<double>(i));
    excess.push_back(100 * (slide.iterates[i].time / slide.cycloid_time - 1));
  }
  Plot plot("slide-time", "How much longer than on the cycloid the bead takes, in per cent", kWidth,
            kHeight);
  plot.x_axis("correction", -1, k.back() + 1)
      .y_axis("time above the cycloid's [%]", 1e-3, 100, Scale::logarithmic);
  plot.horizontal(0.1, "a thousandth", "muted", 0);
  plot.line(k, excess, "c1");
  return plot.svg();
}

// Beads on the straight slide and on the last one, at equal times.
std::string slide_race(const SlideResult& slide) {
  const SlideProblem& p = slide.problem;
  double lowest = 0;
  for (const auto& point : slide.cycloid) lowest = std::min(lowest, point[1]);
  Plot plot("slide-race", "A bead on the straight slide and one on the bent slide, side by side",
            kWidth, kHeight);
  plot.x_axis("distance [m]", -0.02 * p.width, 1.02 * p.width)
      .y_axis("height [m]", lowest - 0.1 * p.drop, 1.06 * p.drop);
  const auto show = [&](const SlideIterate& at, const std::string& css) {
    plot.line(along(at.curve, 0), along(at.curve, 1), css + " thin");
    plot.exact_line(along(at.bead, 0), along(at.bead, 1), css + " track",
                    message("data-race=\"", css, "\""));
  };
  show(slide.iterates.front(), "c4");
  show(slide.iterates.back(), "c1");
  for (const auto& [at, css] :
       {std::pair{&slide.iterates.front(), "c4"}, {&slide.iterates.back(), "c1"}}) {
    plot.dot(at->bead.back()[0], at->bead.back()[1], 6, css, message("data-head=\"", css, "\""));
  }
  return plot.svg();
}

// A number of the cart-pole over time.
std::string swing_plot(const SwingResult& swing, const char* id, const char* title,
                       const char* label, const Row& values, double reach) {
  Plot plot(id, title, kWidth, kHeight);
  plot.x_axis("time [s]", 0, swing.times.back()).y_axis(label, -reach, reach);
  plot.horizontal(0, "", "muted");
  plot.line(Row(swing.times.begin(), swing.times.begin() + std::ssize(values)), values, "c1");
  return plot.svg();
}

}  // namespace

std::map<std::string, std::string> figures(const TourResult& result) {
  const AimResult& aim = result.aim;
  const FitResult& fit = result.fit;
  const TrustResult& trust = result.trust;
  const double reach = trust.problem.reach;
  return {{"aim_side", aim_side(aim)},
          {"aim_top", aim_top(aim)},
          {"aim_miss", aim_miss(aim)},
          {"fit_recording", fit_recording(fit)},
          {"fit_ellipse", fit_ellipse(fit)},
          {"fit_length", fit_repeats(fit, "fit-length", "length", &PendulumFit::length,
                                     fit.problem.truth.length, "length [m]")},
          {"fit_damping", fit_repeats(fit, "fit-damping", "damping", &PendulumFit::damping,
                                      fit.problem.truth.damping, "damping [N·m·s/rad]")},
          {"trust_orbit", trust_orbit(trust)},
          {"trust_growth", trust_growth(trust)},
          {"trust_forecast", trust_forecast(trust)},
          {"trust_within", trust_landscape(trust.within, "trust-within", reach)},
          {"trust_beyond", trust_landscape(trust.beyond, "trust-beyond", reach)},
          {"slide_bending", slide_bending(result.slide)},
          {"slide_time", slide_time(result.slide)},
          {"slide_race", slide_race(result.slide)},
          {"swing_angle", swing_plot(result.swing, "swing-angle", "The pole's angle over time",
                                     "angle [rad]", result.swing.angle, 3.6)},
          {"swing_force",
           swing_plot(result.swing, "swing-force", "The motor's force over time", "force [N]",
                      result.swing.force, 1.1 * result.swing.problem.limit)}};
}

}  // namespace cycloid::tour
