#include "cycloid/soft/term/terms.h"

#include <algorithm>
#include <cmath>

#include "cycloid/soft/term/contact.h"

namespace cycloid::inline soft {
namespace {

std::size_t unsigned_of(int i) { return static_cast<std::size_t>(i); }

StencilView view_of(const StencilTerm& term, const TermsAt& at) {
  StencilView v;
  v.nodes = term.nodes.data(), v.constants = term.constants.data();
  v.rest = at.rest, v.now = at.now, v.before[0] = at.before[0], v.before[1] = at.before[1];
  v.numbers = at.numbers ? at.numbers + term.first_number : nullptr;
  v.memory = at.memory ? at.memory + term.first_memory : nullptr;
  v.step = at.step;
  v.step.form = term.form;
  if (at.frames && !at.before[0] && term.law == StencilLaw::rod_bending) {
    v.before[0] = at.frames;
    v.step.befores = 1, v.step.rate = 0;
  }
  return v;
}

// Calls work(begin, end, chunk), colour after colour.
template <class Work>
void for_each_chunk(const StencilTerm& term, int threads, Work&& work) {
  for (const std::vector<int>& chunks : term.colours) {
    parallel_for(chunks.size(), threads, [&](std::size_t k) {
      const int begin = chunks[k] * kTermChunk;
      work(begin, std::min(begin + kTermChunk, term.count()), chunks[k]);
    });
  }
}

// Pullbacks: numbers' cotangents chunk by chunk, then summed in their order.
template <class Work>
void pull_chunks(const StencilTerm& term, int threads, const TermsBars& bars, Work&& work) {
  const int numbers = term.kernels->numbers;
  const int chunks = (term.count() + kTermChunk - 1) / kTermChunk;
  std::vector<double> own(unsigned_of(chunks * numbers), 0.0);
  for_each_chunk(term, threads, [&](int begin, int end, int chunk) {
    StencilBars to;
    to.rest = bars.rest, to.now = bars.now;
    to.before[0] = bars.before[0] ? bars.before[0] : bars.frames, to.before[1] = bars.before[1];
    to.numbers = bars.numbers ? own.data() + chunk * numbers : nullptr;
    to.memory = bars.memory ? bars.memory + term.first_memory : nullptr;
    work(begin, end, to);
  });
  for (std::size_t i = 0; bars.numbers && i < own.size(); ++i) {
    bars.numbers[unsigned_of(term.first_number) + i % unsigned_of(numbers)] += own[i];
  }
}

bool has_barrier(const StencilTerm& term) {
  return term.law == StencilLaw::contact && ObstacleContact::is_barrier(term.form);
}

Vec3<double> vertex_of(const double* y, int v) { return {y[3 * v], y[3 * v + 1], y[3 * v + 2]}; }

}  // namespace

std::vector<std::vector<int>> colour_chunks(std::span<const int> nodes, int each, int vertices,
                                            int chunk) {
  const int per_chunk = chunk * each, total = static_cast<int>(nodes.size());
  std::vector<std::vector<int>> at(unsigned_of(vertices));
  std::vector<std::vector<int>> colours;
  std::vector<char> taken;
  for (int begin = 0; begin < total; begin += per_chunk) {
    const auto own =
        nodes.subspan(unsigned_of(begin), unsigned_of(std::min(per_chunk, total - begin)));
    taken.assign(colours.size() + 1, 0);
    for (const int v : own) {
      for (const int c : at[unsigned_of(v)]) taken[unsigned_of(c)] = 1;
    }
    const int colour = static_cast<int>(std::find(taken.begin(), taken.end(), 0) - taken.begin());
    if (colour == static_cast<int>(colours.size())) colours.emplace_back();
    colours[unsigned_of(colour)].push_back(begin / per_chunk);
    for (const int v : own) {
      auto& all = at[unsigned_of(v)];
      if (std::find(all.begin(), all.end(), colour) == all.end()) all.push_back(colour);
    }
  }
  return colours;
}

TermNumbers term_numbers_tangent(const Terms& terms, const double* parameters,
                                 const double* inputs) {
  TermNumbers out;
  for (const StencilTerm& term : terms) {
    for (const StencilTerm::Source& s : term.sources) {
      out.push_back((s.parameter >= 0 && parameters ? parameters[s.parameter] : 0) +
                    (s.input >= 0 && inputs ? inputs[s.input] : 0));
    }
  }
  return out;
}

TermNumbers term_numbers(const Terms& terms, const double* parameters, const double* inputs) {
  TermNumbers out = term_numbers_tangent(terms, parameters, inputs);
  std::size_t i = 0;
  for (const StencilTerm& term : terms) {
    for (const StencilTerm::Source& s : term.sources) out[i++] += s.constant;
  }
  return out;
}

double terms_energy(const Terms& terms, const TermsAt& at, int threads, bool stored) {
  double sum = 0;
  std::vector<double> each;
  for (const StencilTerm& term : terms) {
    if (stored && !term.stores) continue;
    const StencilView v = view_of(term, at);
    each.assign(unsigned_of(term.count()), 0.0);
    for_each_chunk(term, threads, [&](int begin, int end, int) {
      term.kernels->energy(v, begin, end, each.data());
    });
    for (const double e : each) sum += e;
  }
  return sum;
}

void terms_energy_pullback(const Terms& terms, const TermsAt& at, int threads, double bar,
                           const TermsBars& bars) {
  for (const StencilTerm& term : terms) {
    if (!term.stores) continue;
    const StencilView v = view_of(term, at);
    pull_chunks(term, threads, bars, [&](int begin, int end, const StencilBars& to) {
      term.kernels->energy_pullback(v, begin, end, bar, to);
    });
  }
}

void terms_force(const Terms& terms, const TermsAt& at, int threads, double* f) {
  for (const StencilTerm& term : terms) {
    const StencilView v = view_of(term, at);
    for_each_chunk(term, threads,
                   [&](int begin, int end, int) { term.kernels->force(v, begin, end, f); });
  }
}

void terms_force_pullback(const Terms& terms, const TermsAt& at, int threads, const double* f_bar,
                          const TermsBars& bars) {
  for (const StencilTerm& term : terms) {
    const StencilView v = view_of(term, at);
    pull_chunks(term, threads, bars, [&](int begin, int end, const StencilBars& to) {
      term.kernels->force_pullback(v, begin, end, f_bar, to);
    });
  }
}

void terms_force_tangent(const Terms& terms, const TermsAt& at, const TermsAt& tangent, int threads,
                         double* f_tan) {
  for (const StencilTerm& term : terms) {
    const StencilView v = view_of(term, at), t = view_of(term, tangent);
    for_each_chunk(term, threads, [&](int begin, int end, int) {
      term.kernels->force_tangent(v, t, begin, end, f_tan);
    });
  }
}

void terms_force_pullback_tangent(const Terms& terms, const TermsAt& at, const TermsAt& tangent,
                                  int threads, const double* f_bar, const TermsBars& bars) {
  for (const StencilTerm& term : terms) {
    const StencilView v = view_of(term, at), t = view_of(term, tangent);
    pull_chunks(term, threads, bars, [&](int begin, int end, const StencilBars& to) {
      term.kernels->force_pullback_tangent(v, t, begin, end, f_bar, to);
    });
  }
}

void terms_rotational_force(const Terms& terms, const TermsAt& at, int threads, double* f) {
  std::vector<double> less;
  for (const StencilTerm& term : terms) {
    if (term.kernels->symmetric) continue;
    StencilView v = view_of(term, at);
    const int last = *std::max_element(term.nodes.begin(), term.nodes.end());
    less.assign(unsigned_of(3 * (last + 1)), 0.0);
    for_each_chunk(term, threads,
                   [&](int begin, int end, int) { term.kernels->force(v, begin, end, f); });
    v.step.form = 1;
    for_each_chunk(term, threads, [&](int begin, int end, int) {
      term.kernels->force(v, begin, end, less.data());
    });
    for (std::size_t i = 0; i < less.size(); ++i) f[i] -= less[i];
  }
}

void terms_stiffness(const Terms& terms, const TermsAt& at, int threads, bool positive,
                     const std::int64_t* first, double* values, double* skew) {
  for (const StencilTerm& term : terms) {
    const StencilView v = view_of(term, at);
    const BlockRows rows{first, term.slot.data()};
    for_each_chunk(term, threads, [&](int begin, int end, int) {
      term.kernels->stiffness(v, begin, end, positive, rows, values, skew);
    });
  }
}

void terms_mass(const Terms& terms, const TermsAt& at, int threads, double* mass) {
  for (const StencilTerm& term : terms) {
    if (!term.kernels->has_mass) continue;
    const StencilView v = view_of(term, at);
    for_each_chunk(term, threads,
                   [&](int begin, int end, int) { term.kernels->mass(v, begin, end, mass); });
  }
}

void terms_mass_pullback(const Terms& terms, const TermsAt& at, int threads, const double* mass_bar,
                         const TermsBars& bars) {
  for (const StencilTerm& term : terms) {
    if (!term.kernels->has_mass) continue;
    const StencilView v = view_of(term, at);
    pull_chunks(term, threads, bars, [&](int begin, int end, const StencilBars& to) {
      term.kernels->mass_pullback(v, begin, end, mass_bar, to);
    });
  }
}

void terms_mass_tangent(const Terms& terms, const TermsAt& at, const TermsAt& tangent, int threads,
                        double* mass_tan) {
  for (const StencilTerm& term : terms) {
    if (!term.kernels->has_mass) continue;
    const StencilView v = view_of(term, at), t = view_of(term, tangent);
    for_each_chunk(term, threads, [&](int begin, int end, int) {
      term.kernels->mass_tangent(v, t, begin, end, mass_tan);
    });
  }
}

void terms_mass_pullback_tangent(const Terms& terms, const TermsAt& at, const TermsAt& tangent,
                                 int threads, const double* mass_bar, const TermsBars& bars) {
  for (const StencilTerm& term : terms) {
    if (!term.kernels->has_mass) continue;
    const StencilView v = view_of(term, at), t = view_of(term, tangent);
    pull_chunks(term, threads, bars, [&](int begin, int end, const StencilBars& to) {
      term.kernels->mass_pullback_tangent(v, t, begin, end, mass_bar, to);
    });
  }
}

int memory_size(const Terms& terms) {
  int size = 0;
  for (const StencilTerm& term : terms) size += term.kernels->memory * term.count();
  return size;
}

void terms_flow(const Terms& terms, const TermsAt& at, int threads, double* next) {
  for (const StencilTerm& term : terms) {
    if (!term.kernels->flow) continue;
    const StencilView v = view_of(term, at);
    for_each_chunk(term, threads, [&](int begin, int end, int) {
      term.kernels->flow(v, begin, end, next + term.first_memory);
    });
  }
}

void terms_flow_pullback(const Terms& terms, const TermsAt& at, int threads, const double* next_bar,
                         const TermsBars& bars) {
  for (const StencilTerm& term : terms) {
    if (!term.kernels->flow) continue;
    const StencilView v = view_of(term, at);
    pull_chunks(term, threads, bars, [&](int begin, int end, const StencilBars& to) {
      term.kernels->flow_pullback(v, begin, end, next_bar + term.first_memory, to);
    });
  }
}

void terms_flow_tangent(const Terms& terms, const TermsAt& at, const TermsAt& tangent, int threads,
                        double* next_tan) {
  for (const StencilTerm& term : terms) {
    if (!term.kernels->flow) continue;
    const StencilView v = view_of(term, at), t = view_of(term, tangent);
    for_each_chunk(term, threads, [&](int begin, int end, int) {
      term.kernels->flow_tangent(v, t, begin, end, next_tan + term.first_memory);
    });
  }
}

void terms_flow_pullback_tangent(const Terms& terms, const TermsAt& at, const TermsAt& tangent,
                                 int threads, const double* next_bar, const TermsBars& bars) {
  for (const StencilTerm& term : terms) {
    if (!term.kernels->flow) continue;
    const StencilView v = view_of(term, at), t = view_of(term, tangent);
    pull_chunks(term, threads, bars, [&](int begin, int end, const StencilBars& to) {
      term.kernels->flow_pullback_tangent(v, t, begin, end, next_bar + term.first_memory, to);
    });
  }
}

bool terms_stress(const Terms& terms, const TermsAt& at, int threads, double* stress) {
  for (const StencilTerm& term : terms) {
    if (!term.kernels->stress) continue;
    const StencilView v = view_of(term, at);
    for_each_chunk(term, threads,
                   [&](int begin, int end, int) { term.kernels->stress(v, begin, end, stress); });
    return true;
  }
  return false;
}

void terms_stress_pullback(const Terms& terms, const TermsAt& at, int threads, const double* bar,
                           const TermsBars& bars) {
  for (const StencilTerm& term : terms) {
    if (!term.kernels->stress) continue;
    const StencilView v = view_of(term, at);
    pull_chunks(term, threads, bars, [&](int begin, int end, const StencilBars& to) {
      term.kernels->stress_pullback(v, begin, end, bar, to);
    });
  }
}

bool all_symmetric(const Terms& terms) {
  return std::all_of(terms.begin(), terms.end(),
                     [](const StencilTerm& t) { return t.kernels->symmetric; });
}

bool any_barrier(const Terms& terms) {
  return std::any_of(terms.begin(), terms.end(), has_barrier);
}

double admissible_part(const Terms& terms, const TermNumbers& numbers, const double* y,
                       const double* d) {
  double part = 1;
  for (const StencilTerm& term : terms) {
    if (!has_barrier(term)) continue;
    const double* const own = numbers.data() + term.first_number;
    for (const int v : term.nodes) {
      const Vec3<double> x = vertex_of(y, v), step = vertex_of(d, v);
      const double length = norm(step);
      const double start = ObstacleContact::distance(term.form, own, x).phi;
      if (length == 0 || start > length) continue;  // too far to be reached
      double t = 0, phi = start;
      while (t < part) {
        t += std::max(phi - 0.1 * start, 0.0) / length;
        if (t >= part) break;
        phi = ObstacleContact::distance(term.form, own, x + step * t).phi;
        if (phi <= 0.11 * start) {
          part = t;
          break;
        }
      }
    }
  }
  return part;
}

Trespass first_trespass(const Terms& terms, const TermNumbers& numbers, const double* y) {
  for (const StencilTerm& term : terms) {
    if (!has_barrier(term)) continue;
    for (const int v : term.nodes) {
      const double phi =
          ObstacleContact::distance(term.form, numbers.data() + term.first_number, vertex_of(y, v))
              .phi;
      if (!(phi > 0)) return {v, phi, term.name};
    }
  }
  return {};
}

void push_out(const Terms& terms, const TermNumbers& numbers, std::span<const char> held,
              double* y) {
  for (const StencilTerm& term : terms) {
    if (!has_barrier(term)) continue;
    const double* const own = numbers.data() + term.first_number;
    for (const int v : term.nodes) {
      const auto from = ObstacleContact::distance(term.form, own, vertex_of(y, v));
      if (from.phi > 0) continue;
      const Vec3<double> way = from.n * (0.5 * own[ObstacleContact::width] - from.phi);
      for (int i = 0; i < 3; ++i) {
        if (!held[unsigned_of(3 * v + i)]) y[3 * v + i] += way[i];
      }
    }
  }
}

}  // namespace cycloid::inline soft
