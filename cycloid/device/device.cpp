#include "cycloid/device/device.h"

#include "cycloid/base/error.h"
#include "cycloid/base/nearest_name.h"
#include "cycloid/device/cuda_api.h"
#include "cycloid/device/heat_form.h"
#include "cycloid/device/host_api.h"
#include "cycloid/device/law_form.h"
#include "cycloid/device/robot_form.h"

namespace cycloid::inline device {
namespace {

const DeviceApi* kernels_on_host = nullptr;

std::shared_ptr<const DeviceForm> form_of(const SystemParts& parts, Precision precision) {
  if (const auto* law = dynamic_cast<const LawSource*>(parts.kernels.get())) {
    return law_form(*law, precision);
  }
  if (const auto* robot = dynamic_cast<const RobotSource*>(parts.kernels.get())) {
    return robot_form(robot->key, precision);
  }
  if (const auto* heat = dynamic_cast<const HeatSource*>(parts.kernels.get())) {
    return heat_form(*heat);
  }
  throw ModelError(message("device: ", parts.name,
                           " has no device form: those that have one are robots without `refine` "
                           "and without gradients from a distance, the laws of the catalogue with "
                           "rk4, without events, and heat"));
}

// What is made of the System later (another integrator, another gradient) is put on the device
// too, or refused there by name.
void follow(SystemParts& parts, const std::string& device) {
  if (!parts.ways.use) return;
  parts.ways.use = [use = parts.ways.use, device](const Variant& variant, SystemParts& of) {
    use(variant, of);
    of = on_device(System(of), device).parts();
  };
}

}  // namespace

bool use_host_api(const DeviceApi& api) {
  kernels_on_host = &api;
  return true;
}

const DeviceApi& host_api() {
  if (kernels_on_host) return *kernels_on_host;
  throw Error(
      "device \"host\": this program was built without the kernels for tests "
      "(CYCLOID_TESTS); \"cpu\" runs every System");
}

System on_device(const System& system, const std::string& device) {
  static const std::vector<std::string> known = {"cpu", "cuda", "host"};
  SystemParts parts = system.parts();
  if (device == "cpu") {
    parts.on_device = nullptr;
    return System(std::move(parts));
  }
  if (device != "cuda" && device != "host") {
    throw Error(message("no device is called \"", device, "\"", did_you_mean(device, known)));
  }
  auto on = std::make_shared<OnDevice>();
  on->stepper = parts.float64.one;
  on->float64 = form_of(parts, Precision::float64);
  if (parts.precision == Precision::float32) on->float32 = form_of(parts, Precision::float32);
  on->device = std::make_shared<Device>(device == "cuda" ? cuda_api() : host_api());
  parts.on_device = std::move(on);
  follow(parts, device);
  return System(std::move(parts));
}

std::vector<std::string> devices() {
  std::vector<std::string> out = {"cpu"};
  try {
    out.push_back(message("cuda: ", cuda_api().name()));
  } catch (const Error&) {  // there is none
  }
  return out;
}

}  // namespace cycloid::inline device
