// Tells the stories in a terminal while they are computed.
#pragma once

#include <ostream>
#include <string>

#include "cli/tour/tour.h"
#include "cycloid/page/text_plot.h"

namespace cycloid::tour {

class Narrator {
 public:
  Narrator(const TourOptions& options, std::ostream& out) : options_(options), out_(out) {}

  void welcome();

  void begin_aim(const AimProblem& problem);
  void aim_iterate(int iteration, const AimIterate& iterate);
  void end_aim(const AimResult& result);

  void begin_fit(const FitProblem& problem);
  void fit_window(double seconds, const PendulumFit& fit);
  void fit_repeats(std::size_t done, std::size_t total);
  void end_fit(const FitResult& result);

  void begin_trust();
  void end_trust(const TrustResult& result);

  void begin_slide(const SlideProblem& problem);
  void slide_iterate(int iteration, const SlideIterate& iterate);
  void end_slide(const SlideResult& result);

  void begin_swing(const SwingProblem& problem);
  void end_swing(const SwingResult& result);
  void tell_recording(const RecordingResult& result);

  void begin_worlds();
  void tell(const HumanoidResult& result);
  void tell(const PushResult& result);
  void tell(const FingerResult& result);
  void tell(const StreamResult& result);
  void tell(const PupilResult& result);

  void farewell(const TourResult& result);

 private:
  std::string painted(const char* code, const std::string& text) const;
  std::string strong(const std::string& text) const { return painted("1", text); }
  std::string good(const std::string& text) const { return painted("1;32", text); }
  std::string judged(bool ok, const std::string& text) const;
  void heading(int number, const std::string& text);
  void say(const std::string& text);  // wrapped to the width, indented
  void draw(const TextPlot& plot);
  // Followed by a bar, as long as `share` says.
  void bar_line(const std::string& text, double share, const char* colour);
  void progress(const std::string& text);  // redrawn in place
  void clear_progress();
  TextPlot slide_plot(const SlideIterate& iterate) const;
  void clear_slide();
  int columns() const;  // of text, with its indent
  int plot_columns() const;

  const TourOptions& options_;
  std::ostream& out_;
  bool in_progress_ = false, slide_is_drawn_ = false;
};

}  // namespace cycloid::tour
