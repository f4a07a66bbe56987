#include "cycloid/geometry/convex/gjk.h"

namespace cycloid::inline geometry {

namespace {

using V = Vec3<double>;

constexpr int kMaxPoints = 160;
constexpr int kMaxFaces = 2 * kMaxPoints;
constexpr double kTolerance = 1e-7;         // of the overlap, relative to the shapes
constexpr double kCornerTolerance = 1e-12;  // likewise, of polytopes
constexpr double kThin = 1e-6;      // volume of a tetrahedron of corners that is flat, relative
constexpr double kFlat = 1e-14;     // sine below which three points have no plane
constexpr double kInPlane = 1e-13;  // relative: a face sees a point that lies in its plane

struct Face {
  int at[3];  // counter-clockwise, seen from outside
  V n;
  double offset;  // n·x on the face; negative where the origin lies beyond it
};

// The convex hull of points of a - b, grown towards the face nearest to the origin.
class Polytope {
 public:
  Polytope(const ConvexShape& a, const ConvexShape& b) : a_(a), b_(b) {
    scale_ = extent(a) + extent(b);
    corners_ = is_polytope(a) && is_polytope(b);
  }

  V least_overlap(ClosestCorners* at);

 private:
  struct Point {
    V w;
    int a, b;  // corners
  };
  Point support(const V& d) const {
    const SupportCorner from = support_corner(a_, d), to = support_corner(b_, -d);
    return {from.x - to.x, from.number, to.number};
  }
  bool has(const Face& f, const Point& p) const;
  bool start();
  bool add_tetrahedron();
  void set_point(int i, const Point& p);
  bool add_face(int i, int j, int k);
  bool grow(const Point& p);
  int nearest() const;

  const ConvexShape &a_, &b_;
  double scale_;
  bool corners_;
  V point_[kMaxPoints];
  int of_a_[kMaxPoints], of_b_[kMaxPoints];
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

// Faces of the tetrahedron on the first four points; false where it is flat.
bool Polytope::add_tetrahedron() {
  const V u = point_[1] - point_[0], v = point_[2] - point_[0], w = point_[3] - point_[0];
  const double volume = dot(cross(u, v), w);
  faces_ = 0;
  if (corners_ && !(abs(volume) > kThin * scale_ * scale_ * scale_)) return false;
  const int j = volume > 0 ? 2 : 1, k = volume > 0 ? 1 : 2;
  return add_face(0, j, k) && add_face(0, 3, j) && add_face(j, 3, k) && add_face(k, 3, 0);
}

void Polytope::set_point(int i, const Point& p) { point_[i] = p.w, of_a_[i] = p.a, of_b_[i] = p.b; }

// A tetrahedron of support points, from directions that no symmetric shape has as its own. Of cores
// with few corners several may be the same; then the next point is always that which lies furthest
// from the hull of those before.
bool Polytope::start() {
  constexpr double kDirections[4][3] = {{0.9318, 0.2415, 0.2713},
                                        {-0.5217, 0.8012, -0.2939},
                                        {-0.3147, -0.4126, 0.8549},
                                        {-0.0954, -0.6301, -0.7707}};
  points_ = 4;
  for (int i = 0; i < 4; ++i) {
    set_point(i, support({kDirections[i][0], kDirections[i][1], kDirections[i][2]}));
  }
  if (add_tetrahedron()) return true;
  if (!corners_) return false;
  double longest = 0;
  for (const double* d : kDirections) {
    const Point p = support({d[0], d[1], d[2]}), q = support({-d[0], -d[1], -d[2]});
    const V apart = q.w - p.w;
    if (!(dot(apart, apart) > longest)) continue;
    longest = dot(apart, apart);
    set_point(0, p), set_point(1, q);
  }
  const V along = point_[1] - point_[0];
  double widest = 0;
  for (int i = 0; i < 8; ++i) {
    const double* d = kDirections[i / 2];
    const V across = cross(along, V{d[0], d[1], d[2]});
    const Point p = support(i % 2 ? -across : across);
    const V area = cross(along, p.w - point_[0]);
    if (!(dot(area, area) > widest)) continue;
    widest = dot(area, area);
    set_point(2, p);
  }
  const V up = cross(along, point_[2] - point_[0]);
  const Point above = support(up), below = support(-up);
  const double height = dot(up, above.w - point_[0]), depth = dot(up, point_[0] - below.w);
  set_point(3, height > depth ? above : below);
  return add_tetrahedron();
}

// Whether the face has this very corner.
bool Polytope::has(const Face& f, const Point& p) const {
  if (!corners_) return false;
  for (const int i : f.at) {
    if (of_a_[i] == p.a && of_b_[i] == p.b) return true;
  }
  return false;
}

// Replaces the faces that see w by a cone from w to their rim.
bool Polytope::grow(const Point& p) {
  if (points_ == kMaxPoints) return false;
  const int top = points_;
  const V& w = p.w;
  of_a_[points_] = p.a, of_b_[points_] = p.b;
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

V Polytope::least_overlap(ClosestCorners* at) {
  V best{0, 0, 1};
  double least = 1e300;
  const double tolerance = corners_ ? kCornerTolerance : kTolerance;
  const auto try_direction = [&](const V& n, const Point& p) {
    const double overlap = dot(n, p.w);
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
    const Point p = support(f.n);
    try_direction(f.n, p);
    if (has(f, p) || !(least - f.offset > tolerance * scale_)) {
      if (!at || !corners_) return best;
      // The nearest face lies on the surface.
      at->size = 3;
      for (int k = 0; k < 3; ++k) at->a[k] = of_a_[f.at[k]], at->b[k] = of_b_[f.at[k]];
      return f.n;
    }
    if (!grow(p)) break;
  }
  return best;
}

}  // namespace

V least_overlap(const ConvexShape& a, const ConvexShape& b, ClosestCorners* at) {
  return Polytope(a, b).least_overlap(at);
}

}  // namespace cycloid::inline geometry
