#include "cycloid/io/compile.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include "cycloid/base/error.h"
#include "cycloid/io/assets.h"
#include "cycloid/io/foreign_call.h"
#include "cycloid/io/messages.h"
#include "cycloid/io/mujoco_library.h"

namespace cycloid::inline io {
namespace {

namespace fs = std::filesystem;

constexpr int kErrorSize = 4096;
constexpr int kMostDofs = 10000;

// MuJoCo's messages of one thread, while this lives.
struct Log {
  explicit Log(const MujocoLibrary& library);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  static void receive(const mjLogMessage* message);

  // What to say about a call that did not complete.
  std::string uncaught() const {
    return *fatal ? fatal : "MuJoCo's compiler failed on it without saying why";
  }

  const MujocoLibrary& mujoco;
  std::vector<std::string> warnings;
  char fatal[kErrorSize] = "";  // an error that MuJoCo did not catch itself

  static thread_local Log* of_this_thread;
  static std::atomic<mjfLogHandler> before;
};

thread_local Log* Log::of_this_thread = nullptr;
std::atomic<mjfLogHandler> Log::before = nullptr;

Log::Log(const MujocoLibrary& library) : mujoco(library) {
  of_this_thread = this;
  before = mujoco.mju_setLogHandler(&receive);
}

Log::~Log() {
  const mjfLogHandler current = mujoco.mju_setLogHandler(before);
  if (current != &receive) mujoco.mju_setLogHandler(current);  // replaced by someone else meanwhile
  of_this_thread = nullptr;
}

void Log::receive(const mjLogMessage* message) {
  Log* log = of_this_thread;
  if (!log) {
    if (const mjfLogHandler other = before) other(message);
    return;
  }
  if (message->level == mjLOG_WARNING) {
    log->warnings.push_back(clean_message(message->subject));
  } else if (message->level == mjLOG_ERROR) {
    std::copy_n(message->subject, sizeof message->subject, log->fatal);
    ForeignCall::leave();  // MuJoCo ends the process if its handler returns
  }
}

struct DeleteSpec {
  const MujocoLibrary* mujoco;
  void operator()(mjSpec* spec) const { mujoco->mj_deleteSpec(spec); }
};

struct Source {
  std::string path_or_xml;
  bool is_text = false, is_urdf = false;

