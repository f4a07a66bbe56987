// model/model_fields.h: the fields of a Model, each listed once.
//
// `fields(archive, element)` names every field of an element to an archive, which writes it, reads
// it or looks at it (model_file.h, check_model.h):
//   archive("mass", body.mass)
// A field is a number, a truth value, an enumeration, a text, an array or a list of numbers, a part
// with fields of its own, or a table, that is a std::vector of elements. Names are those of the
// file: a field that is renamed here is another field there. Enumerators have names, too, so that
// their order may change. model_fields_test.cpp fails when a field of model.h is missing here.
#pragma once

#include <array>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cycloid/model/model.h"

namespace cycloid::inline model {

// T is Element, or const.
template <class T, class Element>
concept Is = std::same_as<std::remove_const_t<T>, Element>;

template <class Enum>
using EnumeratorNames = std::vector<std::pair<Enum, std::string_view>>;

inline const EnumeratorNames<JointKind>& enumerators(JointKind) {
  static const EnumeratorNames<JointKind> names = {{JointKind::free, "free"},
                                                   {JointKind::ball, "ball"},
                                                   {JointKind::slide, "slide"},
                                                   {JointKind::hinge, "hinge"}};
  return names;
}
inline const EnumeratorNames<RigidIntegrator>& enumerators(RigidIntegrator) {
  static const EnumeratorNames<RigidIntegrator> names = {
      {RigidIntegrator::euler, "euler"},
      {RigidIntegrator::implicitfast, "implicitfast"},
      {RigidIntegrator::rk4, "rk4"},
      {RigidIntegrator::implicit, "implicit"}};
  return names;
}
inline const EnumeratorNames<TendonKind>& enumerators(TendonKind) {
  static const EnumeratorNames<TendonKind> names = {{TendonKind::fixed, "fixed"},
                                                    {TendonKind::spatial, "spatial"}};
  return names;
}
inline const EnumeratorNames<WrapKind>& enumerators(WrapKind) {
  static const EnumeratorNames<WrapKind> names = {{WrapKind::joint, "joint"},
                                                  {WrapKind::pulley, "pulley"},
                                                  {WrapKind::site, "site"},
                                                  {WrapKind::sphere, "sphere"},
                                                  {WrapKind::cylinder, "cylinder"}};
  return names;
}
inline const EnumeratorNames<TransmissionKind>& enumerators(TransmissionKind) {
  static const EnumeratorNames<TransmissionKind> names = {
      {TransmissionKind::joint, "joint"},
      {TransmissionKind::joint_in_parent, "joint_in_parent"},
      {TransmissionKind::tendon, "tendon"},
      {TransmissionKind::site, "site"},
      {TransmissionKind::slider_crank, "slider_crank"},
      {TransmissionKind::body, "body"},
      {TransmissionKind::orientation, "orientation"}};
  return names;
}
inline const EnumeratorNames<ActuatorDynamics>& enumerators(ActuatorDynamics) {
  static const EnumeratorNames<ActuatorDynamics> names = {
      {ActuatorDynamics::none, "none"},
      {ActuatorDynamics::integrator, "integrator"},
      {ActuatorDynamics::filter, "filter"},
      {ActuatorDynamics::filter_exact, "filter_exact"},
      {ActuatorDynamics::muscle, "muscle"}};
  return names;
}
inline const EnumeratorNames<ActuatorLaw>& enumerators(ActuatorLaw) {
  static const EnumeratorNames<ActuatorLaw> names = {{ActuatorLaw::gain_and_bias, "gain_and_bias"},
                                                     {ActuatorLaw::pid, "pid"},
                                                     {ActuatorLaw::dc_motor, "dc_motor"},
                                                     {ActuatorLaw::orientation, "orientation"}};
  return names;
}
inline const EnumeratorNames<Shape>& enumerators(Shape) {
  static const EnumeratorNames<Shape> names = {
      {Shape::plane, "plane"},     {Shape::hfield, "hfield"},       {Shape::sphere, "sphere"},
      {Shape::capsule, "capsule"}, {Shape::ellipsoid, "ellipsoid"}, {Shape::cylinder, "cylinder"},
      {Shape::box, "box"},         {Shape::mesh, "mesh"},           {Shape::other, "other"}};
  return names;
}
inline const EnumeratorNames<EqualityKind>& enumerators(EqualityKind) {
  static const EnumeratorNames<EqualityKind> names = {{EqualityKind::connect, "connect"},
                                                      {EqualityKind::weld, "weld"},
                                                      {EqualityKind::joint, "joint"},
                                                      {EqualityKind::tendon, "tendon"}};
  return names;
}

// ---- parts of elements --------------------------------------------------------------------------

template <class Archive, Is<Polynomial> T>
void fields(Archive& a, T& p) {
  a("linear", p.linear);
  a("quadratic", p.quadratic);
  a("cubic", p.cubic);
}

template <class Archive, Is<Compliance> T>
void fields(Archive& a, T& c) {
  a("solref", c.solref);
  a("solimp", c.solimp);
}

template <class Archive, Is<Range> T>
void fields(Archive& a, T& r) {
  a("on", r.on);
  a("low", r.low);
  a("high", r.high);
}

// ---- elements -----------------------------------------------------------------------------------

template <class Archive, Is<Body> T>
void fields(Archive& a, T& b) {
  a("parent", b.parent);
  a("tree", b.tree);
  a("first_joint", b.first_joint);
  a("joints", b.joints);
  a("first_dof", b.first_dof);
  a("dofs", b.dofs);
  a("mocap", b.mocap);
  a("welded", b.welded);
  a("inverse_weight", b.inverse_weight);
  a("pos", b.pos);
  a("quat", b.quat);
  a("mass", b.mass);
  a("com", b.com);
  a("inertia", b.inertia);
  a("inertia_quat", b.inertia_quat);
  a("gravity_compensation", b.gravity_compensation);
}

template <class Archive, Is<Joint> T>
void fields(Archive& a, T& j) {
  a("kind", j.kind);
  a("body", j.body);
  a("qpos", j.qpos);
  a("dof", j.dof);
  a("pos", j.pos);
  a("axis", j.axis);
  a("stiffness", j.stiffness);
  a("qpos0", j.qpos0);
  a("spring", j.spring);
  a("range", j.range);
  a("margin", j.margin);
  a("limit", j.limit);
  a("actuator_force", j.actuator_force);
  a("compensation_by_actuator", j.compensation_by_actuator);
}

template <class Archive, Is<Dof> T>
void fields(Archive& a, T& d) {
  a("joint", d.joint);
  a("body", d.body);
  a("parent", d.parent);
  a("armature", d.armature);
  a("damping", d.damping);
  a("frictionloss", d.frictionloss);
  a("friction", d.friction);
  a("inverse_weight", d.inverse_weight);
}

template <class Archive, Is<Marker> T>
void fields(Archive& a, T& m) {
  a("body", m.body);
  a("pos", m.pos);
  a("quat", m.quat);
}

template <class Archive, Is<Geom> T>
void fields(Archive& a, T& g) {
  a("body", g.body);
  a("pos", g.pos);
  a("quat", g.quat);
  a("shape", g.shape);
  a("data", g.data);
  a("size", g.size);
  a("friction", g.friction);
  a("soft", g.soft);
  a("margin", g.margin);
  a("gap", g.gap);
  a("adhesion", g.adhesion);
  a("surface_velocity", g.surface_velocity);
  a("condim", g.condim);
  a("priority", g.priority);
  a("solmix", g.solmix);
  a("contype", g.contype);
  a("conaffinity", g.conaffinity);
  a("drawn", g.drawn);
  a("fluid", g.fluid);
}

template <class Archive, Is<Mesh> T>
void fields(Archive& a, T& m) {
  a("name", m.name);
  a("vertex", m.vertex);
  a("corners", m.corners);
  a("triangles", m.triangles);
  a("polygons", m.polygons);
  a("polygon_end", m.polygon_end);
  a("polygon_normal", m.polygon_normal);
  a("neighbours", m.neighbours);
  a("neighbour_end", m.neighbour_end);
  a("seeds", m.seeds);
  a("faces", m.faces);
}

template <class Archive, Is<HeightData> T>
void fields(Archive& a, T& h) {
  a("name", h.name);
  a("rows", h.rows);
  a("columns", h.columns);
  a("size", h.size);
  a("data", h.data);
}

template <class Archive, Is<GivenPair> T>
void fields(Archive& a, T& p) {
  a("geom1", p.geom1);
  a("geom2", p.geom2);
  a("condim", p.condim);
  a("friction", p.friction);
  a("soft", p.soft);
  a("solref_friction", p.solref_friction);
  a("margin", p.margin);
  a("gap", p.gap);
  a("adhesion", p.adhesion);
}

template <class Archive, Is<Exclusion> T>
void fields(Archive& a, T& e) {
  a("body1", e.body1);
  a("body2", e.body2);
}

template <class Archive, Is<Equality> T>
void fields(Archive& a, T& e) {
  a("kind", e.kind);
  a("active", e.active);
  a("on_sites", e.on_sites);
  a("object1", e.object1);
  a("object2", e.object2);
  a("data", e.data);
  a("soft", e.soft);
}

template <class Archive, Is<Wrap> T>
void fields(Archive& a, T& w) {
  a("kind", w.kind);
  a("object", w.object);
  a("value", w.value);
  a("side", w.side);
}

template <class Archive, Is<Tendon> T>
void fields(Archive& a, T& t) {
  a("kind", t.kind);
  a("first_wrap", t.first_wrap);
  a("wraps", t.wraps);
  a("stiffness", t.stiffness);
  a("damping", t.damping);
  a("spring_length", t.spring_length);
  a("armature", t.armature);
  a("frictionloss", t.frictionloss);
  a("range", t.range);
  a("actuator_force", t.actuator_force);
  a("margin", t.margin);
  a("limit", t.limit);
  a("friction", t.friction);
  a("inverse_weight", t.inverse_weight);
}

template <class Archive, Is<Actuator> T>
void fields(Archive& a, T& u) {
  a("transmission", u.transmission);
  a("target", u.target);
  a("reference_site", u.reference_site);
  a("crank_length", u.crank_length);
  a("gear", u.gear);
  a("dynamics", u.dynamics);
  a("dynamics_numbers", u.dynamics_numbers);
  a("law", u.law);
  a("act", u.act);
  a("acts", u.acts);
  a("control", u.control);
  a("controls", u.controls);
  a("signature", u.signature);
  a("affine_gain", u.affine_gain);
  a("muscle_gain", u.muscle_gain);
  a("affine_bias", u.affine_bias);
  a("muscle_bias", u.muscle_bias);
  a("gain", u.gain);
  a("bias", u.bias);
  a("length_range", u.length_range);
  a("acc0", u.acc0);
  a("control_range", u.control_range);
  a("force_range", u.force_range);
  a("activation_range", u.activation_range);
  a("second_range", u.second_range);
  a("third_range", u.third_range);
  a("fourth_range", u.fourth_range);
  a("early", u.early);
  a("enabled", u.enabled);
  a("damping", u.damping);
  a("armature", u.armature);
}

template <class Archive, Is<Sensor> T>
void fields(Archive& a, T& s) {
  a("type", s.type);
  a("object_type", s.object_type);
  a("object", s.object);
  a("reference_type", s.reference_type);
  a("reference", s.reference);
  a("dimension", s.dimension);
  a("cutoff", s.cutoff);
  a("zone", s.zone);
  a("zone_size", s.zone_size);
  a("fields", s.fields);
  a("reduction", s.reduction);
  a("columns", s.columns);
  a("rows", s.rows);
  a("parallel", s.parallel);
  a("numbers", s.numbers);
}

template <class Archive, Is<Keyframe> T>
void fields(Archive& a, T& k) {
  a("name", k.name);
  a("time", k.time);
  a("qpos", k.qpos);
  a("qvel", k.qvel);
  a("act", k.act);
  a("ctrl", k.ctrl);
  a("mocap_pos", k.mocap_pos);
  a("mocap_quat", k.mocap_quat);
}

// An element with its name, and a sensor of the file.
template <class Archive, class Element>
void fields(Archive& a, Named<Element>& e) {
  a("name", e.name);
  fields(a, static_cast<Element&>(e));
}
template <class Archive, class Element>
void fields(Archive& a, const Named<Element>& e) {
  a("name", e.name);
  fields(a, static_cast<const Element&>(e));
}
template <class Archive, Is<ListedSensor> T>
void fields(Archive& a, T& s) {
  using Plain = std::conditional_t<std::is_const_v<T>, const Named<Sensor>, Named<Sensor>>;
  fields(a, static_cast<Plain&>(s));
  a("unsupported", s.unsupported);
}

// ---- the whole ----------------------------------------------------------------------------------

template <class Archive, Is<Acting> T>
void fields(Archive& a, T& f) {
  a("springs", f.springs);
  a("dampers", f.dampers);
  a("gravity", f.gravity);
  a("actuation", f.actuation);
  a("control_limits", f.control_limits);
  a("euler_damping", f.euler_damping);
  a("constraints", f.constraints);
  a("equalities", f.equalities);
  a("friction_loss", f.friction_loss);
  a("limits", f.limits);
  a("contacts", f.contacts);
  a("refsafe", f.refsafe);
  a("exact_diagonal", f.exact_diagonal);
  a("parent_filter", f.parent_filter);
  a("midphase", f.midphase);
}

template <class Archive, Is<Options> T>
void fields(Archive& a, T& o) {
  a("integrator", o.integrator);
  a("timestep", o.timestep);
  a("gravity", o.gravity);
  a("wind", o.wind);
  a("density", o.density);
  a("viscosity", o.viscosity);
  a("impratio", o.impratio);
  a("elliptic", o.elliptic);
  a("mean_inertia", o.mean_inertia);
  a("acting", o.acting);
}

template <class Archive, Is<Model> T>
void fields(Archive& a, T& m) {
  a("name", m.name);
  a("options", m.options);
  a("nq", m.nq);
  a("nv", m.nv);
  a("na", m.na);
  a("nu", m.nu);
  a("nmocap", m.nmocap);
  a("trees", m.trees);
  a("bodies", m.bodies);
  a("joints", m.joints);
  a("dofs", m.dofs);
  a("sites", m.sites);
  a("cameras", m.cameras);
  a("geoms", m.geoms);
  a("meshes", m.meshes);
  a("height_fields", m.height_fields);
  a("pairs", m.pairs);
  a("exclusions", m.exclusions);
  a("equalities", m.equalities);
  a("wraps", m.wraps);
  a("tendons", m.tendons);
  a("actuators", m.actuators);
  a("sensors", m.sensors);
  a("keyframes", m.keyframes);
  a("qpos0", m.qpos0);
}

// ---- kinds of fields, for archives --------------------------------------------------------------

template <class T>
inline constexpr bool is_array_of_numbers = false;
template <std::size_t N>
inline constexpr bool is_array_of_numbers<std::array<double, N>> = true;

template <class T>
inline constexpr bool is_list_of_numbers = false;
template <class Number>
  requires std::is_arithmetic_v<Number>
inline constexpr bool is_list_of_numbers<std::vector<Number>> = true;

template <class T>
inline constexpr bool is_table = false;
template <class Element>
  requires std::is_class_v<Element>
inline constexpr bool is_table<std::vector<Element>> = true;

template <class T>
concept Leaf = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::same_as<T, std::string> ||
               is_array_of_numbers<T> || is_list_of_numbers<T>;

}  // namespace cycloid::inline model
