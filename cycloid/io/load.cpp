#include "cycloid/io/load.h"

#include "cycloid/base/error.h"
#include "cycloid/io/compile.h"
#include "cycloid/io/convert.h"
#include "cycloid/io/refuse.h"
#include "cycloid/model/model_file.h"

namespace cycloid::inline io {
namespace {

Model model_of(const mjModel& compiled, const LoadOptions& options) {
  const bool constraints = constraints_act(compiled, options);
  refuse_unsupported(compiled, constraints, options.noslip);
  if (constraints && compiled.opt.noslip_iterations > 0 && options.warnings) {
    options.warnings->push_back(
        message("the noslip solver (noslip_iterations ", compiled.opt.noslip_iterations,
                ") is left out: contacts slip as their friction and impratio say"));
  }
  Model model = convert(compiled, options);
  if (options.appearance) *options.appearance = appearance_of(compiled);
  return model;
}

}  // namespace

Model load_model(const std::string& path_or_xml, const LoadOptions& options) {
  if (!is_xml_text(path_or_xml) && is_model_file(path_or_xml)) {
    SavedModel saved = read_model(path_or_xml);
    saved.model.options.acting.constraints &= options.constraints;
    if (options.warnings) {
      options.warnings->insert(options.warnings->end(), saved.notes.begin(), saved.notes.end());
    }
    return std::move(saved.model);
  }
  const CompiledModel compiled = compile_model(path_or_xml, options);
  return model_of(*compiled, options);
}

Model model_from_mjmodel(const void* mjmodel, const LoadOptions& options) {
  if (!mjmodel) throw ModelError("expected an mjModel, got a null pointer");
  const auto& compiled = *static_cast<const mjModel*>(mjmodel);
  check_layout(compiled);
  return model_of(compiled, options);
}

}  // namespace cycloid::inline io
