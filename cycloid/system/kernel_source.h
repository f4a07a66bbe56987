// A System on a device: who runs its kernels, and what they read.
//
//   KernelSource   what a System is made of, as far as kernels care; its room knows more
//   DeviceForm     the kernel of a System, and the block of memory that it reads
//   DeviceApi      what a device can do: memory, copies, kernels. A table of plain functions: the
//                  library with the kernels (libcycloid_cuda.so) knows none of our classes
//   Device         the same with errors thrown;   DeviceBuffer   memory of it that is given back
// Room device makes forms and opens devices; room adjoint's DeviceEngine runs them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cycloid/base/error.h"
#include "cycloid/system/device_api.h"
#include "cycloid/system/system.h"

namespace cycloid::inline system {

// A robot's key, a law's name: rooms derive from it (rigid/robot_source.h, LawSource).
class KernelSource {
 public:
  virtual ~KernelSource() = default;
};

// A law of the catalogue with rk4.
class LawSource final : public KernelSource {
 public:
  LawSource(std::string name, int masses) : law(std::move(name)), n(masses) {}
  std::string law;
  int n = 1;  // masses of spring_chain
};

// A box of heat (heat.h).
class HeatSource final : public KernelSource {
 public:
  HeatSource(std::vector<int> sides, double dt, double k)
      : shape(std::move(sides)), h(dt), slope(k) {}
  std::vector<int> shape;
  double h, slope;  // [s] [1/K]
};

// A System for kernels, in one precision.
class DeviceForm {
 public:
  virtual ~DeviceForm() = default;
  virtual int kernel() const = 0;              // its number (device/kernels.h)
  virtual std::size_t body_bytes() const = 0;  // of a thread's memory
  virtual int record() const = 0;              // numbers that a step keeps
  virtual SolveSizes solve() const { return {}; }
  // A large world: the device takes one environment at a time, and its arrays of parameters.
  virtual bool large() const { return false; }
  virtual std::int64_t scratch() const { return 0; }  // numbers in double, for such a one
  // What kernels read, for a block that lies at this address; as long for every address.
  virtual std::vector<std::byte> image(std::uint64_t address) const = 0;
  // What computes these names of the System's observables. Throws ModelError that names one which
  // has no device form.
  virtual std::shared_ptr<const DeviceForm> eyes(const System& system,
                                                 const std::vector<std::string>& names) const {
    throw ModelError(message("device: \"", names.front(), "\" of ", system.name(),
                             " has no device form: pass arrays of the CPU"));
  }
  // Parameters as kernels take them.
  virtual void prepare(float*) const {}
  virtual void prepare(double*) const {}
  // From the cotangents that kernels leave to those of the parameters p, as the user gave them.
  virtual void finish(const double* /*p*/, double* /*p_bar*/) const {}
};

// What it cannot do is an Error: out of memory, a device lost.
class Device {
 public:
  explicit Device(const DeviceApi& api) : api_(api) {}

  std::string name() const { return api_.name(); }
  std::int64_t free_bytes() const {
    std::int64_t bytes = 0;
    check(api_.free_bytes(&bytes), "asking for free memory");
    return bytes;
  }
  void* allocate(std::size_t bytes) const {
    void* memory = nullptr;
    if (api_.allocate(bytes, &memory) != 0) {
      throw Error(message("the device ", name(), " has no ", bytes, " bytes left (", api_.error(),
                          "); use fewer environments or steps at once, or memory \"sqrt\""));
    }
    return memory;
  }
  void release(void* memory) const { api_.release(memory); }
  // Of memory that others could read too, on streams of their own.
  void release_shared(void* memory) const noexcept {
    api_.wait_all();
    api_.release(memory);
  }
  int memory_kind() const { return api_.memory_kind; }
  void to_device(void* to, const void* from, std::size_t bytes) const {
    if (bytes > 0) check(api_.to_device(to, from, bytes), "copying to it");
  }
  void to_host(void* to, const void* from, std::size_t bytes) const {
    if (bytes > 0) check(api_.to_host(to, from, bytes), "copying from it");
  }
  void copy(void* to, const void* from, std::size_t bytes) const {
    if (bytes > 0) check(api_.copy(to, from, bytes), "copying within it");
  }
  bool same(const void* a, const void* b, std::size_t bytes) const {
    int out = 1;
    if (bytes > 0) check(api_.same(a, b, bytes, &out), "comparing arrays");
    return out != 0;
  }
  void clear(void* memory, std::size_t bytes) const {
    if (bytes > 0) check(api_.clear(memory, bytes), "clearing memory");
  }
  template <class T>
  void forward(int kernel, const StepCall<T>& call) const {
    check(api_.forward(kernel, &call), "running steps");
  }
  template <class T>
  void backward(int kernel, const StepCall<T>& call) const {
    check(api_.backward(kernel, &call), "pulling steps back");
  }
  template <class T>
  void linearise(int kernel, const StepCall<T>& call) const {
    check(api_.linearise(kernel, &call), "finding Jacobians");
  }
  template <class T>
  void observe(int kernel, const ObserveCall<T>& call) const {
    check(api_.observe(kernel, &call), "observing");
  }
  void sum(const SumCall& call) const { check(api_.sum(&call), "summing"); }
  void wait() const { check(api_.wait(), "waiting for it"); }
  void use_stream(void* stream) const { api_.use_stream(stream); }

 private:
  void check(int status, const char* doing) const {
    if (status != 0) throw Error(message("the device ", name(), ": ", doing, ": ", api_.error()));
  }
  const DeviceApi& api_;
};

// n elements on a device.
template <class X>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(std::shared_ptr<const Device> device, std::int64_t n)
      : device_(std::move(device)), size_(n) {
    if (n > 0) data_ = static_cast<X*>(device_->allocate(static_cast<std::size_t>(n) * sizeof(X)));
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(device_, other.device_), std::swap(data_, other.data_), std::swap(size_, other.size_);
    return *this;
  }
  ~DeviceBuffer() {
    if (data_) device_->release(data_);
  }

  X* data() const { return data_; }
  std::int64_t size() const { return size_; }
  std::int64_t bytes() const { return size_ * static_cast<std::int64_t>(sizeof(X)); }
  // The first n from the host, and all of it back.
  void put(const X* from, std::int64_t n) const {
    device_->to_device(data_, from, static_cast<std::size_t>(n) * sizeof(X));
  }
  void get(X* to, std::int64_t n) const {
    device_->to_host(to, data_, static_cast<std::size_t>(n) * sizeof(X));
  }
  void clear() const {
    if (data_) device_->clear(data_, static_cast<std::size_t>(bytes()));
  }

 private:
  std::shared_ptr<const Device> device_;
  X* data_ = nullptr;
  std::int64_t size_ = 0;
};

// Where a System runs that is not to run here. `stepper` is the one whose kernels these are: a
// System that was made of it with others (another gradient, a term more) runs on the CPU.
struct OnDevice {
  std::shared_ptr<const void> stepper;
  std::shared_ptr<const Device> device;
  std::shared_ptr<const DeviceForm> float32, float64;

  template <class T>
  const DeviceForm& form() const {
    return sizeof(T) == sizeof(float) ? *float32 : *float64;
  }
};

// Where this System runs, or null: on this machine's threads.
inline const OnDevice* device_of(const System& system) {
  const SystemParts& parts = system.parts();
  const OnDevice* const on = parts.on_device.get();
  return on && on->stepper == parts.float64.one ? on : nullptr;
}

}  // namespace cycloid::inline system
