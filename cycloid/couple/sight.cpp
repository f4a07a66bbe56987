#include "cycloid/couple/sight.h"

#include <algorithm>

#include "cycloid/couple/lane_array.h"
#include "cycloid/couple/state_bar.h"

namespace cycloid::inline couple {

Sight::Sight(const System& system, const std::optional<std::vector<std::string>>& names)
    : parts_(system.parts()) {
  if (!names) {
    size_ = parts_.states.size();
    of_state_.push_back({0, 0, size_});
    return;
  }
  std::vector<std::string> asked;
  int next = 0;
  for (const std::string& name : *names) {
    const Observable what = find_observable(system, name);
    int place = size_;
    for (const StateNumbers& s : what.of_state) {
      of_state_.push_back({place, s.from, s.count});
      place += s.count;
    }
    if (what.of_state.empty()) {
      computed_.push_back({place, next, what.size()});
      next += what.size();
      asked.push_back(name);
    }
    size_ += what.size();
  }
  if (!asked.empty()) observer_ = parts_.observables->differentiable(asked);
}

// Lanes `first` to `first + count` of the stepper, in those of the observer; the last one fills
// them up.
template <class T>
struct Sight::Lanes<T>::Chunk {
  Chunk(const Sight& of, int first_lane, int lanes)
      : first(first_lane),
        width(of.observer_->lanes()),
        count(std::min(width, lanes - first_lane)),
        workspace(of.observer_->make_workspace({})),
        x(room(of.parts_.states.size())),
        u(room(of.parts_.inputs.size())),
        p(room(of.parts_.parameters.lane_size())),
        y(room(of.observer_->size())),
        y_bar(room(of.observer_->size())),
        x_bar(room(of.parts_.states.tangent_size())),
        u_bar(room(of.parts_.inputs.size())),
        p_bar(room(of.parts_.parameters.lane_size())),
        left_out(new bool[static_cast<std::size_t>(width)]) {}
  std::size_t room(int n) const {
    return static_cast<std::size_t>(std::max(n, 1)) * static_cast<std::size_t>(width);
  }
  int first, width, count;
  std::unique_ptr<StepWorkspace> workspace;
  LaneArray<double> x, u, p, y, y_bar, x_bar, u_bar, p_bar;
  std::unique_ptr<bool[]> left_out;
  std::vector<std::vector<double>> arrays;  // in double, where T is not
  std::vector<const double*> array_pointers;
};

template <class T>
Sight::Lanes<T>::Lanes(const Sight& of, int lanes)
    : of_(of),
      lanes_(lanes),
      state_bar_(static_cast<std::size_t>(of.parts_.states.size()) *
                 static_cast<std::size_t>(lanes)) {
  if (!of.observer_) return;
  for (int l = 0; l < lanes; l += of.observer_->lanes()) {
    chunks_.push_back(std::make_unique<Chunk>(of, l, lanes));
  }
}
template <class T>
Sight::Lanes<T>::~Lanes() = default;

template <class T>
void Sight::Lanes<T>::bring(const T* from, int n, const Chunk& c, double* to) const {
  for (int i = 0; i < n; ++i) {
    for (int l = 0; l < c.width; ++l) {
      to[i * c.width + l] =
          static_cast<double>(from[i * lanes_ + c.first + std::min(l, c.count - 1)]);
    }
  }
}

template <class T>
void Sight::Lanes<T>::begin(const StepParameters<T>& p) {
  for (const auto& chunk : chunks_) {
    Chunk& c = *chunk;
    bring(p.lanes, of_.parts_.parameters.lane_size(), c, c.p.data());
    c.arrays.clear(), c.array_pointers.clear();
    std::size_t k = 0;
    for (const Parameter& of : of_.parts_.parameters.all()) {
      if (!of.array) continue;
      if constexpr (std::is_same_v<T, double>) c.array_pointers.push_back(p.arrays[k]);
      else c.arrays.emplace_back(p.arrays[k], p.arrays[k] + of.size);
      ++k;
    }
    for (const std::vector<double>& own : c.arrays) c.array_pointers.push_back(own.data());
    for (int l = 0; l < c.width; ++l) {
      c.left_out[static_cast<std::size_t>(l)] =
          l >= c.count || (p.left_out && p.left_out[c.first + l]);
    }
    of_.observer_->begin({c.p.data(), c.array_pointers.data(), p.arrays_bar, c.left_out.get()},
                         *c.workspace);
  }
}

template <class T>
void Sight::Lanes<T>::observe(const T* x, double t, T* o, int stride) {
  for (const Piece& piece : of_.of_state_) {
    for (int i = 0; i < piece.count; ++i) {
      std::copy_n(x + (piece.from + i) * lanes_, lanes_, o + (piece.place + i) * stride);
    }
  }
  for (const auto& chunk : chunks_) {
    Chunk& c = *chunk;
    bring(x, of_.parts_.states.size(), c, c.x.data());
    of_.observer_->observe({c.x.data(), c.u.data(), t}, c.y.data(), *c.workspace);
    for (const Piece& piece : of_.computed_) {
      for (int i = 0; i < piece.count * c.count; ++i) {
        const int row = i / c.count, l = i % c.count;
        o[(piece.place + row) * stride + c.first + l] =
            static_cast<T>(c.y.data()[(piece.from + row) * c.width + l]);
      }
    }
  }
}

template <class T>
void Sight::Lanes<T>::pullback(const T* x, double t, const T* o_bar, int stride, T* x_bar) {
  std::fill(state_bar_.begin(), state_bar_.end(), T(0));
  for (const Piece& piece : of_.of_state_) {
    for (int i = 0; i < piece.count; ++i) {
      for (int l = 0; l < lanes_; ++l) {
        state_bar_[static_cast<std::size_t>((piece.from + i) * lanes_ + l)] +=
            o_bar[(piece.place + i) * stride + l];
      }
    }
  }
  const Space& states = of_.parts_.states;
  add_state_bar(states, x, static_cast<const T*>(state_bar_.data()), lanes_, x_bar);
  for (const auto& chunk : chunks_) {
    Chunk& c = *chunk;
    bring(x, states.size(), c, c.x.data());
    c.y_bar.clear(), c.x_bar.clear(), c.u_bar.clear();
    for (const Piece& piece : of_.computed_) {
      for (int i = 0; i < piece.count * c.count; ++i) {
        const int row = i / c.count, l = i % c.count;
        c.y_bar.data()[(piece.from + row) * c.width + l] =
            static_cast<double>(o_bar[(piece.place + row) * stride + c.first + l]);
      }
    }
    of_.observer_->pullback({c.x.data(), c.u.data(), t}, c.y_bar.data(), c.x_bar.data(),
                            c.u_bar.data(), *c.workspace);
    for (int i = 0; i < states.tangent_size() * c.count; ++i) {
      const int row = i / c.count, l = i % c.count;
      x_bar[row * lanes_ + c.first + l] += static_cast<T>(c.x_bar.data()[row * c.width + l]);
    }
  }
}

template <class T>
void Sight::Lanes<T>::finish(double* p_bar) {
  for (const auto& chunk : chunks_) {
    Chunk& c = *chunk;
    of_.observer_->finish(*c.workspace, c.p_bar.data());
    for (int i = 0; i < of_.parts_.parameters.lane_size() * c.count; ++i) {
      const int row = i / c.count, l = i % c.count;
      p_bar[row * lanes_ + c.first + l] += c.p_bar.data()[row * c.width + l];
    }
  }
}

template class Sight::Lanes<float>;
template class Sight::Lanes<double>;

}  // namespace cycloid::inline couple
