// Which geoms of a model may touch (geometry/pair_filter.h).
#pragma once

#include <vector>

#include "cycloid/geometry/pair_filter.h"
#include "cycloid/model/model.h"

namespace cycloid::inline rigid {

// `other` counts as a box, which a pair filter never asks for.
GeomKind kind_of(const Geom& geom);

// Candidates by the model's ids. Shapes of other kinds take part as geoms that meet nothing: their
// number decides about the order.
std::vector<CandidatePair> model_pairs(const Model& model);

}  // namespace cycloid::inline rigid
