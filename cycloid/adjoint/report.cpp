#include "cycloid/adjoint/report.h"

#include <algorithm>

#include "cycloid/base/error.h"

namespace cycloid::inline adjoint {
namespace {

std::string in_steps(std::int64_t count, std::int64_t first) {
  return count == 1 ? message(" in step ", first)
                    : message(" in ", count, " steps, first in step ", first);
}

// Appends a chunk's rows in the order of their environments, which is not that of the steps.
template <class Row>
void append(std::vector<Row>& rows, std::vector<Row>& more) {
  std::sort(more.begin(), more.end(),
            [](const Row& a, const Row& b) { return a.environment < b.environment; });
  rows.insert(rows.end(), more.begin(), more.end());
}

}  // namespace

std::string describe(const Failure& f) {
  return message("environment ", f.environment, ", step ", f.step, ", ", f.stage,
                 f.body.empty() ? "" : ", ", f.body, ": ", f.reason);
}

std::string describe(const Unsolved& u) {
  return message("environment ", u.environment,
                 ": the constraint solver stopped short of its tolerance",
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
  add(!failed.empty(),
      "Environments diverged: take a smaller time step, weaker inputs or other parameters.");
  add(!unsolved.empty(),
      "The constraint solver stopped short: its rows are too stiff or too unequal for the "
      "precision. Use float64, bring masses and solref nearer to each other, or take a smaller "
      "time step.");
  add(!crowded.empty(),
      "There were more contacts than an environment has room for, and the last ones have no force: "
      "let fewer geoms touch (contype, conaffinity, exclude), or use simpler shapes.");
  return text;
}

void Report::collect(std::vector<ChunkReport>& chunks, double environment_steps) {
  std::int64_t contact_sum = 0, switch_sum = 0;
  for (ChunkReport& chunk : chunks) {
    append(failed, chunk.failed);
    append(unsolved, chunk.unsolved);
    append(crowded, chunk.crowded);
    contact_sum += chunk.contacts;
    switch_sum += chunk.switches;
  }
  contacts = static_cast<double>(contact_sum) / environment_steps;
  switch_fraction = static_cast<double>(switch_sum) / environment_steps;
}

}  // namespace cycloid::inline adjoint
