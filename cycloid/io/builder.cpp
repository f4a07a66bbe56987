#include "cycloid/io/builder.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "cycloid/base/error.h"
#include "cycloid/base/nearest_name.h"
#include "cycloid/io/messages.h"
#include "cycloid/io/mjcf_schema.h"
#include "cycloid/page/html.h"

namespace cycloid::inline io {

// An element of the document. `path` is its place in the schema.
struct Builder::Element {
  std::string tag, path;
  std::vector<std::pair<std::string, std::string>> attributes;  // values as MJCF has them
  std::vector<std::unique_ptr<Element>> children;
  const Element* parent = nullptr;

  // Null when there is none.
  const std::string* find(std::string_view name) const {
    for (const auto& [own, value] : attributes) {
      if (own == name) return &value;
    }
    return nullptr;
  }

  // For a message: joint "hip"; without a name, joint #2 of body "leg".
  std::string label() const {
    const std::string* name = find(tag == "default" ? "class" : "name");
    if (name) return message(tag, " \"", readable(*name), "\"");
    if (tag == "worldbody") return "the world";
    if (!parent || !parent->parent || tag == "flag") return tag;  // there is one
    int before = 0;
    for (const auto& sibling : parent->children) {
      if (sibling.get() == this) break;
      before += sibling->tag == tag;
    }
    const bool in_section = !parent->parent->parent && parent->tag != "worldbody";
    const std::string own = message(tag, " #", before);
    return in_section ? own : message(own, " of ", parent->label());
  }

  Element& child(const std::string& kind, const std::string& in_schema) {
    children.push_back(std::make_unique<Element>());
    Element& added = *children.back();
    added.tag = kind;
    added.path = in_schema;
    added.parent = this;
    return added;
  }

  // Throws ModelError for one that the schema does not have; a value may be given once.
  void set(const std::string& name, const AttributeValue& value) {
    const std::vector<std::string>& known = mjcf_schema().at(path).attributes;
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw ModelError(message(label(), ": no attribute is called \"", readable(name), "\"",
                               did_you_mean(name, known)));
    }
    if (find(name)) throw ModelError(message(label(), ": \"", name, "\" is given twice"));
    try {
      attributes.emplace_back(name, value.text());
    } catch (const ModelError& error) {
      throw ModelError(message(label(), ": ", name, " ", error.what()));
    }
  }

  // The name first, so that messages about the others have it.
  void set(const Attributes& all) {
    for (const bool names : {true, false}) {
      for (const auto& [name, value] : all) {
        if ((name == "name" || name == "class") == names) set(name, value);
      }
    }
  }
};

