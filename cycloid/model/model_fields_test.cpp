#include "cycloid/model/model_fields.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace cycloid {
namespace {

// Becomes whatever a member is initialised with.
struct Anything {
  template <class T>
  operator T() const;
};

template <class T, class... Values>
concept InitialisedBy = requires { T{Values{}...}; };

// How many members an aggregate has, a base counting as one.
template <class T, class... Values>
constexpr int members() {
  if constexpr (InitialisedBy<T, Values..., Anything>) {
    return members<T, Values..., Anything>();
  } else {
    return static_cast<int>(sizeof...(Values));
  }
}

struct Names {
  std::set<std::string> all;
  int visited = 0;
  template <class T>
  void operator()(std::string_view name, const T&) {
    all.emplace(name);
    ++visited;
  }
};

// Bases: what Element inherits from; their members are its own.
template <class Element, class... Bases>
void check_complete() {
  constexpr int expected = (members<Element>() + ... + (members<Bases>() - 1));
  Names names;
  const Element element{};
  fields(names, element);
  CHECK(names.visited == expected);
  CHECK(static_cast<int>(names.all.size()) == names.visited);  // no name twice
}

template <class Enum>
void check_enumerators(Enum last) {
  std::set<std::string_view> names;
  std::set<int> values;
  for (const auto& [value, name] : enumerators(last)) {
    names.insert(name);
    values.insert(static_cast<int>(value));
  }
  const auto expected = static_cast<std::size_t>(last) + 1;
  CHECK(names.size() == expected);
  CHECK(values.size() == expected);
  CHECK(*values.begin() == 0);
  CHECK(*values.rbegin() == static_cast<int>(last));
}

struct ThreeMembers {
  int a = 0;
  std::array<double, 3> b{};
  std::string c;
};
struct Derived : ThreeMembers {
  std::vector<double> d;
  ThreeMembers e;
};
static_assert(members<ThreeMembers>() == 3 && members<Derived>() == 3);

}  // namespace

TEST_CASE("fields: names every member of every element of a Model, once") {
  check_complete<Polynomial>();
  check_complete<Compliance>();
  check_complete<Range>();
  check_complete<Body>();
  check_complete<Joint>();
  check_complete<Dof>();
  check_complete<Marker>();
  check_complete<Geom, Marker>();
  check_complete<Mesh>();
  check_complete<HeightData>();
  check_complete<GivenPair>();
  check_complete<Exclusion>();
  check_complete<Equality>();
  check_complete<Wrap>();
  check_complete<Tendon>();
  check_complete<Actuator>();
  check_complete<Sensor>();
  check_complete<Named<Body>, Body>();
  check_complete<Keyframe>();
  check_complete<Acting>();
  check_complete<Options>();
  check_complete<Model>();
}

TEST_CASE("enumerators: each value has a name of its own") {
  check_enumerators(JointKind::hinge);
  check_enumerators(RigidIntegrator::implicit);
  check_enumerators(TendonKind::spatial);
  check_enumerators(WrapKind::cylinder);
  check_enumerators(TransmissionKind::orientation);
  check_enumerators(ActuatorDynamics::muscle);
  check_enumerators(ActuatorLaw::orientation);
  check_enumerators(Shape::other);
  check_enumerators(EqualityKind::tendon);
}

}  // namespace cycloid
