// Sight: numbers that a System shows, in the lanes of its steppers, with their pullback.
//
//   o = [what each name stands for], at state x and time t, without inputs
// A name is a block of the state or one of the System's Observables (system/observer.h); no names:
// the whole state. What is computed is computed in double, in lanes of the observer's own choice.
#pragma once

#include <optional>

#include "cycloid/system/observer.h"

namespace cycloid::inline couple {

class Sight {
 public:
  // Throws ModelError with the nearest name.
  Sight(const System& system, const std::optional<std::vector<std::string>>& names);

  // Rows of what is seen that are numbers of the state, or computed.
  struct Piece {
    int place, from, count;  // in the row of observations, and in the state or among the computed
  };

  int size() const { return size_; }
  const std::vector<Piece>& of_state() const { return of_state_; }
  bool computes() const { return observer_ != nullptr; }
  const Space& states() const { return parts_.states; }

  // What a chunk of W lanes needs between begin and finish.
  template <class T>
  class Lanes;

 private:
  SystemParts parts_;
  std::vector<Piece> of_state_, computed_;
  std::shared_ptr<const DifferentiableObserver> observer_;  // null: all is of the state
  int size_ = 0;
};

template <class T>
class Sight::Lanes {
 public:
  Lanes(const Sight& of, int lanes);
  ~Lanes();

  // p: of a System of which the observed one's parameters are the first, in lanes and of arrays.
  void begin(const StepParameters<T>& p);
  // Writes o (size, stride), W lanes of each row.
  void observe(const T* x, double t, T* o, int stride);
  // Adds to x_bar (tangents, W), given o_bar (size, stride).
  void pullback(const T* x, double t, const T* o_bar, int stride, T* x_bar);
  // Adds to p_bar (parameters, W).
  void finish(double* p_bar);

 private:
  struct Chunk;
  void bring(const T* from, int n, const Chunk& chunk, double* to) const;

  const Sight& of_;
  int lanes_;
  std::vector<std::unique_ptr<Chunk>> chunks_;  // of the observer's lanes
  std::vector<T> state_bar_;
};

extern template class Sight::Lanes<float>;
extern template class Sight::Lanes<double>;

}  // namespace cycloid::inline couple
