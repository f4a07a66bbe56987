// The figures of the page, by name: "aim_side", "fit_recording", "trust_growth" …
#pragma once

#include <map>
#include <string>

#include "cli/tour/tour.h"

namespace cycloid::tour {

// SVG text for every figure. A wide figure comes twice, for wide and for narrow screens.
std::map<std::string, std::string> figures(const TourResult& result);

}  // namespace cycloid::tour
