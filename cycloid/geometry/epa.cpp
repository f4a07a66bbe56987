#include "cycloid/geometry/gjk.h"

namespace cycloid::inline geometry {

namespace {

using V = Vec3<double>;

constexpr int kMaxPoints = 160;
constexpr int kMaxFaces = 2 * kMaxPoints;
constexpr double kTolerance = 1e-7;  // of the overlap, relative to the shapes
constexpr double kFlat = 1e-14;      // sine below which three points have no plane
constexpr double kInPlane = 1e-13;   // relative: a face sees a point that lies in its plane

struct Face {
  int at[3];  // counter-clockwise, seen from outside
  V n;
  double offset;  // n·x on the face; negative where the origin lies beyond it
};

// The convex hull of points of a - b, grown towards the face nearest to the origin.
class Polytope {
 public:
  Polytope(const ConvexShape& a, const ConvexShape& b) : a_(a), b_(b) {
    scale_ = a.size.x + a.size.y + a.size.z + b.size.x + b.size.y + b.size.z;
  }

  V least_overlap();

 private:
  V support(const V& d) const { return support_point(a_, d) - support_point(b_, -d); }
  bool start();
  bool add_face(int i, int j, int k);
  bool grow(const V& w);
  int nearest() const;

  const ConvexShape &a_, &b_;
  double scale_;
  V point_[kMaxPoints];
  Face face_[kMaxFaces];
  int points_ = 0, faces_ = 0;
};

bool Polytope::add_face(int i, int j, int k) {
  if (faces_ == kMaxFaces) return false;
  const V u = point_[j] - point_[i], v = point_[k] - point_[i], n = cross(u, v);
  const double length = sqrt(dot(n, n));
  if (!(length > kFlat * sqrt(dot(u, u) * dot(v, v)))) return false;
  Face& f = face_[faces_++];
  f = {{i, j, k}, n * (1 / length), 0};
  f.offset = dot(f.n, point_[i]);
  return true;
}

// A tetrahedron of support points, from directions that no symmetric shape has as its own.
bool Polytope::start() {
  constexpr double kDirections[4][3] = {{0.9318, 0.2415, 0.2713},
                                        {-0.5217, 0.8012, -0.2939},
                                        {-0.3147, -0.4126, 0.8549},
                                        {-0.0954, -0.6301, -0.7707}};
  for (const double* d : kDirections) point_[points_++] = support({d[0], d[1], d[2]});
  const V u = point_[1] - point_[0], v = point_[2] - point_[0], w = point_[3] - point_[0];
  const bool inwards = dot(cross(u, v), w) > 0;
  const int j = inwards ? 2 : 1, k = inwards ? 1 : 2;
  return add_face(0, j, k) && add_face(0, 3, j) && add_face(j, 3, k) && add_face(k, 3, 0);
}

// Replaces the faces that see w by a cone from w to their rim.
bool Polytope::grow(const V& w) {
  if (points_ == kMaxPoints) return false;
  const int top = points_;
  point_[points_++] = w;
  int rim[kMaxFaces][2], edges = 0, kept = 0;
  for (int f = 0; f < faces_; ++f) {
    if (!(dot(face_[f].n, w) > face_[f].offset - kInPlane * scale_)) {
      face_[kept++] = face_[f];
      continue;
    }
    for (int e = 0; e < 3; ++e) {
      const int i = face_[f].at[e], j = face_[f].at[(e + 1) % 3];
      int twin = 0;
      while (twin < edges && !(rim[twin][0] == j && rim[twin][1] == i)) ++twin;
      if (twin < edges) {
        --edges;
        rim[twin][0] = rim[edges][0], rim[twin][1] = rim[edges][1];
      } else if (edges < kMaxFaces) {
        rim[edges][0] = i, rim[edges][1] = j;
        ++edges;
      }
    }
  }
  faces_ = kept;
  bool good = edges > 0;
  for (int e = 0; e < edges; ++e) good = add_face(rim[e][0], rim[e][1], top) && good;
  return good;
}

int Polytope::nearest() const {
  int best = 0;
  for (int f = 1; f < faces_; ++f) {
    if (face_[f].offset < face_[best].offset) best = f;
  }
  return best;
}

V Polytope::least_overlap() {
  V best{0, 0, 1};
  double least = 1e300;
  const auto try_direction = [&](const V& n, const V& w) {
    const double overlap = dot(n, w);
    if (overlap < least) least = overlap, best = n;
  };
  if (!start()) {
    // Cores that are flat together, or not finite: the best of the axes' directions.
    for (int k = 0; k < 6; ++k) {
      const V n = axis(k < 3 ? a_.x : b_.x, k % 3);
      try_direction(n, support(n));
      try_direction(-n, support(-n));
    }
    return best;
  }
  while (faces_ > 0) {
    const Face f = face_[nearest()];
    const V w = support(f.n);
    try_direction(f.n, w);
    if (!(least - f.offset > kTolerance * scale_) || !grow(w)) break;
  }
  return best;
}

}  // namespace

V least_overlap(const ConvexShape& a, const ConvexShape& b) {
  return Polytope(a, b).least_overlap();
}

}  // namespace cycloid::inline geometry
