// cycloid tour: what gradients of physics are good for, in ten stories (cli/tour/tour.h).

#include "cli/tour/tour.h"

#include <iostream>
#include <memory>

#include "cli/command_line.h"
#include "cli/interruption.h"
#include "cli/tour/result_json.h"

namespace cycloid::cli {
namespace {

struct TourCommandOptions {
  std::string report = tour::TourOptions{}.report.string();
  std::int64_t seed = 0;
  std::string data;
};

Answer show(const TourCommandOptions& options, const Terminal& terminal) {
  const InterruptionWatch watch;
  tour::TourOptions tour_options;
  tour_options.report = options.report;
  tour_options.terminal = terminal.live;
  tour_options.colour = terminal.colour;
  tour_options.unicode = terminal.unicode;
  tour_options.columns = terminal.columns;
  tour_options.quiet = terminal.json;
  tour_options.seed = static_cast<std::uint64_t>(options.seed);
  tour_options.data = options.data;
  tour_options.keep_going = [&] { return !watch.interrupted(); };
  const tour::TourResult result = tour::run_tour(tour_options, std::cout);
  std::cout.flush();
  return {tour::to_json(result), "", result.ok() ? kSuccess : kAnswerIsNo};
}

Run declare_tour(Options& options) {
  const auto o = std::make_shared<TourCommandOptions>();
  options.output("--report", o->report, "the page to write");
  options.count("--seed", o->seed, 0, INT64_MAX, "of the noise");
  options.text("--data", "FILE", o->data,
               "a real pendulum's recording (.csv with t, angle or theta),\nwhich is fitted too");
  return [o](const Terminal& terminal) { return show(*o, terminal); };
}

}  // namespace

const Command kTour = {
    "tour", "ten stories about gradients of physics, and a page to read",
    "Shows what gradients of physics are good for: a projectile is aimed in the wind, a\n"
    "pendulum's length and damping are found from a noisy recording, the Lorenz system\n"
    "shows how far a gradient can be trusted, a slide is bent into the curve of fastest\n"
    "descent, a robot swings a pole up; a humanoid falls, a block is pushed, a soft finger\n"
    "bends, water flows around a disc and a network learns a pendulum. Writes a page to read.",
    "cycloid tour --report tour.html", declare_tour};

}  // namespace cycloid::cli
