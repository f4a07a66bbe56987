#include "cycloid/adjoint/observe.h"

#include <algorithm>

#include "cycloid/adjoint/lanes.h"
#include "cycloid/base/core_count.h"
#include "cycloid/base/error.h"
#include "cycloid/base/thread_pool.h"

namespace cycloid::inline adjoint {
namespace {

// Tasks for threads, and bytes for sums over shared arrays of parameters, at most.
constexpr std::int64_t kGroups = 64;
constexpr std::int64_t kArraySumBytes = std::int64_t{1} << 28;
constexpr int kRowsWithoutLanes = 64;  // of a chunk of which only the state is shown

// One per number: the name, with "[2]" or "[2][0]" after it where there are several.
void add_names(const Observable& what, std::vector<std::string>& names) {
  for (int k = 0; k < what.size(); ++k) {
    std::string place;
    int stride = what.size();
    for (const int n : what.shape) {
      stride /= n;
      place += message("[", k / stride % n, "]");
    }
    names.push_back(what.size() == 1 ? what.name : what.name + place);
  }
}

// Appends a piece, or makes the last one longer.
void add_piece(std::vector<ObservedPiece>& pieces, const ObservedPiece& piece) {
  if (piece.count == 0) return;
  if (!pieces.empty()) {
    ObservedPiece& last = pieces.back();
    if (last.place + last.count == piece.place && last.from + last.count == piece.from) {
      last.count += piece.count;
      return;
    }
  }
  pieces.push_back(piece);
}

std::vector<std::string> usual_names(const System& system) {
  const Observables* const own = system.observables();
  if (own) {
    if (std::optional<std::vector<std::string>> usual = own->usual()) return *std::move(usual);
  }
  std::vector<std::string> names;
  for (const Observable& o : observables_of(system)) names.push_back(o.name);
  return names;
}

// How rows are cut into chunks of lanes, and chunks into groups. Lanes share arrays of parameters:
// rows with their own are alone in their chunks.
struct Cut {
  Cut(const Observer& observer, const CheckedRows& rows)
      : lanes(observer.chunks() ? observer.chunks()->lanes() : kRowsWithoutLanes),
        batch(rows.rows) {
    const Parameters& p = observer.system().parameters();
    array_bytes = static_cast<std::int64_t>(sizeof(double)) * (p.size() - p.lane_size());
    step = array_bytes > 0 && rows.parameter_rows > 1 ? 1 : lanes;
    chunks = (batch + step - 1) / step;
    groups = std::min(kGroups, chunks);
  }
  LaneMap map(std::int64_t chunk) const {
    LaneMap map(chunk, step, batch);
    map.lanes = lanes;
    return map;
  }
  std::int64_t first_chunk(std::int64_t group) const { return group * chunks / groups; }

  int lanes, step;
  std::int64_t batch, chunks, groups, array_bytes;
};

// A worker's memory for one chunk at a time.
struct Buffers {
  Buffers(const Observer& observer, int threads) {
    const DifferentiableObserver* const chunks = observer.chunks();
    if (!chunks) return;
    const System& s = observer.system();
    const auto lanes = [&](int n) {
      return LaneBuffer<double>(static_cast<std::size_t>(n * chunks->lanes()));
    };
    workspace = chunks->make_workspace({threads});
    x = lanes(s.states().size()), u = lanes(s.inputs().size());
    p = lanes(s.parameters().lane_size()), y = lanes(chunks->size());
    x_bar = lanes(s.states().tangent_size()), u_bar = lanes(s.inputs().size());
    p_bar = lanes(s.parameters().lane_size());
    left_out = LaneBuffer<bool>(static_cast<std::size_t>(chunks->lanes()));
  }
  std::unique_ptr<StepWorkspace> workspace;
  LaneBuffer<double> x, u, p, y, x_bar, u_bar, p_bar;
  LaneBuffer<bool> left_out;
  std::vector<const double*> arrays;
  std::vector<double*> arrays_bar;
  std::vector<double> state_bar;  // of a row, in coordinates
};

// Calls work(group, buffers, stop) for every group, on the threads that may be used.
template <class Work>
void for_each_group(const Observer& observer, const Cut& cut, const ObserveOptions& options,
                    Work&& work) {
  if (options.threads < 0) {
    throw Error(message("threads must not be negative; got ", options.threads));
  }
  const int threads = options.threads > 0 ? options.threads : default_threads();
  const int inside = std::max(1, static_cast<int>(threads / std::max<std::int64_t>(1, cut.groups)));
  std::vector<std::unique_ptr<Buffers>> buffers(static_cast<std::size_t>(threads));
  parallel_for(
      static_cast<std::size_t>(cut.groups), threads,
      [&](std::size_t group, int worker, const StopToken& stop) {
        auto& own = buffers[static_cast<std::size_t>(worker)];
        if (!own) own = std::make_unique<Buffers>(observer, inside);
        work(static_cast<std::int64_t>(group), *own, stop);
      },
      options.keep_going);
}

// Brings a chunk's states, inputs and parameters into lanes, and begins.
ObservedPoint<double> begin_chunk(const Observer& observer, const CheckedRows& rows,
                                  const LaneMap& map, Buffers& b, const bool* left_out) {
  const System& s = observer.system();
  const std::int64_t nx = s.states().size(), nu = s.inputs().size();
  const Parameters& registry = s.parameters();
  gather(map, rows.x.data(), nx, 0, nx, b.x.data());
  gather(map, rows.u.data(), nu, 0, nu, b.u.data());
  gather(map, rows.p.data(), rows.parameter_rows == 1 ? 0 : registry.size(), 0,
         registry.lane_size(), b.p.data());
  b.arrays.clear();
  for (const Parameter& p : registry.all()) {
    if (!p.array) continue;
    b.arrays.push_back(rows.p.data() + rows.parameter_place(map.environment(0)) + p.offset);
  }
  observer.chunks()->begin(
      {b.p.data(), b.arrays.data(), b.arrays_bar.empty() ? nullptr : b.arrays_bar.data(), left_out},
      *b.workspace);
  return {b.x.data(), b.u.data(), rows.time};
}

// The way back of all rows.
class Gradient {
 public:
  Gradient(const Observer& observer, const CheckedRows& rows, std::span<const double> values_bar)
      : observer_(observer),
        rows_(rows),
        cut_(observer, rows),
        bar_(values_bar),
        out_(rows.zero_gradient(observer.system())) {
    if (cut_.array_bytes > 0) {
      cut_.groups = std::clamp<std::int64_t>(kArraySumBytes / cut_.array_bytes, 1, cut_.groups);
    }
    if (!own()) sums_.assign(static_cast<std::size_t>(cut_.groups * rows.parameters), 0.0);
  }

