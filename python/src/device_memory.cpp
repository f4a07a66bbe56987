#include "device_memory.h"

#include "cycloid/base/error.h"
#include "cycloid/system/kernel_source.h"

namespace cycloid::python {
namespace {

const Device& device_that_runs(const System& system) {
  const OnDevice* const on = device_of(system);
  if (!on) throw Error("this System runs on the CPU");
  return *on->device;
}

// Given back when the last who reads it is gone.
struct OwnedMemory {
  std::shared_ptr<const Device> device;
  void* data = nullptr;
  ~OwnedMemory() {
    if (data) device->release_shared(data);
  }
};

// Numbers that others could be reading on streams of their own: DLPack says who owns them.
template <class T>
nb::ndarray<nb::array_api, T> empty(const System& system, const std::vector<std::size_t>& shape) {
  const Device& device = device_that_runs(system);
  std::size_t n = 1;
  for (const std::size_t d : shape) n *= d;
  auto memory = std::make_unique<OwnedMemory>();
  memory->device = device_of(system)->device;
  if (n > 0) memory->data = device.allocate(n * sizeof(T));
  void* const data = memory->data;
  const nb::capsule owner(memory.release(),
                          [](void* p) noexcept { delete static_cast<OwnedMemory*>(p); });
  return nb::ndarray<nb::array_api, T>(data, shape.size(), shape.data(), owner, nullptr,
                                       nb::dtype<T>(), device.memory_kind(), 0);
}

// An array of someone else, for as long as we look at it.
struct View {
  nb::ndarray<nb::ro> array;

  std::vector<std::int64_t> shape() const {
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < array.ndim(); ++i) {
      out.push_back(static_cast<std::int64_t>(array.shape(i)));
    }
    return out;
  }
  bool contiguous() const {
    std::int64_t step = 1;
    for (std::size_t i = array.ndim(); i-- > 0;) {
      if (array.shape(i) != 1 && array.stride(i) != step) return false;
      step *= static_cast<std::int64_t>(array.shape(i));
    }
    return true;
  }
  std::string dtype() const {
    const nb::dlpack::dtype t = array.dtype();
    if (t == nb::dtype<double>()) return "float64";
    return t == nb::dtype<float>() ? "float32" : "other";
  }
};

template <class T>
void bind_precision(nb::module_& m, const char* suffix) {
  m.def((std::string("device_empty_") + suffix).c_str(), &empty<T>, nb::arg("system"),
        nb::arg("shape"), "Memory of the System's device, as an object of DLPack.");
  m.def((std::string("device_put_") + suffix).c_str(),
        [](const System& system, std::uint64_t to, const Rows<T>& from) {
          device_that_runs(system).to_device(reinterpret_cast<void*>(to),  // NOLINT
                                             from.data(), from.size() * sizeof(T));
        },
        nb::arg("system"), nb::arg("to"), nb::arg("values"));
  m.def((std::string("device_get_") + suffix).c_str(),
        [](const System& system, std::uint64_t from, std::size_t n) {
          std::vector<T> out(n);
          device_that_runs(system).to_host(out.data(),
                                           reinterpret_cast<const void*>(from),  // NOLINT
                                           n * sizeof(T));
          return to_numpy(std::move(out));
        },
        nb::arg("system"), nb::arg("address"), nb::arg("n"));
}

}  // namespace

void bind_device_memory(nb::module_& m) {
  nb::class_<View>(m, "DeviceView")
      .def_prop_ro("address",
                   [](const View& v) { return reinterpret_cast<std::uint64_t>(v.array.data()); })
      .def_prop_ro("shape", [](const View& v) { return nb::tuple(nb::cast(v.shape())); })
      .def_prop_ro("contiguous", &View::contiguous)
      .def_prop_ro("dtype", &View::dtype, "\"float32\", \"float64\" or \"other\".")
      .def_prop_ro("device", [](const View& v) {
        return nb::make_tuple(v.array.device_type(), v.array.device_id());
      });
  m.def(
      "device_view",
      [](const nb::capsule& given) { return View{nb::cast<nb::ndarray<nb::ro>>(given)}; },
      nb::arg("capsule"), "What a DLPack capsule holds; the capsule is used up.");
  m.def(
      "device_memory_kind",
      [](const System& system) { return device_that_runs(system).memory_kind(); },
      nb::arg("system"), "DLPack's number for the memory of the System's device.");
  m.def(
      "device_wait_for",
      [](const System& system, std::uint64_t stream) {
        const Device& device = device_that_runs(system);
        device.use_stream(reinterpret_cast<void*>(stream));  // NOLINT
        device.wait();
        device.use_stream(nullptr);
      },
      nb::arg("system"), nb::arg("stream"), "Until all that was asked of a stream is done.");
  bind_precision<double>(m, "float64");
  bind_precision<float>(m, "float32");
}

}  // namespace cycloid::python
