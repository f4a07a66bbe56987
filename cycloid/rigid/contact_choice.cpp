#include "cycloid/rigid/contact_choice.h"

#include <cmath>

#include "cycloid/base/error.h"

namespace cycloid::inline rigid {
namespace {

void check_law(const MujocoContact&) {}

void check_law(const HuntCrossley& law) {
  const auto refuse = [](const char* what, const char* expected, double got) {
    throw ParameterError(message("HuntCrossley: the ", what, " must be ", expected, "; got ", got));
  };
  if (law.stiffness && !(*law.stiffness > 0 && std::isfinite(*law.stiffness))) {
    refuse("stiffness [N/m^exponent]", "positive and finite", *law.stiffness);
  }
  if (!(law.exponent >= 1 && std::isfinite(law.exponent))) {
    refuse("exponent", "at least 1 and finite", law.exponent);
  }
  if (!(law.dissipation >= 0 && std::isfinite(law.dissipation))) {
    refuse("dissipation [s/m]", "zero or positive, and finite", law.dissipation);
  }
  if (!(law.stiction > 0 && std::isfinite(law.stiction))) {
    refuse("stiction [m/s]", "positive and finite", law.stiction);
  }
}

}  // namespace

void check_contact(const ContactChoice& choice) {
  std::visit([](const auto& law) { check_law(law); }, choice);
}

}  // namespace cycloid::inline rigid
