// The numbers of a tour as JSON: what `cycloid tour --json` prints, and what every number on the
// page is read from.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/tour/tour.h"

namespace cycloid::tour {

nlohmann::ordered_json to_json(const TourResult& result);

}  // namespace cycloid::tour
