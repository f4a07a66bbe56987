#include "cycloid/soft/solid_plan.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"

namespace cycloid::inline soft {
namespace {

// Groups of `each` nodes, as a matrix couples them.
void couple(std::span<const int> nodes, int each, std::vector<std::vector<int>>& near) {
  const auto k = static_cast<std::size_t>(each);
  for (std::size_t c = 0; c < nodes.size(); c += k) {
    for (std::size_t a = 0; a < k; ++a) {
      auto& own = near[static_cast<std::size_t>(nodes[c + a])];
      own.insert(own.end(), nodes.begin() + static_cast<std::ptrdiff_t>(c),
                 nodes.begin() + static_cast<std::ptrdiff_t>(c + k));
    }
  }
}

std::vector<int> slots_of(std::span<const int> nodes, int each,
                          const std::vector<std::vector<int>>& near) {
  const auto k = static_cast<std::size_t>(each);
  std::vector<int> slot(nodes.size() * k);
  for (std::size_t c = 0; c < nodes.size(); c += k) {
    for (std::size_t a = 0; a < k; ++a) {
      const auto& own = near[static_cast<std::size_t>(nodes[c + a])];
      for (std::size_t b = 0; b < k; ++b) {
        slot[(c + a) * k + b] =
            static_cast<int>(std::lower_bound(own.begin(), own.end(), nodes[c + b]) - own.begin());
      }
    }
  }
  return slot;
}

}  // namespace

SolidPlan::SolidPlan(SolidMesh body, std::vector<char> numbers_held, Terms laws, int segments,
                     LinearSolver solver)
    : mesh(std::move(body)),
      turns(segments),
      held(std::move(numbers_held)),
      terms(std::move(laws)) {
  const int n = vertices(), k = mesh.nodes();
  for (int i = 0; i < numbers(); ++i) {
    if (held[static_cast<std::size_t>(i)]) held_numbers.push_back(i);
  }
  colours = colour_chunks(mesh.cells, k, n, kChunk);
  std::vector<std::vector<int>> near(static_cast<std::size_t>(n));
  for (int v = 0; v < n; ++v) near[static_cast<std::size_t>(v)].push_back(v);
  couple(mesh.cells, k, near);
  int first_number = 0, first_memory = 0;
  for (StencilTerm& term : terms) {
    term.kernels = &stencil_kernels(term.law);
    term.first_number = first_number;
    first_number += term.kernels->numbers;
    term.first_memory = first_memory;
    first_memory += term.kernels->memory * term.count();
    term.colours = colour_chunks(term.nodes, term.kernels->nodes, n, kTermChunk);
    couple(term.nodes, term.kernels->nodes, near);
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
  slot = slots_of(mesh.cells, k, near);
  for (StencilTerm& term : terms) term.slot = slots_of(term.nodes, term.kernels->nodes, near);
  std::vector<double> points;
  double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
  for (int v = 0; v < n; ++v) {
    const bool turn = v >= mesh.vertex_count();
    const double* const p = mesh.vertices.data() + 3 * (turn ? v - mesh.vertex_count() : v);
    for (int r = 0; r < 3; ++r) {
      points.insert(points.end(), p, p + 3);
      low[r] = std::min(low[r], p[r]), high[r] = std::max(high[r], p[r]);
    }
  }
  length = std::max({high[0] - low[0], high[1] - low[1], high[2] - low[2]});
  const bool large = cells() > 0 && numbers() > kMostDirect;
  if (solver == LinearSolver::direct || (solver == LinearSolver::automatic && !large)) {
    dissection = std::make_shared<const Dissection>(pattern, points, 3);
  }
}

std::size_t SolidPlan::bytes() const {
  std::size_t numbers = slot.size() + neighbour.size() + pattern.column.size() + mesh.cells.size();
  for (const StencilTerm& term : terms) numbers += term.nodes.size() + term.slot.size();
  return sizeof(int) * numbers +
         sizeof(double) * (pattern.first.size() + first.size() + mesh.vertices.size());
}

bool SolidPlan::is_supported(int part) const {
  for (const StencilTerm& term : terms) {
    if (term.law != StencilLaw::spring && term.law != StencilLaw::contact) continue;
    for (const int v : term.nodes) {
      if (mesh.part[static_cast<std::size_t>(v)] == part) return true;
    }
  }
  return false;
}

// A motion t + ω × d moves number (v, axis) by t_axis + (ω × d_v)_axis, d from the middle of the
// part. A translation is free where no number of its axis is held; a turn about a coordinate axis
// where those held along each axis would all move alike, so that a translation undoes it. Turns
// about other axes show in the rank of all conditions.
std::vector<std::string> SolidPlan::free_motions(const double* at, int part) const {
  // A clamped segment of a rod, which is one part, hinders them all.
  for (int j = 0; j < turns; ++j) {
    if (held[static_cast<std::size_t>(3 * (points() + j))]) return {};
  }
  double middle[3] = {};
  int count = 0;
  for (int v = 0; v < points(); ++v) {
    if (mesh.part[static_cast<std::size_t>(v)] != part) continue;
    ++count;
    for (int i = 0; i < 3; ++i) middle[i] += at[3 * v + i];
  }
  std::vector<std::array<double, 6>> rows;  // of ω and t
  for (const int number : held_numbers) {
    const int v = number / 3;
    if (v >= points() || mesh.part[static_cast<std::size_t>(v)] != part) continue;
    std::array<double, 6> r{};
    const std::size_t a = static_cast<std::size_t>(number % 3), b = (a + 1) % 3, c = (a + 2) % 3;
    const auto d = [&](std::size_t i) {
      return (at[3 * v + static_cast<int>(i)] - middle[i] / count) / length;
    };
    r[b] = d(c), r[c] = -d(b), r[3 + a] = 1;
    rows.push_back(r);
  }
  // The part's own extent across each axis: turning about a line that it lies on moves nothing.
  double across[3] = {};
  bool straight = true;
  double line[3] = {}, longest = 0;
  for (int v = 0; v < points(); ++v) {
    if (mesh.part[static_cast<std::size_t>(v)] != part) continue;
    double d[3], size = 0;
    for (int i = 0; i < 3; ++i) d[i] = at[3 * v + i] - middle[i] / count, size += d[i] * d[i];
    if (size > longest) longest = size, std::copy_n(d, 3, line);
    for (int i = 0; i < 3; ++i) {
      across[i] = std::max(across[i], std::hypot(d[(i + 1) % 3], d[(i + 2) % 3]) / length);
    }
  }
  for (int v = 0; v < points(); ++v) {
    if (mesh.part[static_cast<std::size_t>(v)] != part) continue;
    double d[3], along = 0, size = 0;
    for (int i = 0; i < 3; ++i) d[i] = at[3 * v + i] - middle[i] / count;
    for (int i = 0; i < 3; ++i) along += d[i] * line[i], size += d[i] * d[i];
    straight = straight && size * longest - along * along <= 1e-14 * longest * longest;
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
    bool hindered = across[i] <= kAlike;
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
  if (free.size() + rank < (straight ? 5u : 6u)) free.push_back("rotation about an oblique axis");
  return free;
}

}  // namespace cycloid::inline soft
