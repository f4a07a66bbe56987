#include "cli/tour/tour.h"

#include <chrono>
#include <streambuf>

#include "cli/tour/narrator.h"
#include "cli/tour/tour_page.h"
#include "cycloid/page/page_file.h"

namespace cycloid::tour {
namespace {

// Takes everything and keeps nothing.
class Silence : public std::streambuf {
 protected:
  int_type overflow(int_type c) override { return traits_type::not_eof(c); }
  std::streamsize xsputn(const char*, std::streamsize n) override { return n; }
};

}  // namespace

TourResult run_tour(const TourOptions& options, std::ostream& out) {
  Silence silence;
  std::ostream nowhere(&silence);
  Narrator narrator(options, options.quiet ? nowhere : out);
  PageFile file(options.report);  // before the stories: a bad path is known at once
  const auto start = std::chrono::steady_clock::now();
  TourResult result;
  result.seed = options.seed;
  result.report = file.path();
  if (!options.data.empty()) {
    result.recording = fit_recording_of_pendulum(options.data, options.keep_going);
  }
  narrator.welcome();

  narrator.begin_aim({});
  result.aim = aim_at_target({}, options.keep_going, [&](int k, const AimIterate& iterate) {
    narrator.aim_iterate(k, iterate);
  });
  narrator.end_aim(result.aim);

  const FitProblem fit;
  narrator.begin_fit(fit);
  result.fit = recover_pendulum(
      fit, options.seed, options.keep_going,
      [&](double seconds, const PendulumFit& window) { narrator.fit_window(seconds, window); },
      [&](std::size_t done) { narrator.fit_repeats(done, fit.repeats); });
  narrator.end_fit(result.fit);

  narrator.begin_trust();
  result.trust = question_lorenz({}, options.keep_going);
  narrator.end_trust(result.trust);

  narrator.begin_slide({});
  result.slide = bend_slide({}, options.keep_going, [&](int k, const SlideIterate& iterate) {
    narrator.slide_iterate(k, iterate);
  });
  narrator.end_slide(result.slide);

  narrator.begin_swing({});
  result.swing = swing_up({}, options.keep_going);
  narrator.end_swing(result.swing);
  if (result.recording) narrator.tell_recording(*result.recording);

  narrator.begin_worlds();
  result.worlds.humanoid = drop_humanoid(options.keep_going);
  narrator.tell(result.worlds.humanoid);
  result.worlds.push = push_block(options.keep_going);
  narrator.tell(result.worlds.push);
  result.worlds.finger = bend_finger(options.keep_going);
  narrator.tell(result.worlds.finger);
  result.worlds.stream = follow_stream(options.keep_going);
  narrator.tell(result.worlds.stream);
  result.worlds.pupil = teach_pendulum(options.keep_going);
  narrator.tell(result.worlds.pupil);

  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  file.write(page(result));
  narrator.farewell(result);
  return result;
}

}  // namespace cycloid::tour