namespace {

using Element = Builder::Element;

template <class Visit>
void for_each(const Element& element, const Visit& visit) {
  visit(element);
  for (const auto& child : element.children) for_each(*child, visit);
}

void check_kind(const std::string& section, const std::string& kind) {
  const std::vector<std::string>& known = mjcf_schema().at(section).children;
  if (std::find(known.begin(), known.end(), kind) != known.end()) return;
  throw ModelError(
      message("no ", section, " is called \"", readable(kind), "\"", did_you_mean(kind, known)));
}

// One element per line, which is how messages find it again.
void print(const Element& element, std::string& text, std::vector<const Element*>& lines) {
  const bool is_section = element.parent && !element.parent->parent;
  if (is_section && element.attributes.empty() && element.children.empty()) return;
  lines.push_back(&element);
  text += "<" + element.tag;
  for (const auto& [name, value] : element.attributes)
    text += message(" ", name, "=\"", escape_html(value), "\"");
  if (element.children.empty()) {
    text += "/>\n";
    return;
  }
  text += ">\n";
  for (const auto& child : element.children) print(*child, text, lines);
  lines.push_back(&element);
  text += "</" + element.tag + ">\n";
}

// The sections in the order of the document; `default` to `asset` come before what uses them.
constexpr const char* kSections[] = {"compiler", "option",    "size",    "statistic", "default",
                                     "asset",    "worldbody", "contact", "tendon",    "equality",
                                     "actuator", "sensor",    "keyframe"};

// What has names of its own, by the kind of the element.
std::string named_as(const Element& element) {
  if (element.tag == "freejoint") return "joint";
  const std::string& path = element.path;
  if (path.starts_with("body/") || path == "body") return element.tag;
  for (const char* section : {"tendon", "actuator"}) {
    if (path.starts_with(std::string(section) + "/") && path.find('/', 9) == path.npos) {
      return section;
    }
  }
  return {};
}

// What an attribute refers to by name, in sections whose elements refer to others; empty: nothing.
std::string_view refers_to(std::string_view attribute) {
  constexpr std::pair<std::string_view, std::string_view> kReferences[] = {
      {"joint", "joint"},         {"joint1", "joint"},   {"joint2", "joint"},
      {"jointinparent", "joint"}, {"site", "site"},      {"site1", "site"},
      {"site2", "site"},          {"refsite", "site"},   {"slidersite", "site"},
      {"cranksite", "site"},      {"sidesite", "site"},  {"body", "body"},
      {"body1", "body"},          {"body2", "body"},     {"geom", "geom"},
      {"geom1", "geom"},          {"geom2", "geom"},     {"tendon", "tendon"},
      {"tendon1", "tendon"},      {"tendon2", "tendon"}, {"actuator", "actuator"}};
  for (const auto& [name, kind] : kReferences) {
    if (name == attribute) return kind;
  }
  return {};
}

bool refers(const Element& element) {
  for (const char* section : {"contact/", "tendon/", "equality/", "actuator/", "sensor/"}) {
    if (element.path.starts_with(section)) return true;
  }
  return false;
}

}  // namespace

// ---- values -------------------------------------------------------------------------------------

AttributeValue::AttributeValue(bool value) : text_(value ? "true" : "false"), is_text_(true) {}
AttributeValue::AttributeValue(double value) : numbers_{value} {}
AttributeValue::AttributeValue(const char* text) : text_(text), is_text_(true) {}
AttributeValue::AttributeValue(std::string text) : text_(std::move(text)), is_text_(true) {}
AttributeValue::AttributeValue(std::initializer_list<double> values) : numbers_(values) {}
AttributeValue::AttributeValue(const std::vector<double>& values) : numbers_(values) {}

std::string AttributeValue::text() const {
  if (is_text_) {
    if (std::any_of(text_.begin(), text_.end(),
                    [](char c) { return static_cast<unsigned char>(c) < 0x20; })) {
      throw ModelError("contains a control character");
    }
    return text_;
  }
  std::string text;
  for (const double v : numbers_) {
    if (std::isnan(v)) throw ModelError("is nan; expected a number");
    if (!text.empty()) text += ' ';
    constexpr double kWhole = 1e15;  // counts have no exponent
    if (v == std::floor(v) && std::abs(v) < kWhole && (v != 0 || !std::signbit(v))) {
      append_integer(text, static_cast<long long>(v));
    } else {
      append_real(text, v);
    }
  }
  return text;
}

// ---- bodies -------------------------------------------------------------------------------------

Builder::Body Builder::Body::add(const std::string& kind, const Attributes& attributes) const {
  check_kind("body", kind);
  Element& added = element_->child(kind, "body/" + kind);
  try {
    added.set(attributes);
  } catch (...) {
    element_->children.pop_back();  // as if it had not been asked for
    throw;
  }
  return *this;
}

Builder::Body Builder::Body::joint(const Attributes& a) const { return add("joint", a); }
Builder::Body Builder::Body::freejoint(const Attributes& a) const { return add("freejoint", a); }
Builder::Body Builder::Body::geom(const Attributes& a) const { return add("geom", a); }
Builder::Body Builder::Body::site(const Attributes& a) const { return add("site", a); }
Builder::Body Builder::Body::inertial(const Attributes& a) const { return add("inertial", a); }
Builder::Body Builder::Body::camera(const Attributes& a) const { return add("camera", a); }

