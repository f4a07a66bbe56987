// io/builder.h: a robot made by a program, element by element, without XML.
//
//   Builder b("cart_pole", {{"timestep", 0.01}});
//   Builder::Body cart = b.body("cart").joint({{"name", "rail"}, {"type", "slide"},
//                                              {"axis", {1, 0, 0}}});
//   cart.geom({{"type", "box"}, {"size", {0.2, 0.1, 0.05}}, {"mass", 1}});
//   Builder::Body pole = cart.body("pole").joint({{"name", "hinge"}, {"axis", {0, 1, 0}}});
//   pole.geom({{"type", "capsule"}, {"fromto", {0, 0, 0, 0, 0, 0.6}}, {"size", 0.02}});
//   b.actuator("motor", {{"joint", "rail"}, {"gear", 10}});
//   System system = make_robot(b.build());
//
// Attributes have the names and the meaning of MJCF: angles are in degrees unless the compiler is
// told otherwise, defaults are MuJoCo's. The elements become MuJoCo's own specification (mjSpec) by
// MuJoCo's own reader, to which they are handed as a document in memory, and not by code of ours
// that fills the fields of mjSpec: what an attribute means (degrees, fromto, the gains of a
// position servo, limits that follow from ranges) is known to the reader alone, so the same model
// written as a file and built here is the same, bit for bit. Numbers are written so that they read
// back as they were.
//
// What is wrong is said at once where it can be known (an attribute, a kind or a parent that does
// not exist, with the nearest name), else by build(), with the element's name.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cycloid/io/load.h"

namespace cycloid::inline io {

// The value of an attribute: numbers, a text or a truth value.
class AttributeValue {
 public:
  AttributeValue(bool value);
  AttributeValue(int value) : AttributeValue(static_cast<double>(value)) {}
  AttributeValue(double value);
  AttributeValue(const char* text);
  AttributeValue(std::string text);
  AttributeValue(std::initializer_list<double> values);
  AttributeValue(const std::vector<double>& values);

  // As MJCF has it. Throws ModelError for a number that is none.
  std::string text() const;

 private:
  std::string text_;
  std::vector<double> numbers_;
  bool is_text_ = false;
};
using Attributes = std::vector<std::pair<std::string, AttributeValue>>;

class Builder {
 public:
  struct Element;  // of the document

  // A body of the model that is being built. It may be copied, and used as long as its Builder.
  class Body {
   public:
    // Each adds one element and returns this body. Throws ModelError.
    Body joint(const Attributes& attributes = {}) const;
    Body freejoint(const Attributes& attributes = {}) const;
    Body geom(const Attributes& attributes) const;
    Body site(const Attributes& attributes) const;
    Body inertial(const Attributes& attributes) const;
    Body camera(const Attributes& attributes) const;

    // A body whose parent this one is.
    Body body(const std::string& name, const Attributes& attributes = {}) const;

    // Any element of a body by its kind.
    Body add(const std::string& kind, const Attributes& attributes) const;

   private:
    friend class Builder;
    Body(Builder* builder, Element* element) : builder_(builder), element_(element) {}
    Builder* builder_;
    Element* element_;
  };

  // Opens MuJoCo's library, which knows the attributes. `option`: attributes of <option>.
  explicit Builder(const std::string& name, const Attributes& option = {});
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // The world, for a floor; a body in it, or in the body that is called `parent`. An empty name is
  // none.
  Body world();
  Body body(const std::string& name, const Attributes& attributes = {});
  Body body(const std::string& name, const std::string& parent, const Attributes& attributes);

  // Elements by their kind: "motor", "position", …; "connect", "weld", "joint", "tendon";
  // "framepos", …; "pair" and "exclude"; "mesh", "hfield", ….
  void actuator(const std::string& kind, const Attributes& attributes);
  void equality(const std::string& kind, const Attributes& attributes);
  void sensor(const std::string& kind, const Attributes& attributes);
  void contact(const std::string& kind, const Attributes& attributes);
  void asset(const std::string& kind, const Attributes& attributes);
  void keyframe(const Attributes& attributes);

  // A tendon, "spatial" or "fixed", and what it runs along: {"site", {{"site", "tip"}}}, "geom",
  // "pulley", or {"joint", {{"joint", "hip"}, {"coef", 0.5}}}.
  using Along = std::pair<std::string, Attributes>;
  void tendon(const std::string& kind, const std::vector<Along>& path,
              const Attributes& attributes = {});

  // "compiler", "option", "flag", "size" or "statistic". Attributes add up.
  void setting(const std::string& kind, const Attributes& attributes);

  // Defaults of elements of a kind, "joint" or "motor", in a class; an empty one is for all.
  void defaults(const std::string& kind, const Attributes& attributes,
                const std::string& in_class = "");

  // The model. Throws as load_model does; messages name the element. May be called again.
  Model build(const LoadOptions& options = {}) const;

  // The document, as MuJoCo's reader gets it.
  std::string xml() const;

  // "Builder arm: 3 bodies, 2 joints, 4 geoms, 1 actuator"
  std::string describe() const;

 private:
  void add(const std::string& section, const std::string& kind, const Attributes& attributes);
  Element& section(const std::string& name);
  void check_references() const;
  std::string in_words(const std::string& error) const;

  std::unique_ptr<Element> root_;
};

}  // namespace cycloid::inline io