  ObservationGradient run(const ObserveOptions& options) {
    for_each_group(observer_, cut_, options,
                   [&](std::int64_t group, Buffers& b, const StopToken& stop) {
                     const std::int64_t end = cut_.first_chunk(group + 1);
                     for (std::int64_t c = cut_.first_chunk(group); c < end; ++c) {
                       if (stop.stop_requested()) return;
                       pull_back(cut_.map(c), group, b);
                     }
                   });
    for (std::size_t i = 0; i < sums_.size(); ++i) {  // group after group
      out_.parameters[i % out_.parameters.size()] += sums_[i];
    }
    return std::move(out_);
  }

 private:
  bool own() const { return rows_.parameter_rows > 1; }
  double* parameter_row(std::int64_t row, std::int64_t group) {
    return own() ? out_.parameters.data() + row * rows_.parameters
                 : sums_.data() + group * rows_.parameters;
  }

  void pull_back(const LaneMap& map, std::int64_t group, Buffers& b) {
    if (observer_.chunks()) pull_back_lanes(map, group, b);
    const Space& states = observer_.system().states();
    b.state_bar.resize(static_cast<std::size_t>(states.size()));
    for (int l = 0; l < map.active; ++l) {
      const std::int64_t row = map.environment(l);
      const double* const bar = bar_.data() + row * observer_.size();
      double* const d_bar = out_.states_tangent.data() + row * states.tangent_size();
      if (!observer_.of_state().empty()) {
        std::fill(b.state_bar.begin(), b.state_bar.end(), 0.0);
        for (const ObservedPiece& piece : observer_.of_state()) {
          for (int i = 0; i < piece.count; ++i) {
            b.state_bar[static_cast<std::size_t>(piece.from + i)] += bar[piece.place + i];
          }
        }
        states.to_tangent(rows_.x.data() + row * states.size(), b.state_bar.data(), d_bar);
      }
      states.to_coordinates(rows_.raw.data() + row * states.size(), d_bar,
                            out_.states.data() + row * states.size());
    }
  }

