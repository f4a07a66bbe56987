#include "cycloid/io/builder.h"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include "cycloid/io/mjcf_schema.h"
#include "load_options.h"
#include "unlocked.h"

namespace cycloid::python {
namespace {

// Attributes as Python gives them: texts, or lists of numbers.
using Given = std::vector<std::pair<std::string, std::variant<std::string, std::vector<double>>>>;

Attributes attributes_of(const Given& given) {
  Attributes all;
  for (const auto& [name, value] : given) {
    std::visit([&](const auto& v) { all.emplace_back(name, AttributeValue(v)); }, value);
  }
  return all;
}

using Add = void (Builder::*)(const std::string& kind, const Attributes& attributes);

template <Add add>
void add_element(Builder& builder, const std::string& kind, const Given& attributes) {
  (builder.*add)(kind, attributes_of(attributes));
}

}  // namespace

void bind_builder(nb::module_& m) {
  m.def(
      "kinds_of", [](const std::string& section) { return mjcf_schema().at(section).children; },
      nb::arg("section"), "The kinds of elements in a section of MJCF.");
  nb::class_<Builder::Body>(m, "BuilderBody")
      .def("add", [](const Builder::Body& body, const std::string& kind,
                     const Given& attributes) { body.add(kind, attributes_of(attributes)); })
      .def(
          "body",
          [](const Builder::Body& body, const std::string& name, const Given& attributes) {
            return body.body(name, attributes_of(attributes));
          },
          nb::keep_alive<0, 1>());
  nb::class_<Builder>(m, "Builder")
      .def(nb::init<const std::string&>())
      .def("world", &Builder::world, nb::keep_alive<0, 1>())
      .def(
          "body",
          [](Builder& builder, const std::string& name, const std::string& parent,
             const Given& attributes) {
            return builder.body(name, parent, attributes_of(attributes));
          },
          nb::keep_alive<0, 1>())
      .def("actuator", &add_element<&Builder::actuator>)
      .def("equality", &add_element<&Builder::equality>)
      .def("sensor", &add_element<&Builder::sensor>)
      .def("contact", &add_element<&Builder::contact>)
      .def("asset", &add_element<&Builder::asset>)
      .def("setting", &add_element<&Builder::setting>)
      .def("keyframe", [](Builder& builder, const Given& a) { builder.keyframe(attributes_of(a)); })
      .def("defaults",
           [](Builder& builder, const std::string& kind, const Given& attributes,
              const std::string& in_class) {
             builder.defaults(kind, attributes_of(attributes), in_class);
           })
      .def("tendon",
           [](Builder& builder, const std::string& kind,
              const std::vector<std::pair<std::string, Given>>& path, const Given& attributes) {
             std::vector<Builder::Along> along;
             for (const auto& [what, own] : path) along.emplace_back(what, attributes_of(own));
             builder.tendon(kind, along, attributes_of(attributes));
           })
      .def("xml", &Builder::xml)
      .def("describe", &Builder::describe)
      // The model, what is to be warned about, and its looks.
      .def("build", [](const Builder& builder, bool constraints, bool ignore_noslip,
                       const std::vector<nb::bytes>& search_paths) {
        std::vector<std::string> warnings;
        LoadOptions options = load_options(constraints, ignore_noslip, search_paths);
        options.warnings = &warnings;
        Appearance looks;
        options.appearance = &looks;
        Model model = builder.build(options);
        return std::make_tuple(std::move(model), std::move(warnings), std::move(looks));
      });
}

}  // namespace cycloid::python