  std::string label() const {
    return is_text ? "the XML text" : message('"', readable(path_or_xml), '"');
  }
};

struct Attempt {
  CompiledModel model;
  std::string error;        // MuJoCo's, when there is no model
  bool constraints = true;  // as the model's own options have them
  std::vector<FlexMatter> flexes;
};

template <class Visit>
void for_each(const MujocoLibrary& mujoco, mjSpec* spec, mjtObj type, const Visit& visit) {
  for (mjsElement* element = mujoco.mjs_firstElement(spec, type); element;) {
    mjsElement* next = mujoco.mjs_nextElement(spec, element);
    visit(element);
    element = next;
  }
}

void resolve_assets(const MujocoLibrary& mujoco, mjSpec* spec, const LoadOptions& options,
                    const fs::path& folder) {
  const std::string meshes = mujoco.mjs_getString(spec->compiler.meshdir);
  const auto resolve = [&](mjString* name) {
    std::string file = resolve_asset(mujoco.mjs_getString(name), options.search_paths, folder);
    if (file.empty()) {
      file = resolve_relative(mujoco.mjs_getString(name), meshes, options.search_paths, folder);
    }
    if (!file.empty()) mujoco.mjs_setString(name, file.c_str());
  };
  if (spec->strippath) return;  // the model wants the bare name in its own folder
  for_each(mujoco, spec, mjOBJ_MESH, [&](auto* e) { resolve(mujoco.mjs_asMesh(e)->file); });
  for_each(mujoco, spec, mjOBJ_HFIELD, [&](auto* e) { resolve(mujoco.mjs_asHField(e)->file); });
  for_each(mujoco, spec, mjOBJ_SKIN, [&](auto* e) { resolve(mujoco.mjs_asSkin(e)->file); });
  for_each(mujoco, spec, mjOBJ_TEXTURE, [&](auto* e) { resolve(mujoco.mjs_asTexture(e)->file); });
}

std::vector<FlexMatter> flexes_of(const MujocoLibrary& mujoco, mjSpec* spec) {
  std::vector<FlexMatter> all;
  for_each(mujoco, spec, mjOBJ_FLEX, [&](mjsElement* element) {
    const mjsFlex* const f = mujoco.mjs_asFlex(element);
    all.push_back({f->young, f->poisson, f->thickness, f->elastic2d >= 2, f->elastic2d % 2 == 1,
                   f->elastic3d != 0});
  });
  return all;
}

// Takes the mesh geoms of bodies that state their inertia out of the model, and the meshes that
// nothing refers to any more.
void drop_meshes(const MujocoLibrary& mujoco, mjSpec* spec) {
  const auto text = [&](const mjString* s) { return std::string(mujoco.mjs_getString(s)); };
  std::set<std::string> needed;
  for_each(mujoco, spec, mjOBJ_GEOM, [&](mjsElement* element) {
    const mjsGeom* geom = mujoco.mjs_asGeom(element);
    if (text(geom->meshname).empty()) return;
    const mjsBody* body = mujoco.mjs_getParent(element);
    const bool by_itself =
        body->explicitinertial || text(mujoco.mjs_getName(body->element)) == "world";
    if (by_itself && spec->compiler.inertiafromgeom != mjINERTIAFROMGEOM_TRUE) {
      mujoco.mjs_delete(spec, element);
    } else {
      needed.insert(text(geom->meshname));
    }
  });
  for_each(mujoco, spec, mjOBJ_MESH, [&](mjsElement* element) {
    if (!needed.contains(text(mujoco.mjs_getName(element)))) mujoco.mjs_delete(spec, element);
  });
}

// Counted before MuJoCo compiles: its time and memory grow with their square.
long long degrees_of_freedom(const MujocoLibrary& mujoco, mjSpec* spec) {
  long long sum = 0;
  for_each(mujoco, spec, mjOBJ_JOINT, [&](mjsElement* element) {
    const mjtJoint type = mujoco.mjs_asJoint(element)->type;
    sum += type == mjJNT_FREE ? 6 : type == mjJNT_BALL ? 3 : 1;
  });
  return sum;
}

// Those of the free joints that the text itself has, at least: reading ten thousand takes MuJoCo
// ten seconds.
long long fewest_dofs(const Source& source) {
  std::string text;
  if (!source.is_text) {
    std::ifstream file(source.path_or_xml, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  const std::string_view xml = source.is_text ? std::string_view(source.path_or_xml) : text;
  constexpr std::string_view comment = "<!--", joint = "<freejoint";
  long long sum = 0;
  for (std::size_t at = xml.find('<'); at != xml.npos; at = xml.find('<', at + 1)) {
    if (xml.substr(at, comment.size()) == comment) {
      at = xml.find("-->", at);
      if (at == xml.npos) break;
    } else if (xml.substr(at, joint.size()) == joint) {
      sum += 6;
    }
  }
  return sum;
}

std::string too_many_dofs(const std::string& count) {
  return message("it has ", count, " degrees of freedom; at most ", kMostDofs,
                 " are supported: take part of it, or weld what does not move");
}

Attempt attempt(const MujocoLibrary& mujoco, Log& log, const Source& source,
                const LoadOptions& options, bool without_meshes) {
  Attempt result;
  if (const long long dofs = fewest_dofs(source); dofs > kMostDofs) {
    result.error = too_many_dofs(message("at least ", dofs));
    return result;
  }
  char error[kErrorSize] = "";
  mjSpec* parsed = nullptr;
  mjModel* compiled = nullptr;
  if (!ForeignCall::completes([&] {
        const char* text = source.path_or_xml.c_str();
        parsed = source.is_text ? mujoco.mj_parseXMLString(text, nullptr, error, kErrorSize)
                                : mujoco.mj_parseXML(text, nullptr, error, kErrorSize);
      })) {
    result.error = log.uncaught();
    return result;
  }
  if (!parsed) {
    result.error = error;
    return result;
  }
  const std::unique_ptr<mjSpec, DeleteSpec> spec(parsed, {&mujoco});

  // One thread: messages of others would not be known as ours. Pictures play no part.
  spec->compiler.usethread = false;
  spec->compiler.passthrough = mjPASSTHROUGH_TEXTURES;
  result.constraints = !(spec->option.disableflags & mjDSBL_CONSTRAINT);
  resolve_assets(mujoco, parsed, options,
                 source.is_text ? fs::path() : fs::path(source.path_or_xml).parent_path());
  if (without_meshes) drop_meshes(mujoco, parsed);
  if (const long long dofs = degrees_of_freedom(mujoco, parsed); dofs > kMostDofs) {
    result.error = too_many_dofs(message(dofs));
    return result;
  }
  if (!ForeignCall::completes([&] { compiled = mujoco.mj_compile(parsed, nullptr); })) {
    result.error = log.uncaught();
  } else if (compiled) {
    result.model.reset(compiled);
    result.flexes = flexes_of(mujoco, parsed);
  } else {
    result.error = mujoco.mjs_getError(parsed);
  }
  return result;
}

// Where a file was looked for (assets.h).
std::string searched(const Source& source, const std::string& file, const LoadOptions& options) {
  std::string folders;
  for (const std::string& folder : options.search_paths) {
    folders += message(folders.empty() ? "" : ", ", "\"", readable(folder), "\"");
  }
  if (folders.empty()) folders = "no folders of search_paths";
  if (names_a_package(file)) {
    return message("; name the folder that holds the package in search_paths (looked in ", folders,
                   " and in the folders above the file)");
  }
  std::error_code ignored;
  const fs::path own = source.is_text ? fs::path() : fs::path(source.path_or_xml).parent_path();
  const std::string home = fs::absolute(own.empty() ? "." : own, ignored).lexically_normal();
  return message("; looked in \"", readable(home), "\", from where ",
                 source.is_text ? "the text" : "the model", " names its files, and in ", folders);
}

[[noreturn]] void fail(const Source& source, const std::string& error, const LoadOptions& options) {
  const std::string file = unopened_file(error);
  std::error_code ignored;
  if (!file.empty() && !fs::exists(file, ignored)) {
    throw FileNotFound(message("cannot load ", source.label(), ": there is no file \"",
                               readable(file), "\", which it names",
                               searched(source, file, options)));
  }
  throw ModelError(message("cannot load ", source.label(), ": ", clean_message(error)));
}

// A file's text; only its beginning matters.
std::string beginning_of(const std::string& path) {
  constexpr int kEnough = 1 << 16;
  std::ifstream file(path, std::ios::binary);
  std::string text(kEnough, '\0');
  file.read(text.data(), kEnough);
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

Source checked_source(const std::string& path_or_xml) {
  Source source{path_or_xml, is_xml_text(path_or_xml), false};
  if (source.is_text) {
    if (path_or_xml.find('\0') != path_or_xml.npos) {
      throw ModelError("cannot load the XML text: it contains a byte of value zero");
    }
    source.is_urdf = root_element(path_or_xml) == "robot";
    return source;
  }
  if (path_or_xml.find_first_not_of(" \t\r\n") == path_or_xml.npos) {
    throw ModelError("expected the path of a model or XML text, got an empty text");
  }
  std::error_code ignored;
  if (path_or_xml.find('\0') != path_or_xml.npos || !fs::exists(path_or_xml, ignored)) {
    throw FileNotFound(message("there is no file ", source.label()));
  }
  if (fs::is_directory(path_or_xml, ignored)) {
    throw ModelError(message(source.label(), " is a folder; expected an MJCF or URDF file"));
  }
  source.is_urdf = root_element(beginning_of(path_or_xml)) == "robot";
  return source;
}

std::mutex& one_at_a_time() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

void DeleteCompiled::operator()(mjModel* model) const { mujoco_library().mj_deleteModel(model); }

bool is_xml_text(const std::string& path_or_xml) {
  const std::size_t start = path_or_xml.starts_with("\xef\xbb\xbf") ? 3 : 0;
  const auto first = path_or_xml.find_first_not_of(" \t\r\n\f\v", start);
  return first != path_or_xml.npos && path_or_xml[first] == '<';
}

std::string root_element(const std::string& xml) {
  for (std::size_t at = xml.find('<'); at != xml.npos; at = xml.find('<', at)) {
    const char kind = at + 1 < xml.size() ? xml[at + 1] : '\0';
    if (kind != '?' && kind != '!') {
      const auto end = xml.find_first_of(" \t\r\n/>", at + 1);
      return xml.substr(at + 1, end == xml.npos ? xml.npos : end - at - 1);
    }
    const bool is_comment = xml.compare(at, 4, "<!--") == 0;
    at = is_comment ? xml.find("-->", at + 4) : xml.find('>', at);
    if (at == xml.npos) break;
  }
  return {};
}

CompiledModel compile_model(const std::string& path_or_xml, const LoadOptions& options,
                            std::vector<FlexMatter>* flexes) {
  const Source source = checked_source(path_or_xml);
  const MujocoLibrary& mujoco = mujoco_library();
  const std::scoped_lock lock(one_at_a_time());
  Log log(mujoco);

  Attempt result = attempt(mujoco, log, source, options, false);
  if (!result.model && source.is_urdf && !(options.constraints && result.constraints)) {
    log.warnings.clear();
    result = attempt(mujoco, log, source, options, true);
  }
  if (!result.model) fail(source, result.error, options);

  if (options.warnings) {
    for (const std::string& warning : log.warnings) {
      auto& all = *options.warnings;
      if (std::find(all.begin(), all.end(), warning) == all.end()) all.push_back(warning);
    }
  }
  if (flexes) *flexes = std::move(result.flexes);
  return std::move(result.model);
}

}  // namespace cycloid::inline io