  void pull_back_lanes(const LaneMap& map, std::int64_t group, Buffers& b) {
    const DifferentiableObserver& chunks = *observer_.chunks();
    const System& s = observer_.system();
    const int W = map.lanes, nd = s.states().tangent_size(), nu = s.inputs().size();
    const Parameters& registry = s.parameters();
    for (int l = 0; l < W; ++l) b.left_out.data()[l] = l >= map.active;
    b.arrays_bar.clear();
    for (const Parameter& p : registry.all()) {
      if (!p.array) continue;
      b.arrays_bar.push_back(parameter_row(map.environment(0), group) + p.offset);
    }
    const ObservedPoint<double> at = begin_chunk(observer_, rows_, map, b, b.left_out.data());
    for (const ObservedPiece& piece : observer_.computed()) {
      gather(map, bar_.data(), observer_.size(), piece.place, piece.count,
             b.y.data() + piece.from * W);
    }
    std::fill_n(b.x_bar.data(), nd * W, 0.0);
    std::fill_n(b.u_bar.data(), nu * W, 0.0);
    chunks.pullback(at, b.y.data(), b.x_bar.data(), b.u_bar.data(), *b.workspace);
    chunks.finish(*b.workspace, b.p_bar.data());
    scatter(map, static_cast<const double*>(b.x_bar.data()), nd, out_.states_tangent.data(), nd, 0);
    scatter(map, static_cast<const double*>(b.u_bar.data()), nu, out_.inputs.data(), nu, 0);
    for (int l = 0; l < map.active; ++l) {
      double* const sum = parameter_row(map.environment(l), group);
      for (int i = 0; i < registry.lane_size(); ++i) sum[i] += b.p_bar.data()[i * W + l];
    }
  }

  const Observer& observer_;
  const CheckedRows& rows_;
  Cut cut_;
  std::span<const double> bar_;
  ObservationGradient out_;
  std::vector<double> sums_;  // (groups, parameters), where rows share them
};

}  // namespace

Observer::Observer(const System& system, const std::optional<std::vector<std::string>>& names)
    : system_(system) {
  int computed = 0;
  std::vector<std::string> asked;
  for (const std::string& name : names ? *names : usual_names(system)) {
    Observable what = find_observable(system, name);
    const int n = what.size();
    int place = size_;
    for (const StateNumbers& s : what.of_state) {
      add_piece(of_state_, {place, s.from, s.count});
      place += s.count;
    }
    if (what.of_state.empty()) {
      add_piece(computed_, {place, computed, n});
      asked.push_back(name);
      computed += n;
    }
    add_names(what, names_);
    observed_.push_back({std::move(what), size_});
    size_ += n;
  }
  if (computed == 0) return;
  const Observables& own = *system.observables();
  chunks_ = own.differentiable(asked);
  if (system.precision() == Precision::float32) {
    one32_ = own.float32(asked, 1);
    packed32_ = own.float32(asked, system.steppers<float>().packed->sizes().lanes);
  } else {
    one64_ = own.float64(asked, 1);
    packed64_ = own.float64(asked, system.steppers<double>().packed->sizes().lanes);
  }
}

Observation observe(const Observer& observer, const ObservedRows& at,
                    const ObserveOptions& options) {
  Observation out(observer, at);
  const CheckedRows& rows = out.rows_;
  const std::int64_t ny = observer.size(), nx = observer.system().states().size();
  out.values_.resize(static_cast<std::size_t>(rows.rows * ny));
  for (const ObservedPiece& piece : observer.of_state()) {
    for (std::int64_t i = 0; i < rows.rows; ++i) {
      std::copy_n(rows.x.data() + i * nx + piece.from, piece.count,
                  out.values_.data() + i * ny + piece.place);
    }
  }
  const DifferentiableObserver* const chunks = observer.chunks();
  if (!chunks) return out;
  const Cut cut(observer, rows);
  std::vector<std::vector<RowNote>> said(static_cast<std::size_t>(cut.groups));
  const auto look = [&](const LaneMap& map, Buffers& b, std::vector<RowNote>& notes) {
    const ObservedPoint<double> point = begin_chunk(observer, rows, map, b, nullptr);
    chunks->observe(point, b.y.data(), *b.workspace);
    for (const ObservedPiece& piece : observer.computed()) {
      scatter(map, static_cast<const double*>(b.y.data()) + piece.from * map.lanes, piece.count,
              out.values_.data(), ny, piece.place);
    }
    const LaneNote* const lanes = chunks->notes(*b.workspace);
    for (int l = 0; lanes && l < map.active; ++l) {
      if (lanes[l].residual > 0 || lanes[l].crowded) {
        notes.push_back({map.environment(l), lanes[l]});
      }
    }
  };
  for_each_group(observer, cut, options,
                 [&](std::int64_t group, Buffers& b, const StopToken& stop) {
                   const std::int64_t end = cut.first_chunk(group + 1);
                   for (std::int64_t c = cut.first_chunk(group); c < end; ++c) {
                     if (stop.stop_requested()) return;
                     look(cut.map(c), b, said[static_cast<std::size_t>(group)]);
                   }
                 });
  for (const std::vector<RowNote>& notes : said) {
    out.notes_.insert(out.notes_.end(), notes.begin(), notes.end());
  }
  return out;
}

ObservationGradient Observation::pullback(std::span<const double> values_bar,
                                          const ObserveOptions& options) const {
  check_row_count(values_bar, rows_.rows, observer_.size(), "values_bar");
  check_finite_rows(values_bar, "values_bar");
  return Gradient(observer_, rows_, values_bar).run(options);
}

}  // namespace cycloid::inline adjoint
