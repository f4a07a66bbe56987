// SolidPlan: what stays the same of a solid body whatever its numbers: who touches whom, which
// numbers are held, the order of sums, and the order of elimination.
//
// Numbers of the body are 3 i + axis, of vertex i. A rod has a vertex more for each segment, after
// all others: how the segment is turned (solid_state.h). Cells are taken in chunks; chunks of one
// colour share no vertex, so that threads add to vertices without locks, and each sum has one
// order: colour after colour, cell after cell. The matrix over all numbers has a row for held ones
// too, with 1 in its diagonal.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cycloid/base/thread_pool.h"
#include "cycloid/math/sparse_cholesky.h"
#include "cycloid/soft/mesh.h"
#include "cycloid/soft/solid_kernels.h"
#include "cycloid/soft/term/contact_surface.h"
#include "cycloid/soft/term/terms.h"

namespace cycloid::inline soft {

// How systems with the body's matrix are solved (stiffness_solver.h).
enum class LinearSolver { automatic, direct, iterative };
inline constexpr int kMostDirect = 100'000;

struct SolidPlan {
  // held: one for each number. turns: segments of a rod, 0 or one less than its points. solver:
  // automatic is direct up to kMostDirect numbers of a body with cells, and always of others.
  SolidPlan(SolidMesh mesh, std::vector<char> held, Terms terms = {}, int turns = 0,
            LinearSolver solver = LinearSolver::automatic);

  int points() const { return mesh.vertex_count(); }
  int vertices() const { return points() + turns; }
  int cells() const { return mesh.cell_count(); }
  int numbers() const { return 3 * vertices(); }
  int memory() const { return memory_size(terms); }  // of the terms
  std::size_t bytes() const;                         // about what it occupies
  // Of the state (solid_state.h): all of it but the memory, which comes after.
  int moving() const { return 6 * points() + 2 * turns; }
  // How many of the held numbers are positions: they come first.
  int held_points() const {
    return static_cast<int>(
        std::lower_bound(held_numbers.begin(), held_numbers.end(), 3 * points()) -
        held_numbers.begin());
  }
  BlockRows rows() const { return {first.data(), slot.data()}; }

  // Calls work(begin, end) for chunks of cells, on several threads.
  template <class Work>
  void for_each_chunk(int threads, Work&& work) const {
    for (const std::vector<int>& chunks : colours) {
      parallel_for(chunks.size(), threads, [&](std::size_t k) {
        const int begin = chunks[k] * kChunk;
        work(begin, begin + kChunk < cells() ? begin + kChunk : cells());
      });
    }
  }
  // Which rigid motions of a part no held number hinders: "translation y", "rotation x"; empty
  // where there is none.
  std::vector<std::string> free_motions(const double* vertices_at, int part) const;

  // Springs or obstacles may hold the part.
  bool is_supported(int part) const;

  static constexpr int kChunk = 32;

  SolidMesh mesh;
  int turns;
  std::vector<char> held;
  Terms terms;                            // besides the cells
  std::vector<int> held_numbers;          // in the order of the state
  std::vector<std::vector<int>> colours;  // chunks
  std::vector<std::int64_t> first;        // of each vertex, where its neighbours begin
  std::vector<int> neighbour, slot;       // as in BlockRows
  SparsePattern pattern;
  std::shared_ptr<const Dissection> dissection;   // null: solves are iterative
  std::shared_ptr<const ContactSurface> surface;  // of a body that touches itself; else null
  double length;  // of the longest side of the box around the body [m]
};

}  // namespace cycloid::inline soft
