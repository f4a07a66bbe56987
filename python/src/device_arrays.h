// device_arrays.h: rollouts of arrays that lie on a device (device_rollout.h), by address.
#pragma once

#include "cycloid/system/kernel_source.h"
#include "module.h"

namespace cycloid::python {

// Calls of this thread to the System's device go to a stream of somebody else's until its end.
class OnStream {
 public:
  OnStream(const System& system, void* stream) : on_(device_of(system)) {
    if (on_) on_->device->use_stream(stream);
  }
  ~OnStream() {
    if (on_) on_->device->use_stream(nullptr);
  }
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;

 private:
  const OnDevice* on_;
};

void bind_device_rollout(nb::module_& m);

}  // namespace cycloid::python
