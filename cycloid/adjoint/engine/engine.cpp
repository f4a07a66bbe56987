#include "cycloid/adjoint/engine/engine.h"

#include "cycloid/adjoint/engine/device_engine.h"
#include "cycloid/adjoint/engine/lane_engine.h"
#include "cycloid/system/kernel_source.h"

namespace cycloid::inline adjoint {

template <class T>
const Engine<T>& engine_of(const System& system) {
  static const LaneEngine<T> lanes;
  static const DeviceEngine<T> device;
  if (device_of(system)) return device;
  return lanes;
}

const DoubleEngine& double_engine_of(const System&) {
  static const LaneDoubleEngine lanes;
  return lanes;
}

template const Engine<float>& engine_of(const System&);
template const Engine<double>& engine_of(const System&);

}  // namespace cycloid::inline adjoint
