#include "cli/tour/tour_page.h"

#include <sstream>

#include "cli/tour/figures.h"
#include "cli/tour/page_files.h"
#include "cli/tour/result_json.h"
#include "cycloid/base/check.h"
#include "cycloid/base/error.h"
#include "cycloid/page/html.h"
#include "cycloid/page/number_text.h"
#include "cycloid/page/page.h"

namespace cycloid::tour {
namespace {

using Json = nlohmann::ordered_json;

// "aim.velocity.0"
const Json& look_up(const Json& json, const std::string& key) {
  const Json* at = &json;
  std::istringstream parts(key);
  for (std::string part; std::getline(parts, part, '.');) {
    const bool index = at->is_array() && part.find_first_not_of("0123456789") == std::string::npos;
    const bool known =
        index ? std::stoul(part) < at->size() : at->is_object() && at->contains(part);
    CYCLOID_CHECK(known, key, part);
    at = index ? &(*at)[std::stoul(part)] : &(*at)[part];
  }
  return *at;
}

// A number as text, with the factor by which the text's number differs from the value.
struct Shown {
  std::string text, unit;
  double scale = 1;
};

Shown shown(double value, const std::string& format, int digits) {
  if (format == "fixed") return {typeset(fixed(value, digits)), "", 1};
  if (format == "significant") return {typeset(significant(value, digits)), "", 1};
  if (format == "percent") return {fixed(100 * value, digits), "\u00a0%", 100};
  if (format == "scientific") return {scientific(value), "", 1};
  CYCLOID_CHECK(format == "length", format);
  const Quantity q = unit_of_length(value);
  return {significant(value * q.scale, 3), "\u00a0" + q.unit, q.scale};
}

std::string number(const Json& json, const std::string& key, const std::string& format,
                   int digits) {
  const Json& value = look_up(json, key);
  if (format == "text") return escape_html(value.get<std::string>());
  if (format == "attribute") return message(value.get<double>());
  CYCLOID_CHECK(value.is_number(), key);
  const Shown s = shown(value.get<double>(), format, digits);
  return message("<data data-key=\"", key, "\" data-scale=\"", s.scale, "\" value=\"",
                 value.get<double>(), "\">", s.text, "</data>", s.unit);
}

std::string replacement(const std::string& words, const Json& json,
                        const std::map<std::string, std::string>& all_figures) {
  std::istringstream in(words);
  std::string first, second, format;
  in >> first;
  if (first == "style") return kStyle;
  if (first == "script") return std::string(kPageJs) + kSceneJs;
  if (first == "json") {  // "</" would end the script element
    std::string text = json.dump();
    for (std::size_t at = 0; (at = text.find("</", at)) != text.npos;) text.replace(at, 2, "<\\/");
    return text;
  }
  in >> second;
  if (first == "figure") {
    CYCLOID_CHECK(all_figures.contains(second), second);
    return all_figures.at(second);
  }
  CYCLOID_CHECK(second == "|", words);
  int digits = 0;
  in >> format >> digits;
  return number(json, first, format, digits);
}

}  // namespace

std::string fill_template(const std::string& text, const nlohmann::ordered_json& json,
                          const std::map<std::string, std::string>& figures) {
  return fill_marks(text,
                    [&](const std::string& words) { return replacement(words, json, figures); });
}

std::string page(const TourResult& result) {
  return fill_template(kPageHtml, to_json(result), figures(result));
}

}  // namespace cycloid::tour
