#include "cycloid/adjoint/observe.h"

#include <algorithm>

#include "cycloid/adjoint/engine/engine.h"
#include "cycloid/base/error.h"

namespace cycloid::inline adjoint {
namespace {

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
  if (computed > 0) watch_ = double_engine_of(system).watch(system, asked);
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
  if (observer.watch()) {
    double_engine_of(observer.system())
        .observe(observer, rows, options, out.values_.data(), out.notes_);
  }
  return out;
}

ObservationGradient Observation::pullback(std::span<const double> values_bar,
                                          const ObserveOptions& options) const {
  check_row_count(values_bar, rows_.rows, observer_.size(), "values_bar");
  check_finite_rows(values_bar, "values_bar");
  return double_engine_of(observer_.system())
      .observe_pullback(observer_, rows_, values_bar, options);
}

}  // namespace cycloid::inline adjoint
