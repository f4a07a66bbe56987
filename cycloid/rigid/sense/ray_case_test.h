// A mesh and a terrain that rays meet, for tests.
#pragma once

#include "cycloid/model/model.h"

namespace cycloid::test {

// A tetrahedron with a hollow: a face that its hull does not have.
inline Mesh hollow() {
  Mesh m;
  m.vertex = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0.25, 0.25, 0.1};
  m.faces = {0, 1, 3, 0, 3, 2, 0, 2, 1, 1, 2, 4, 2, 3, 4, 3, 1, 4};
  return m;
}

inline HeightData hills() {
  HeightData h;
  h.rows = 3, h.columns = 4;
  h.size = {1.5, 1, 0.5, 0.2};
  h.data = {0, 0.2, 0.5, 0.1, 0.3, 1, 0.4, 0.2, 0.6, 0.1, 0, 0.8};
  return h;
}

}  // namespace cycloid::test
