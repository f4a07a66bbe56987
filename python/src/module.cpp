#include "module.h"

#include "cycloid/base/core_count.h"
#include "cycloid/base/instruction_set.h"
#include "cycloid/base/nearest_name.h"
#include "cycloid/base/utf8.h"
#include "device_arrays.h"
#include "device_memory.h"
#include "fluid_grid.h"
#include "fluid_lattice.h"
#include "fluid_spectral.h"
#include "soft.h"
#include "unlocked.h"

namespace cycloid::python {
namespace {

template <class T>
nb::handle bind_error(nb::module_& m, const char* name, nb::handle base, const char* meaning) {
  static nb::exception<T> type(m, name, base);
  type.attr("__doc__") = meaning;
  return type;
}

// An Error whose text quotes bytes of a file that are no UTF-8: Python's texts hold characters.
void set_unreadable(const Error& e) {
  const char* name = dynamic_cast<const ModelError*>(&e)       ? "ModelError"
                     : dynamic_cast<const ParameterError*>(&e) ? "ParameterError"
                     : dynamic_cast<const GradientError*>(&e)  ? "GradientError"
                                                               : "Error";
  const std::string_view text = e.what();
  const nb::object type = nb::module_::import_("cycloid._core").attr(name);
  const nb::object readable =
      nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  PyErr_SetObject(type.ptr(), readable.ptr());
}

// cycloid.Error is a ValueError; a failed check of our own is not.
void bind_errors(nb::module_& m) {
  const nb::handle error =
      bind_error<Error>(m, "Error", PyExc_ValueError,
                        "What was given cannot be: the text says what was expected, what came and "
                        "what to try. A ValueError.");
  bind_error<ModelError>(m, "ModelError", error, "A system that cannot be built.");
  bind_error<ParameterError>(m, "ParameterError", error,
                             "An unknown parameter, a value outside its constraint, or a "
                             "derivative that does not exist.");
  bind_error<GradientError>(m, "GradientError", error,
                            "A gradient that cannot be given, such as one through an environment "
                            "that failed.");
  bind_error<InternalError>(m, "InternalError", PyExc_RuntimeError,
                            "A check of Cycloid's own failed: please report it with its text.");
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const FileNotFound& e) {
      PyErr_SetString(PyExc_FileNotFoundError, e.what());
    } catch (const NotANumber& e) {
      PyErr_SetString(PyExc_TypeError, e.what());
    } catch (const Interrupted& e) {
      PyErr_SetString(PyExc_KeyboardInterrupt, e.what());
    } catch (const Error& e) {
      if (is_utf8(e.what())) throw;  // the translators above know it
      set_unreadable(e);
    }
  });
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "The C++ core of cycloid. Use the package `cycloid`, not this module.";
  m.attr("version") = CYCLOID_VERSION;
  // What users keep to the very end is no fault of theirs; our tests turn the report on.
  nb::set_leak_warnings(false);
  m.def("set_leak_warnings", &nb::set_leak_warnings, nb::arg("on"),
        "Whether objects that are left at the end of the process are reported.");
  bind_errors(m);
  bind_unlocked(m);
  bind_system(m);
  bind_soft(m);
  bind_fluid_grid(m);
  bind_fluid_lattice(m);
  bind_fluid_spectral(m);
  bind_rollout(m);
  bind_device_rollout(m);
  bind_device_memory(m);
  bind_observe(m);
  bind_plan(m);
  bind_python_law(m);
  bind_robot(m);
  bind_scene(m);
  bind_forward(m);
  bind_page(m);
  bind_verify(m);
  bind_estimate(m);
  bind_evaluate(m);
  bind_identify(m);
  bind_networks(m);
  bind_uncertain(m);
  bind_learn(m);
#ifdef CYCLOID_MUJOCO
  bind_builder(m);
#endif
  bind_jax(m);  // after the types that it shelves
  m.def(
      "instruction_set", [] { return std::string(name(active_instruction_set())); },
      "The instruction set of the batch core on this machine: portable, v3 or v4.");
  m.def("default_threads", &default_threads, "Threads that a rollout uses by default.");
  m.attr("most_threads") = kMaxThreads;
  m.def(
      "did_you_mean",
      [](const std::string& word, const std::vector<std::string>& names) {
        return did_you_mean(word, names);
      },
      nb::arg("word"), nb::arg("names"), "The end of a message about an unknown name.");
}

}  // namespace cycloid::python
