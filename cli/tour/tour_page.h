// The tour as one web page that needs nothing else: no file, no network, and scripts only for play.
//
// page.html is the text. In it
//   {{aim.miss | length}}             a number of the tour's JSON, as length, fixed N, percent N,
//                                     significant N or scientific; it becomes <data>, which has
//                                     the exact value too
//   {{trust.verdict | text}}          a text of the JSON;  {{… | attribute}}  a bare number
//   {{figure aim_side}}               a figure
//   {{style}}, {{script}}, {{json}}   room page's page.css, page.js and the JSON itself
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/tour/tour.h"

namespace cycloid::tour {

// Replaces every {{…}} of a text. A key, figure or format that does not exist is an InternalError.
std::string fill_template(const std::string& text, const nlohmann::ordered_json& json,
                          const std::map<std::string, std::string>& figures);

// The whole page.
std::string page(const TourResult& result);

}  // namespace cycloid::tour
