// io/mjcf_schema.h: which elements MJCF has, and which attributes they have.
//
// MuJoCo's reader holds what it reads to a schema, and prints it (mj_printSchema). That text is
// read here, so that there is no second list to keep: an element is a line with its name, indented
// by its depth, and its attributes, which may go on in lines without a name.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cycloid::inline io {

struct MjcfElement {
  std::vector<std::string> attributes;
  std::vector<std::string> children;
};

// By path: "option", "option/flag", "body/joint", "tendon/spatial/site". The element `body` is
// "body", and so is `worldbody`.
using MjcfSchema = std::map<std::string, MjcfElement, std::less<>>;

// Of the open library, which the first call opens (mujoco_library.h). Throws ModelError.
const MjcfSchema& mjcf_schema();

// Of a text that mj_printSchema printed, padded and without HTML.
MjcfSchema parse_schema(std::string_view printed);

}  // namespace cycloid::inline io
