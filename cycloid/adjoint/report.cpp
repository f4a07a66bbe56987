#include "cycloid/adjoint/report.h"

#include <algorithm>

#include "cycloid/base/error.h"
#include "cycloid/system/event/event_spec.h"

namespace cycloid::inline adjoint {
namespace {

std::string in_steps(std::int64_t count, std::int64_t first) {
  return count == 1 ? message(" in step ", first)
                    : message(" in ", count, " steps, first in step ", first);
}

// All chunks' rows in the order of their environments, which is not that of steps or chunks.
template <class Row>
void collect_rows(std::vector<ChunkReport>& chunks, std::vector<Row> ChunkReport::* of,
                  std::vector<Row>& rows) {
  for (ChunkReport& chunk : chunks) {
    rows.insert(rows.end(), (chunk.*of).begin(), (chunk.*of).end());
  }
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return a.environment < b.environment; });
}

}  // namespace

std::string describe(const Failure& f) {
  return message("environment ", f.environment, ", step ", f.step, ", ", f.stage,
                 f.body.empty() ? "" : ", ", f.body, ": ", f.reason);
}

std::string describe(const Unsolved& u) {
  return message("environment ", u.environment, ": the solver stopped short of its tolerance",
                 in_steps(u.count, u.step), ", with ",
                 u.count == 1 ? "residual " : "residuals up to ", u.residual);
}

std::string describe(const Crowded& c) {
  return message("environment ", c.environment, ": more contacts than there is room for",
                 in_steps(c.count, c.step), "; the first were kept");
}

std::string Report::advice() const {
  std::string text;
  const auto add = [&](bool applies, const char* words) {
    if (!applies) return;
    if (!text.empty()) text += ' ';
    text += words;
  };
  const auto zeno = [](const Failure& f) { return f.stage == kEventStage; };
  add(std::any_of(failed.begin(), failed.end(), zeno),
      "Environments were stopped at their events. Where these pile up (Zeno), as impacts of a ball "
      "that comes to rest do, that is the motion, and no smaller time step helps: end the run "
      "before, or leave these environments out of the gradient with failed = skip. Where a step "
      "only has many of them, take a shorter one.");
  add(!std::all_of(failed.begin(), failed.end(), zeno),
      "Environments diverged: take a smaller time step, weaker inputs or other parameters.");
  add(!unsolved.empty(),
      "A solver stopped short. Of constraints, their rows are too stiff or too unequal for the "
      "precision: use float64, bring masses and solref nearer to each other, or take a smaller "
      "time step. Of an implicit integrator, the step is too long: take a smaller time step.");
  add(!crowded.empty(),
      "There were more contacts than an environment has room for, and the last ones have no force: "
      "let fewer geoms touch (contype, conaffinity, exclude), or use simpler shapes.");
  return text;
}

double Report::mean(std::string_view counter) const {
  for (const Counter& c : counters) {
    if (c.name == counter) return c.mean;
  }
  return 0;
}

std::int64_t Report::total(std::string_view counter) const {
  for (const Counter& c : counters) {
    if (c.name == counter) return c.total;
  }
  return 0;
}

void Report::collect(std::vector<ChunkReport>& chunks, double environment_steps,
                     const std::vector<std::string>& counter_names) {
  std::int64_t switch_sum = 0;
  for (const std::string& name : counter_names) counters.push_back({name});
  collect_rows(chunks, &ChunkReport::failed, failed);
  collect_rows(chunks, &ChunkReport::unsolved, unsolved);
  collect_rows(chunks, &ChunkReport::crowded, crowded);
  for (const ChunkReport& chunk : chunks) {
    switch_sum += chunk.switches;
    for (std::size_t i = 0; i < counters.size(); ++i) counters[i].total += chunk.counters[i];
  }
  for (Counter& c : counters) c.mean = static_cast<double>(c.total) / environment_steps;
  switch_fraction = static_cast<double>(switch_sum) / environment_steps;
}

}  // namespace cycloid::inline adjoint
