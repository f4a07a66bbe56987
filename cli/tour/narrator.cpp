#include "cli/tour/narrator.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <sstream>
#include <thread>

#include "cycloid/base/error.h"
#include "cycloid/page/number_text.h"
#include "cycloid/page/text_plot.h"

namespace cycloid::tour {
namespace {

constexpr int kMostColumns = 78, kFewestColumns = 30, kMostPlotColumns = 70;
constexpr int kSlideRows = 11;
constexpr std::chrono::milliseconds kBetweenSlides{25};  // so that it is seen bending
constexpr const char* kPercent = "\u00a0%";              // with a space that does not break
constexpr const char* kIndent = "   ";
constexpr const char *kBlue = "36", *kOrange = "33", *kGrey = "90", *kGreen = "32", *kRed = "31";

template <std::size_t N>
std::vector<double> along(const std::vector<std::array<double, N>>& path, std::size_t i) {
  std::vector<double> row;
  for (const auto& p : path) row.push_back(p[i]);
  return row;
}

// Columns of a word on the screen: characters, without colour codes.
std::size_t width(const std::string& word) {
  std::size_t columns = 0;
  bool escape = false;
  for (const char c : word) {
    if (c == '\x1b') escape = true;
    if (!escape && (c & 0xC0) != 0x80) ++columns;
    if (escape && c == 'm') escape = false;
  }
  return columns;
}

std::string interval(const Estimate& e, int digits) {
  return fixed(e.value, digits) + " ± " + fixed(e.standard_error, digits);
}

std::string padded(std::string text, std::size_t columns) {
  const std::size_t w = width(text);
  return w < columns ? text + std::string(columns - w, ' ') : text;
}

}  // namespace

int Narrator::columns() const {
  return std::clamp(options_.columns - 1, kFewestColumns, kMostColumns);
}

int Narrator::plot_columns() const { return std::min(columns() - 4, kMostPlotColumns); }

std::string Narrator::painted(const char* code, const std::string& text) const {
  return options_.colour ? message("\x1b[", code, "m", text, "\x1b[0m") : text;
}

void Narrator::heading(int number, const std::string& text) {
  out_ << '\n' << painted("1;36", message(number, "  ", text)) << "\n\n" << std::flush;
}

void Narrator::say(const std::string& text) {
  clear_progress();
  std::istringstream words(text);
  std::string line;
  std::size_t columns = 0;
  for (std::string word; words >> word;) {
    const std::size_t w = width(word);
    if (columns > 0 && columns + 1 + w > static_cast<std::size_t>(this->columns() - 3)) {
      out_ << kIndent << line << '\n';
      line.clear(), columns = 0;
    }
    line += (columns > 0 ? " " : "") + word;
    columns += w + (columns > 0);
  }
  out_ << kIndent << line << "\n" << std::flush;
}

void Narrator::draw(const TextPlot& plot) {
  if (options_.unicode) out_ << '\n' << plot.text(kIndent, options_.colour) << '\n' << std::flush;
}

void Narrator::progress(const std::string& text) {
  if (!options_.terminal) return;
  out_ << "\r\x1b[K" << kIndent << text << std::flush;
  in_progress_ = true;
}

void Narrator::clear_progress() {
  if (in_progress_) out_ << "\r\x1b[K";
  in_progress_ = false;
}

void Narrator::welcome() {
  out_ << '\n'
       << strong("Cycloid") << ": ten short stories, computed on this machine as they are told.\n";
}

void Narrator::begin_aim(const AimProblem& p) {
  heading(1, "Aim a ball in the wind");
  say(message(
      "A football is to pass a point ", p.target[0], " m away and ", p.target[2], " m up, ",
      p.flight_time, " s after the kick, with ", std::abs(p.wind[0]),
      " m/s of wind against it and ", std::abs(p.wind[1]),
      " m/s from the side. The first guess ignores the air; then each correction follows the "
      "gradient of the miss through the whole flight."));
  out_ << '\n';
}

void Narrator::aim_iterate(int iteration, const AimIterate& iterate) {
  // A bar of powers of ten: full at 30 m, empty at 0.1 µm.
  const double share =
      std::clamp(std::log10(iterate.miss / 1e-7) / std::log10(30 / 1e-7), 0.0, 1.0);
  const std::string who = iteration == 0 ? "first guess" : message("correction ", iteration);
  bar_line(padded(who, 14) + padded("misses by " + length_text(iterate.miss), 22), share,
           iterate.miss < 1e-3 ? kGreen : kBlue);
}

void Narrator::bar_line(const std::string& text, double share, const char* colour) {
  const double cells = std::min<double>(36, columns() - 3 - static_cast<int>(width(text)));
  std::string bar;
  for (int i = 0; i < std::lround(share * cells); ++i) bar += options_.unicode ? "█" : "#";
  out_ << kIndent << text << painted(colour, bar) << '\n' << std::flush;
}

void Narrator::end_aim(const AimResult& result) {
  TextPlot plot(plot_columns(), 11, {0, 50}, {0, 19});
  for (std::size_t k = 0; k < result.iterates.size(); ++k) {
    const auto& path = result.iterates[k].path;
    const bool last = k + 1 == result.iterates.size();
    plot.line(along(path, 0), along(path, 2), last ? kGreen : kGrey);
  }
  plot.mark(result.problem.target[0], result.problem.target[2], "◎", kRed);
  draw(plot);
  say(message(result.hit() ? good("Hit.") : painted(kRed, "Missed."), " ", result.simulations,
              " flights with gradient brought the miss from ",
              length_text(result.iterates.front().miss), " to ", strong(length_text(result.miss())),
              ". Differences of the simulation confirm the gradient to ",
              scientific(result.gradient_error), "."));
}

void Narrator::begin_fit(const FitProblem& p) {
  heading(2, "Find a pendulum's length and damping in a noisy recording");
  say(message("The angle was recorded ", p.samples, " times with noise of ", p.noise,
              " rad. Length, damping and the start of the swing are unknown; the guess has the "
              "wrong length (",
              p.guess.length, " m instead of ", p.truth.length, " m)."));
  out_ << '\n';
}

void Narrator::fit_window(double seconds, const PendulumFit& fit) {
  const std::string length = "length " + interval(fit.length, 4) + " m";
  const bool narrow = columns() < kMostColumns;
  out_ << kIndent << padded(message("first ", fixed(seconds, 1), " s"), 13)
       << (narrow ? message(length, '\n', kIndent) : padded(length, 29)) << "damping "
       << interval(fit.damping, 4) << " N·m·s/rad\n"
       << std::flush;
}

void Narrator::fit_repeats(std::size_t done, std::size_t total) {
  const std::size_t cells = static_cast<std::size_t>(std::max(0, columns() - 48));
  std::string bar;
  for (std::size_t i = 0; i < cells; ++i) {
    bar +=
        i * total < done * cells ? (options_.unicode ? "━" : "=") : (options_.unicode ? "─" : "-");
  }
  progress(message(cells > 0 ? "repeating it with fresh noise  " : "repeating it  ",
                   painted(kBlue, bar), "  ", done, " of ", total));
}

void Narrator::end_fit(const FitResult& result) {
  clear_progress();
  TextPlot plot(plot_columns(), 9, {0, result.recording.times().back()}, {-1.4, 1.4});
  const std::vector<double> t = result.recording.times();
  plot.dots(t, result.recording.angles, kGrey);
  plot.line(t, result.fitted_curve.angles, kGreen);
  draw(plot);
  const FitProblem& p = result.problem;
  say(message(result.found() ? good("Found.") : painted(kRed, "Not found."), " Length ",
              strong(interval(result.fit.length, 4) + " m"), " (truth ", p.truth.length,
              "), damping ", strong(interval(result.fit.damping, 4) + " N·m·s/rad"), " (truth ",
              p.truth.damping, ")."));
  say(message("Are the error bars honest? In ", result.repeats.size(),
              " repeats with fresh noise the 95 % bars contain the true length ",
              strong(message(result.length_covered())), " times and the true damping ",
              strong(message(result.damping_covered())), " times."));
}

void Narrator::begin_trust() {
  heading(3, "Know when not to trust a gradient");
  say("Lorenz's weather model is chaotic: the gradient through a long run is exact, and useless. "
      "The engine says so "
      "itself.");
  progress("following cotangents back …");
}

void Narrator::end_trust(const TrustResult& result) {
  clear_progress();
  TextPlot plot(plot_columns(), 14, {-21, 21}, {2, 48});
  plot.line(along(result.neighbour, 0), along(result.neighbour, 2), kOrange);
  plot.line(along(result.orbit, 0), along(result.orbit, 2), kBlue);
  draw(plot);
  say(message(strong("The engine says:"), " ", result.advice));
  say(message("A nudge of the start by ", result.nudges[0].size, ", ",
              significant(result.nudges[1].size, 1), ", ", significant(result.nudges[2].size, 1),
              " follows the gradient's forecast for ", fixed(result.nudges[0].lost_at, 1), ", ",
              fixed(result.nudges[1].lost_at, 1), ", ", fixed(result.nudges[2].lost_at, 1),
              " s. The largest exponent over long runs is ", strong(fixed(result.lyapunov, 3)),
              " ± ", fixed(result.lyapunov_error, 3), " per second; the literature has ",
              kLorenzExponent, "."));
}

void Narrator::begin_slide(const SlideProblem& p) {
  heading(4, "Bend a slide into the fastest one");
  say(
      message("In 1696 Johann Bernoulli asked along which slide a bead comes down fastest. Here is "
              "a straight one, ",
              p.width, " m wide and ", p.drop, " m high. ", p.free_heights,
              " heights along it may move; each correction follows the gradient of the time of "
              "travel."));
  out_ << '\n';
}

TextPlot Narrator::slide_plot(const SlideIterate& iterate) const {
  const double width = iterate.curve.back()[0], drop = iterate.curve.front()[1];
  return TextPlot(plot_columns(), kSlideRows, {0, width}, {-0.12 * drop, drop});
}

// On a terminal the slide is seen bending: its picture is drawn over the one before.
void Narrator::slide_iterate(int iteration, const SlideIterate& iterate) {
  const std::string who = iteration == 0 ? "straight" : message("correction ", iteration);
  const std::string text = message(padded(who, 15), fixed(iterate.time, 5), " s");
  if (!options_.terminal || !options_.unicode) {
    progress(text);
    return;
  }
  clear_slide();
  TextPlot plot = slide_plot(iterate);
  plot.line(along(iterate.curve, 0), along(iterate.curve, 1), kGreen);
  draw(plot);
  out_ << kIndent << text << std::flush;
  slide_is_drawn_ = true;
  if (!options_.quiet) std::this_thread::sleep_for(kBetweenSlides);
}

void Narrator::clear_slide() {
  if (slide_is_drawn_) out_ << message("\r\x1b[", kSlideRows + 2, "A\x1b[J");
  slide_is_drawn_ = false;
}

void Narrator::end_slide(const SlideResult& result) {
  clear_progress();
  clear_slide();
  TextPlot plot = slide_plot(result.iterates.back());
  for (const std::size_t k : slide_frames(result)) {
    const SlideIterate& at = result.iterates[k];
    const bool last = k + 1 == result.iterates.size();
    plot.line(along(at.curve, 0), along(at.curve, 1), last ? kGreen : kGrey);
    // A bar of powers of ten: full at 30 %, empty at 0.005 %.
    const double excess = at.time / result.cycloid_time - 1;
    const double share = std::log(excess / 5e-5) / std::log(0.3 / 5e-5);
    const std::string who = k == 0 ? "straight" : message("correction ", k);
    bar_line(padded(who, 15) + padded(fixed(at.time, 5) + " s", 13), std::clamp(share, 0.0, 1.0),
             excess < 1e-3 ? kGreen : kBlue);
  }
  const std::size_t count = result.cycloid.size();
  for (std::size_t i = 0; i < count; i += 8) {
    plot.mark(result.cycloid[i][0], result.cycloid[i][1], "∘", kOrange);
  }
  draw(plot);
  if (options_.unicode)
    say("∘ the exact cycloid. The bars: how much slower than it, in powers of ten.");
  say(message(result.fastest() ? good("A cycloid.") : painted(kRed, "Not the fastest."), " ",
              result.iterations(), " corrections brought the time from ",
              fixed(result.straight_time(), 5), " s to ", strong(fixed(result.time(), 5) + " s"),
              ", ", fixed(100 * result.excess(), 3), kPercent, " above the exact cycloid's ",
              fixed(result.cycloid_time, 5), " s; the slide lies within ",
              fixed(100 * result.deviation, 2), kPercent,
              " of the drop of it. The gradient agrees with differences to ",
              scientific(result.gradient_error), "."));
}

void Narrator::begin_swing(const SwingProblem& p) {
  heading(5, "Swing a pole up");
  say(message("A robot: a cart of ", p.cart, " kg on a rail, from which a pole of ", p.length,
              " m hangs. Its motor pushes with at most ", p.limit,
              " N. Which forces swing the pole up and leave it standing? The planner begins with "
              "none, and follows the derivatives of all ",
              p.steps, " steps."));
  progress("planning …");
}

void Narrator::end_swing(const SwingResult& result) {
  clear_progress();
  TextPlot plot(plot_columns(), 12, {0, result.times.back()}, {-3.6, 3.6});
  plot.line(result.times, result.angle, kBlue);
  draw(plot);
  say(message(result.up() ? good("Up.") : painted(kRed, "Not up."), " After ", result.iterations,
              " iterations and ", fixed(result.seconds, 2),
              " s the pole swings back and forth, and ends within ", fixed(result.miss, 4),
              " of upright and at rest. Drawn is its angle [rad] over ",
              fixed(result.times.back(), 0), " s; hanging is 0."));
  say(message(strong("Can it be believed?"),
              " Run again with other steps, another integrator, other "
              "masses, late and noisy forces: ",
              result.verdict, "."));
}

void Narrator::tell_recording(const RecordingResult& result) {
  say(message(strong("A real pendulum."), " ", result.path.filename().string(), " has ",
              result.samples, " samples. From the first four fifths: gravity over length ",
              significant(result.rate, 4), " ± ", significant(result.rate_error, 1), ", damping ",
              significant(result.damping, 3), " ± ", significant(result.damping_error, 1),
              ". The last fifth, which it has not seen, is foretold to ",
              strong(significant(result.held_out, 2) + " rad"), "."));
}

std::string Narrator::judged(bool ok, const std::string& text) const {
  return ok ? good(text) : painted(kRed, text);
}

void Narrator::begin_worlds() { progress("a humanoid falls …"); }

void Narrator::tell(const HumanoidResult& r) {
  clear_progress();
  heading(6, "Differentiate a humanoid");
  if (!r.reason.empty()) {
    say(message("Left out: ", r.reason));
  } else {
    say(message("A humanoid of ", r.dofs, " degrees of freedom falls on its feet. Its gradient by ",
                r.parameters, " numbers of its body agrees with differences to ",
                judged(r.ok(), scientific(r.gradient_error)), "."));
    say(message("A step of one among 256, on one thread: ", significant(r.step_us, 3),
                " µs, with the whole gradient ", strong(significant(r.gradient_us, 3) + " µs"),
                ". MuJoCo's step: ", significant(r.mujoco_step_us, 3),
                " µs without gradient; by differences ", significant(r.mujoco_differences_us, 3),
                " µs."));
  }
  progress("a block is pushed …");
}

void Narrator::tell(const PushResult& r) {
  clear_progress();
  heading(7, "Push a block");
  if (!r.reason.empty()) {
    say(message("Left out: ", r.reason));
  } else {
    say(message("A finger is to push a block to ", fixed(r.goal, 2), " m. It ends at ",
                judged(r.ok(), fixed(r.end, 4) + " m"), " after ", r.iterations,
                " iterations, though the exact gradient says nothing before they touch."));
  }
  progress("a finger bends …");
}

void Narrator::tell(const FingerResult& r) {
  clear_progress();
  heading(8, "Choose how soft a finger is");
  say(message("With a Young's modulus of ", significant(r.young / 1000, 3), " kPa, found in ",
              r.runs, " runs, a soft finger sinks by ",
              judged(r.ok(), fixed(-1000 * r.reached, 2) + " mm"), "; wanted were ",
              fixed(-1000 * r.wanted, 0), " mm."));
  progress("water flows …");
}

void Narrator::tell(const StreamResult& r) {
  clear_progress();
  heading(9, "Ask a flow how it depends on a shape");
  say(message("The drag of a disc changes by ", judged(r.ok(), significant(r.slope, 6)),
              " N/m per metre of radius, by one way back; by differences ",
              significant(r.difference, 6), "."));
  progress("a network learns …");
}

void Narrator::tell(const PupilResult& r) {
  clear_progress();
  heading(10, "Teach a network physics, and grade it");
  say(message("A Hamiltonian network of ", r.weights, " weights learned a pendulum in ",
              fixed(r.seconds, 1), " s. Over four seconds that it has not seen it is off by ",
              judged(r.ok(), significant(r.error, 2)),
              " standard deviations. The scorecard says: ", r.verdict, "."));
}

void Narrator::farewell(const TourResult& result) {
  out_ << '\n';
  const std::string all = result.told();
  say(message(result.ok() ? good(message("All ", all, all == "ten" ? "" : " that were told",
                                         " ended as they should"))
                          : painted(kRed, "Not every story ended as it should"),
              ", in ", fixed(result.seconds, 1), " s."));
  if (!result.report.empty()) {
    out_ << kIndent << "The same with figures: " << strong(result.report.string()) << '\n';
  }
  out_ << std::flush;
}

}  // namespace cycloid::tour
