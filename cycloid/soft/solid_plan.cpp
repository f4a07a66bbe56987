#include "cycloid/soft/solid_plan.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"

namespace cycloid::inline soft {
namespace {

// Greedy: a chunk gets the first colour that no chunk with a vertex in common has.
std::vector<std::vector<int>> colours_of(const SolidMesh& mesh) {
  const int k = mesh.nodes(), cells = mesh.cell_count();
  const int chunks = (cells + SolidPlan::kChunk - 1) / SolidPlan::kChunk;
  std::vector<std::vector<int>> at(static_cast<std::size_t>(mesh.vertex_count()));
  std::vector<std::vector<int>> colours;
  std::vector<char> taken;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const int begin = chunk * SolidPlan::kChunk, end = std::min(begin + SolidPlan::kChunk, cells);
    taken.assign(colours.size() + 1, 0);
    for (int i = begin * k; i < end * k; ++i) {
      for (const int c : at[static_cast<std::size_t>(mesh.cells[static_cast<std::size_t>(i)])]) {
        taken[static_cast<std::size_t>(c)] = 1;
      }
    }
    const int colour = static_cast<int>(std::find(taken.begin(), taken.end(), 0) - taken.begin());
    if (colour == static_cast<int>(colours.size())) colours.emplace_back();
    colours[static_cast<std::size_t>(colour)].push_back(chunk);
    for (int i = begin * k; i < end * k; ++i) {
      auto& own = at[static_cast<std::size_t>(mesh.cells[static_cast<std::size_t>(i)])];
      if (std::find(own.begin(), own.end(), colour) == own.end()) own.push_back(colour);
    }
  }
  return colours;
}

}  // namespace

SolidPlan::SolidPlan(SolidMesh body, std::vector<char> numbers_held)
    : mesh(std::move(body)), held(std::move(numbers_held)) {
  const int n = vertices(), k = mesh.nodes();
  for (int i = 0; i < numbers(); ++i) {
    if (held[static_cast<std::size_t>(i)]) held_numbers.push_back(i);
  }
  colours = colours_of(mesh);
  std::vector<std::vector<int>> near(static_cast<std::size_t>(n));
  for (std::size_t c = 0; c < mesh.cells.size(); c += static_cast<std::size_t>(k)) {
    const int* const node = mesh.cells.data() + c;
    for (int a = 0; a < k; ++a) {
      auto& own = near[static_cast<std::size_t>(node[a])];
      own.insert(own.end(), node, node + k);
    }
  }
  first.assign(1, 0);
  for (auto& own : near) {
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
    neighbour.insert(neighbour.end(), own.begin(), own.end());
    first.push_back(static_cast<std::int64_t>(neighbour.size()));
    for (int r = 0; r < 3; ++r) {
      for (const int j : own) {
        for (int i = 0; i < 3; ++i) pattern.column.push_back(3 * j + i);
      }
      pattern.first.push_back(pattern.entries());
    }
  }
  slot.resize(mesh.cells.size() * static_cast<std::size_t>(k));
  for (std::size_t c = 0; c < mesh.cells.size(); c += static_cast<std::size_t>(k)) {
    for (std::size_t a = 0; a < static_cast<std::size_t>(k); ++a) {
      const auto& own = near[static_cast<std::size_t>(mesh.cells[c + a])];
      for (std::size_t b = 0; b < static_cast<std::size_t>(k); ++b) {
        slot[(c + a) * static_cast<std::size_t>(k) + b] = static_cast<int>(
            std::lower_bound(own.begin(), own.end(), mesh.cells[c + b]) - own.begin());
      }
    }
  }
  std::vector<double> points;
  double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
  for (int v = 0; v < n; ++v) {
    const double* const p = mesh.vertices.data() + 3 * v;
    for (int r = 0; r < 3; ++r) {
      points.insert(points.end(), p, p + 3);
      low[r] = std::min(low[r], p[r]), high[r] = std::max(high[r], p[r]);
    }
  }
  length = std::max({high[0] - low[0], high[1] - low[1], high[2] - low[2]});
  dissection = std::make_shared<const Dissection>(pattern, points, 3);
}

// A motion t + ω × d moves number (v, axis) by t_axis + (ω × d_v)_axis, d from the middle of the
// part. A translation is free where no number of its axis is held; a turn about a coordinate axis
// where those held along each axis would all move alike, so that a translation undoes it. Turns
// about other axes show in the rank of all conditions.
std::vector<std::string> SolidPlan::free_motions(const double* at, int part) const {
  double middle[3] = {};
  int count = 0;
  for (int v = 0; v < vertices(); ++v) {
    if (mesh.part[static_cast<std::size_t>(v)] != part) continue;
    ++count;
    for (int i = 0; i < 3; ++i) middle[i] += at[3 * v + i];
  }
  std::vector<std::array<double, 6>> rows;  // of ω and t
  for (const int number : held_numbers) {
    const int v = number / 3;
    if (mesh.part[static_cast<std::size_t>(v)] != part) continue;
    std::array<double, 6> r{};
    const std::size_t a = static_cast<std::size_t>(number % 3), b = (a + 1) % 3, c = (a + 2) % 3;
    const auto d = [&](std::size_t i) {
      return (at[3 * v + static_cast<int>(i)] - middle[i] / count) / length;
    };
    r[b] = d(c), r[c] = -d(b), r[3 + a] = 1;
    rows.push_back(r);
  }
  constexpr double kAlike = 1e-9;
  const char* const axis_name[3] = {"x", "y", "z"};
  std::vector<std::string> free;
  for (std::size_t i = 0; i < 3; ++i) {
    const bool hindered =
        std::any_of(rows.begin(), rows.end(), [&](const auto& r) { return r[3 + i] != 0; });
    if (!hindered) free.push_back(message("translation ", axis_name[i]));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    bool hindered = false;
    for (std::size_t a = 0; a < 3; ++a) {
      double low = HUGE_VAL, high = -HUGE_VAL;
      for (const auto& r : rows) {
        if (r[3 + a] == 0) continue;
        low = std::min(low, r[i]), high = std::max(high, r[i]);
      }
      hindered = hindered || high - low > kAlike;
    }
    if (!hindered) free.push_back(message("rotation ", axis_name[i]));
  }
  std::size_t rank = 0;
  for (std::size_t column = 0; column < 6 && rank < rows.size(); ++column) {
    const auto larger = [&](const auto& r, const auto& s) {
      return std::abs(r[column]) < std::abs(s[column]);
    };
    const auto best =
        std::max_element(rows.begin() + static_cast<std::ptrdiff_t>(rank), rows.end(), larger);
    if (std::abs((*best)[column]) < kAlike) continue;
    std::swap(rows[rank], *best);
    for (std::size_t r = rank + 1; r < rows.size(); ++r) {
      const double factor = rows[r][column] / rows[rank][column];
      for (std::size_t j = column; j < 6; ++j) rows[r][j] -= factor * rows[rank][j];
    }
    ++rank;
  }
  if (free.size() + rank < 6) free.push_back("rotation about an oblique axis");
  return free;
}

}  // namespace cycloid::inline soft