Builder::Body Builder::Body::body(const std::string& name, const Attributes& attributes) const {
  Element& added = element_->child("body", "body");
  try {
    if (!name.empty()) added.set("name", name);
    added.set(attributes);
  } catch (...) {
    element_->children.pop_back();
    throw;
  }
  return {builder_, &added};
}

// ---- the model ----------------------------------------------------------------------------------

Builder::Builder(const std::string& name, const Attributes& option)
    : root_(std::make_unique<Element>()) {
  root_->tag = "mujoco";
  root_->set("model", name);
  for (const char* section : kSections) {
    root_->child(section, section == std::string("worldbody") ? "body" : section);
  }
  if (!option.empty()) setting("option", option);
}

Builder::~Builder() = default;

Builder::Element& Builder::section(const std::string& name) {
  for (const auto& child : root_->children) {
    if (child->tag == name) return *child;
  }
  throw ModelError(message("there is no section \"", name, "\""));
}

Builder::Body Builder::world() { return {this, &section("worldbody")}; }

Builder::Body Builder::body(const std::string& name, const Attributes& attributes) {
  return world().body(name, attributes);
}

Builder::Body Builder::body(const std::string& name, const std::string& parent,
                            const Attributes& attributes) {
  std::vector<std::string> known = {"world"};
  Element* found = parent == "world" ? &section("worldbody") : nullptr;
  for_each(section("worldbody"), [&](const Element& element) {
    const std::string* own = element.tag == "body" ? element.find("name") : nullptr;
    if (!own) return;
    known.push_back(*own);
    if (*own == parent) found = const_cast<Element*>(&element);  // of our own document
  });
  if (!found) {
    throw ModelError(message("body \"", readable(name), "\": no body is called \"",
                             readable(parent), "\"", did_you_mean(parent, known)));
  }
  return Body(this, found).body(name, attributes);
}

void Builder::add(const std::string& to, const std::string& kind, const Attributes& attributes) {
  check_kind(to, kind);
  Element& all = section(to);
  Element& added = all.child(kind, to + "/" + kind);
  try {
    added.set(attributes);
  } catch (...) {
    all.children.pop_back();
    throw;
  }
}

void Builder::actuator(const std::string& k, const Attributes& a) { add("actuator", k, a); }
void Builder::equality(const std::string& k, const Attributes& a) { add("equality", k, a); }
void Builder::sensor(const std::string& k, const Attributes& a) { add("sensor", k, a); }
void Builder::contact(const std::string& k, const Attributes& a) { add("contact", k, a); }
void Builder::asset(const std::string& k, const Attributes& a) { add("asset", k, a); }
void Builder::keyframe(const Attributes& a) { add("keyframe", "key", a); }

void Builder::tendon(const std::string& kind, const std::vector<Along>& path,
                     const Attributes& attributes) {
  add("tendon", kind, attributes);
  Element& all = section("tendon");
  Element& added = *all.children.back();
  try {
    for (const auto& [along, own] : path) {
      check_kind("tendon/" + kind, along);
      added.child(along, message("tendon/", kind, "/", along)).set(own);
    }
  } catch (...) {
    all.children.pop_back();
    throw;
  }
}

void Builder::setting(const std::string& kind, const Attributes& attributes) {
  static const std::vector<std::string> known = {"compiler", "option", "flag", "size", "statistic"};
  if (std::find(known.begin(), known.end(), kind) == known.end()) {
    throw ModelError(
        message("no setting is called \"", readable(kind), "\"", did_you_mean(kind, known)));
  }
  if (kind != "flag") return section(kind).set(attributes);
  Element& option = section("option");
  if (option.children.empty()) option.child("flag", "option/flag");
  option.children.front()->set(attributes);
}

