// Contacts of pairs with a mesh: the closest features, or several where faces and edges lie along
// each other; and the code that names each.
//
// As for cylinders and boxes (convex_manifold.h), MuJoCo's single-shot multiccd: faces that end in
// the closest features and look at each other within 5.1°, else an edge within 5.1° of a face. The
// faces of a hull are its polygons, in the order in which the compiled mesh has them.
//
// A code is an integer below 2^48, kept as two numbers of 24 bits, which are exact in float.
#pragma once

#include "cycloid/geometry/convex/convex_find.h"
#include "cycloid/geometry/pair/flat_contact.h"

namespace cycloid::inline geometry {

inline constexpr int kMeshTouches = 4;
inline constexpr std::int64_t kCodeHalf = std::int64_t(1) << 24;

enum class MeshContactKind { closest, faces, edge };
struct MeshContact {
  MeshContactKind kind;
  MeetingFeatures closest;
  FacePairFeature faces;
  EdgeFaceFeature edge;
};

std::int64_t encode(const MeshContact& c, GeomKind k1, GeomKind k2, const Hull* hull1,
                    const Hull* hull2);
MeshContact decode_mesh(std::int64_t code, GeomKind k1, GeomKind k2, const Hull* hull1,
                        const Hull* hull2);

// Places for contacts of a pair.
constexpr int mesh_touches(GeomKind k1, GeomKind k2) {
  const GeomKind other = k1 == GeomKind::mesh ? k2 : k1;
  if (other == GeomKind::sphere || other == GeomKind::ellipsoid) return 1;
  return other == GeomKind::capsule ? 2 : kMeshTouches;
}

// The contacts of one lane; returns their number. hint: of this pair and lane, or null.
int find_mesh(GeomKind k1, GeomKind k2, const GeomPair<double>& g, double margin,
              FoundContact* found, ApartHint* hint = nullptr);

// Those of the closest features alone: of a prism of a height field.
int find_closest(GeomKind k1, GeomKind k2, const GeomPair<double>& g, double margin,
                 FoundContact* found);

}  // namespace cycloid::inline geometry
