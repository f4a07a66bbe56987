// The tour: ten short stories, each computed when it is told, in the terminal and on a web page.
//
// Where to start reading:
//   tour.h                   runs the stories
//   aim.h  fit.h  trust.h  slide.h  swing.h   one story each: problem, result, solution
//   worlds.h                 five more, in which something moves in three dimensions
//   narrator.h               tells them in the terminal;  text_plot.h  draws there
//   page.h                   tells them on a page: page.html has its words, page.css and page.js
//                            its looks;  figures.h  its figures, drawn with svg_plot.h
//   result_json.h            every number that is told
#pragma once

#include <cstdint>
#include <filesystem>
#include <ostream>

#include "cli/tour/aim.h"
#include "cli/tour/fit.h"
#include "cli/tour/slide.h"
#include "cli/tour/swing.h"
#include "cli/tour/trust.h"
#include "cli/tour/worlds.h"
#include "cycloid/base/interrupt.h"

namespace cycloid::tour {

struct TourOptions {
  std::filesystem::path report = "cycloid_tour.html";  // the page; empty: none is written
  bool terminal = true;                                // progress may redraw a line
  bool colour = true;                                  // ANSI colours
  bool unicode = true;                                 // plots, in braille characters
  int columns = 80;                                    // of the terminal
  bool quiet = false;                                  // nothing is printed
  std::uint64_t seed = 0;                              // of the recordings' noise
  std::filesystem::path data = {};                     // a real pendulum's; empty: none
  KeepGoing keep_going = {};
};

struct TourResult {
  AimResult aim;
  FitResult fit;
  TrustResult trust;
  SlideResult slide;
  SwingResult swing;
  WorldsResult worlds;
  std::optional<RecordingResult> recording;  // where one was given
  std::uint64_t seed = 0;
  std::filesystem::path report;  // absolute; empty where none was written
  double seconds = 0;            // for all stories

  // Stories that were not left out, "ten" if none was.
  std::string told() const {
    const int left_out = !worlds.humanoid.reason.empty() + !worlds.push.reason.empty();
    return left_out == 0 ? "ten" : left_out == 1 ? "nine" : "eight";
  }
  // The target is hit, the pendulum found, Lorenz called chaotic, the slide a cycloid, the pole
  // up, and the further worlds as they should be.
  bool ok() const {
    return aim.hit() && fit.found() && trust.chaotic() && slide.fastest() && swing.up() &&
           worlds.ok();
  }
};

// Prints to `out` as it goes. Throws Error when the page cannot be written or the recording cannot
// be read (before other work is done), Interrupted when keep_going says no.
TourResult run_tour(const TourOptions& options, std::ostream& out);

}  // namespace cycloid::tour