void Builder::defaults(const std::string& kind, const Attributes& attributes,
                       const std::string& in_class) {
  check_kind("default", kind);
  Element* home = &section("default");
  if (!in_class.empty()) {
    Element* found = nullptr;
    for (const auto& child : home->children) {
      const std::string* own = child->tag == "default" ? child->find("class") : nullptr;
      if (own && *own == in_class) found = child.get();
    }
    if (!found) {
      found = &home->child("default", "default");
      found->set("class", in_class);
    }
    home = found;
  }
  Element* element = nullptr;
  for (const auto& child : home->children) {
    if (child->tag == kind) element = child.get();
  }
  if (!element) element = &home->child(kind, "default/" + kind);
  element->set(attributes);
}

std::string Builder::xml() const {
  std::string text;
  std::vector<const Element*> lines;
  print(*root_, text, lines);
  return text;
}

std::string Builder::describe() const {
  constexpr std::pair<std::string_view, std::string_view> kCounted[] = {
      {"body", "bodies"},    {"joint", "joints"},       {"geom", "geoms"},
      {"tendon", "tendons"}, {"actuator", "actuators"}, {"equality", "equalities"}};
  std::map<std::string, int, std::less<>> counts;
  for_each(*root_, [&](const Element& e) {
    if (e.tag != "worldbody") ++counts[named_as(e)];
    counts["equality"] += e.path.starts_with("equality/");
  });
  std::string text = message("Builder ", readable(*root_->find("model")));
  std::string_view separator = ": ";
  for (const auto& [one, many] : kCounted) {
    const int n = counts[std::string(one)];
    if (n == 0 && one != "body") continue;
    text += message(separator, n, " ", n == 1 ? one : many);
    separator = ", ";
  }
  return text;
}

void Builder::check_references() const {
  std::map<std::string, std::vector<std::string>, std::less<>> names;
  names["body"].push_back("world");
  for_each(*root_, [&](const Element& element) {
    const std::string* own = element.find("name");
    if (own) names[named_as(element)].push_back(*own);
  });
  for_each(*root_, [&](const Element& element) {
    if (!refers(element)) return;
    for (const auto& [attribute, value] : element.attributes) {
      const std::string_view kind = refers_to(attribute);
      if (kind.empty()) continue;
      const std::vector<std::string>& known = names[std::string(kind)];
      if (std::find(known.begin(), known.end(), value) != known.end()) continue;
      throw ModelError(message(element.label(), ": no ", kind, " is called \"", readable(value),
                               "\"", did_you_mean(value, known)));
    }
  });
}

// MuJoCo's words about a line of the document, as words about an element of it.
std::string Builder::in_words(const std::string& error) const {
  constexpr std::string_view kLoad = "cannot load the XML text: ", kLine = "line ";
  if (!error.starts_with(kLoad)) return error;
  std::string_view what = std::string_view(error).substr(kLoad.size());
  std::string where;
  // The number stands in brackets at the end: (element 'joint', line 4)
  const std::size_t at = what.rfind(kLine), open = what.rfind(" (");
  if (at != what.npos && open != what.npos && open < at) {
    std::string text;
    std::vector<const Element*> lines;
    print(*root_, text, lines);
    const int line = std::atoi(what.data() + at + kLine.size());
    if (line >= 1 && line <= static_cast<int>(lines.size())) {
      const Element& element = *lines[static_cast<std::size_t>(line) - 1];
      where = element.label() + ": ";
      what = what.substr(0, open);
      for (const auto& [name, value] : element.attributes) {
        if (what.find(message("'", name, "'")) != what.npos) {
          return message("cannot build \"", *root_->find("model"), "\": ", where, what,
                         "; it is \"", readable(value), "\"");
        }
      }
    }
  }
  return message("cannot build \"", *root_->find("model"), "\": ", where, what);
}

Model Builder::build(const LoadOptions& options) const {
  check_references();
  try {
    return load_model(xml(), options);
  } catch (const FileNotFound& error) {
    throw FileNotFound(in_words(error.what()));
  } catch (const ModelError& error) {
    throw ModelError(in_words(error.what()));
  }
}

}  // namespace cycloid::inline io
