#include "cycloid/system/variant.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <span>

#include "cycloid/base/error.h"
#include "cycloid/base/nearest_name.h"
#include "cycloid/system/system.h"

namespace cycloid::inline system {
namespace {

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// The name as the System knows it, "rk4" for "RK4". Throws Error.
std::string known_name(const std::string& system, const char* what, const std::string& wanted,
                       const std::vector<std::string>& known) {
  if (wanted.empty()) return wanted;
  if (known.empty()) {
    throw Error(message("the ", what, " of system \"", system, "\" cannot be varied"));
  }
  for (const std::string& name : known) {
    if (lower_case(name) == lower_case(wanted)) return name;
  }
  throw Error(message("the ", what, " of system \"", system, "\" cannot be \"", wanted, "\"",
                      did_you_mean(wanted, known)));
}

}  // namespace

Parameters with_defaults(const Parameters& parameters,
                         const std::map<std::string, std::vector<double>>& values) {
  if (values.empty()) return parameters;
  const std::vector<double> all = parameters.pack(values);  // knows unknown names and wrong sizes
  parameters.check(all);
  Parameters out;
  for (const Parameter& p : parameters.all()) {
    out.add(p, std::span(all).subspan(static_cast<std::size_t>(p.offset),
                                      static_cast<std::size_t>(p.size)));
  }
  return out;
}

System System::variant(const Variant& wanted) const {
  const Variant v{wanted.dt,
                  known_name(name(), "integrator", wanted.integrator, ways().integrators),
                  known_name(name(), "contact", wanted.contact, ways().contacts)};
  SystemParts parts = *parts_;
  if (v.dt != 0) {
    if (!std::isfinite(v.dt) || v.dt < 0) {
      throw Error(message("variant: dt must be positive [s]; got ", v.dt));
    }
    if (!parameters().contains(kTimestepName)) {
      throw Error(message("the time step of system \"", name(), "\" cannot be varied"));
    }
    parts.timestep = v.dt;
    parts.parameters = with_defaults(parameters(), {{std::string(kTimestepName), {v.dt}}});
  }
  if (!v.integrator.empty() || !v.contact.empty()) {
    parts.gradient = ExactGradient{};
    const auto use = parts.ways.use;  // it puts another in its place
    use(v, parts);
  }
  return System(std::move(parts)).with_gradient(gradient());
}

}  // namespace cycloid::inline system
