// Handlers of cycloid.jax for a card: buffers lie there, and work is on XLA's stream. Nothing but
// parameters, their cotangents and tokens goes through the host. What a pullback needs, the start
// and the inputs among it, are copies on the card: XLA uses its buffers again.
#include <mutex>

#include "cycloid/adjoint/engine/device_rollout.h"
#include "cycloid/base/check.h"
#include "cycloid/base/error.h"
#include "device_arrays.h"
#include "jax.h"
#include "run_options.h"

namespace cycloid::python {
namespace {

std::size_t bytes_of(const xla::Buffer& buffer) {
  const bool wide = buffer.type == xla::NumberType::float64;
  return size_of(buffer) * (wide ? sizeof(double) : sizeof(float));
}

// A buffer of the card's, on this machine.
class HostCopy {
 public:
  HostCopy(const Device& device, const xla::Buffer& there)
      : device_(device), there_(there), bytes_(bytes_of(there)), here_(there) {
    here_.data = bytes_.data();
  }
  HostCopy(const HostCopy&) = delete;
  HostCopy& operator=(const HostCopy&) = delete;

  const xla::Buffer& buffer() const { return here_; }
  const xla::Buffer& fetched() {
    device_.to_host(bytes_.data(), there_.data, bytes_.size());
    return here_;
  }
  void send() const { device_.to_device(there_.data, bytes_.data(), bytes_.size()); }

 private:
  const Device& device_;
  const xla::Buffer& there_;
  std::vector<std::byte> bytes_;
  xla::Buffer here_;
};

const OnDevice& card_of(const System& system, const XlaCall& call) {
  const OnDevice* const on = device_of(system);
  if (!on) {
    throw Error(message("system \"", system.name(),
                        "\" runs on the CPU, and JAX's arrays are on a card: load it with "
                        "device=\"cuda\", or put the computation on the CPU with "
                        "jax.default_device(jax.devices(\"cpu\")[0])"));
  }
  if (call.stream().has_value() != (on->device->memory_kind() == kCudaMemory)) {
    throw Error(message("system \"", system.name(), "\" runs on ", on->device->name(),
                        ", and JAX's arrays are elsewhere"));
  }
  if (call.card() != 0) {
    throw Error(message("JAX computes on card ", call.card(), ", and kernels run on card 0"));
  }
  return *on;
}

// The arguments of a rollout, from argument `first` on.
template <class T>
class CardCall {
 public:
  CardCall(const XlaCall& call, const System& system, const OnDevice& on, int first)
      : system_(system),
        device_(on.device),
        columns_(system.parameters(), call.integers("columns")),
        x0_(call.argument(first)),
        controls_(call.argument(first + 1)),
        parameters_(columns_.rows_of(HostCopy(*on.device, call.argument(first + 2)).fetched())),
        steps_(call.integer("steps")),
        options_(rollout_options_of(call)) {
    check_type(x0_, "x0");
    check_type(controls_, "controls");
  }

  const ParameterColumns& columns() const { return columns_; }
  std::int64_t batch() const { return x0_.shape[0]; }
  std::size_t saved_states() const { return options_.save.steps(steps_).size(); }
  std::int64_t control_rows() const { return size_of(controls_) > 0 ? controls_.shape[0] : 0; }

  // Its arrays where they lie, and where states go.
  DeviceArrays<T> arrays(T* states) const {
    return {static_cast<const T*>(x0_.data),
            control_rows() > 0 ? static_cast<const T*>(controls_.data) : nullptr, states};
  }
  std::unique_ptr<DeviceRollout<T>> run(const DeviceArrays<T>& arrays, bool tape) const {
    return std::make_unique<DeviceRollout<T>>(system_, batch(), steps_, arrays, control_rows(),
                                              parameters_, options_, DeviceUse{false, tape});
  }

 private:
  static void check_type(const xla::Buffer& buffer, const char* what) {
    constexpr bool kWide = std::is_same_v<T, double>;
    if ((buffer.type == xla::NumberType::float64) == kWide) return;
    throw Error(message(what, " holds ", kWide ? "float32" : "float64",
                        ", and the System computes in ", kWide ? "float64" : "float32",
                        " on the card: load it with dtype=\"float32\", or set jax_enable_x64"));
  }

  template <class U>
  friend struct KeptCardRun;
  const System& system_;
  std::shared_ptr<const Device> device_;
  ParameterColumns columns_;
  const xla::Buffer &x0_, &controls_;
  std::vector<double> parameters_;
  std::int64_t steps_;
  RolloutOptions options_;
};

// A run with a tape, from copies of its start and inputs.
template <class T>
struct KeptCardRun final : Kept {
  KeptCardRun(std::int64_t owner, const CardCall<T>& asked, DeviceBuffer<T> x0,
              DeviceBuffer<T> inputs, std::unique_ptr<DeviceRollout<T>> made)
      : Kept(owner,
             made->report().tape_bytes + static_cast<std::uint64_t>(x0.bytes() + inputs.bytes())),
        device(asked.device_),
        start(std::move(x0)),
        controls(std::move(inputs)),
        parameters(asked.parameters_),
        t0(asked.options_.t0),
        run(std::move(made)) {}

  static std::shared_ptr<KeptCardRun> make(std::int64_t owner, const CardCall<T>& asked,
                                           T* states) {
    const auto copied = [&](const xla::Buffer& from) {
      DeviceBuffer<T> own(asked.device_, static_cast<std::int64_t>(size_of(from)));
      asked.device_->copy(own.data(), from.data, bytes_of(from));
      return own;
    };
    DeviceBuffer<T> x0 = copied(asked.x0_), inputs = copied(asked.controls_);
    auto run = asked.run({x0.data(), inputs.data(), states}, true);
    return std::make_shared<KeptCardRun>(owner, asked, std::move(x0), std::move(inputs),
                                         std::move(run));
  }

  // Whether this is the run of these arguments: a token is a hint.
  bool made(const CardCall<T>& asked) const {
    const auto same = [&](const DeviceBuffer<T>& own, const xla::Buffer& given) {
      return static_cast<std::size_t>(own.size()) == size_of(given) &&
             device->same(own.data(), given.data, bytes_of(given));
    };
    return device == asked.device_ && t0 == asked.options_.t0 && parameters == asked.parameters_ &&
           run->saved() == asked.options_.save.steps(asked.steps_) && same(start, asked.x0_) &&
           same(controls, asked.controls_);
  }

  std::shared_ptr<const Device> device;
  DeviceBuffer<T> start, controls;
  std::vector<double> parameters;
  double t0;
  std::unique_ptr<DeviceRollout<T>> run;
  mutable std::mutex alone;  // one way back at a time
};

void send_token(const Device& device, const xla::Buffer& there, std::uint64_t token) {
  const HostCopy here(device, there);
  write_token(here.buffer(), token);
  here.send();
}

template <class T>
void roll_out(const XlaCall& call, const System& system, const OnDevice& on) {
  const CardCall<T> asked(call, system, on, 0);
  T* const states = static_cast<T*>(call.result(0).data);
  const std::int64_t owner = call.integer("system");
  std::shared_ptr<KeptCardRun<T>> kept;
  std::unique_ptr<DeviceRollout<T>> run;
  if (call.integer("keep") != 0) {
    kept = KeptCardRun<T>::make(owner, asked, states);
  } else {
    run = asked.run(asked.arrays(states), false);
  }
  if (call.integer("single") != 0) {
    const Report& report = kept ? kept->run->report() : run->report();
    if (call.integer("skip") == 0) check_step(report);
    warn(warning_of(report));
  }
  send_token(*on.device, call.result(1), kept ? kept_runs().put(std::move(kept)) : 0);
}

// part p of a result, or null where nobody asks.
template <class T>
T* part_of(const xla::Buffer& result, bool asked, std::size_t p, std::size_t pullbacks) {
  if (!asked) return nullptr;
  return static_cast<T*>(result.data) + p * (size_of(result) / pullbacks);
}

template <class T>
void pull_back(const XlaCall& call, const System& system, const OnDevice& on) {
  const CardCall<T> asked(call, system, on, 1);
  const std::int64_t owner = call.integer("system"), wrt = call.integer("wrt");
  auto kept = kept_runs().find<KeptCardRun<T>>(
      read_token(HostCopy(*on.device, call.argument(0)).fetched()),
      [&](const KeptCardRun<T>& k) { return k.owner() == owner && k.made(asked); });
  if (!kept) {
    const DeviceBuffer<T> states(on.device, asked.batch() * system.states().size() *
                                                static_cast<std::int64_t>(asked.saved_states()));
    kept = KeptCardRun<T>::make(owner, asked, states.data());
  }

  PullbackOptions options;
  options.params = wrt & kThird;
  options.failed =
      call.integer("skip") != 0 ? PullbackOptions::Failed::skip : PullbackOptions::Failed::raise;
  options.keep_going = call.keep_going();
  const xla::Buffer& bars = call.argument(4);
  const std::size_t pullbacks = pullbacks_of(bars), size = size_of(bars) / pullbacks;
  HostCopy params(*on.device, call.result(2));
  const std::lock_guard<std::mutex> alone(kept->alone);
  for (std::size_t p = 0; p < pullbacks; ++p) {
    const std::vector<double> p_bar =
        kept->run->pullback({static_cast<const T*>(bars.data) + p * size,
                             part_of<T>(call.result(0), wrt & kFirst, p, pullbacks),
                             part_of<T>(call.result(1), wrt & kSecond, p, pullbacks)},
                            options);
    if (options.params) asked.columns().write_bars(p_bar, params.buffer(), Part{p, pullbacks});
  }
  if (options.params) params.send();
}

template <bool kBack>
void card_handler(const XlaCall& call) {
  const System system = found_on_shelf<System>(call.integer("system"));
  const OnDevice& on = card_of(system, call);
  const OnStream there(system, call.stream().value_or(nullptr));
  if (system.precision() == Precision::float64) {
    kBack ? pull_back<double>(call, system, on) : roll_out<double>(call, system, on);
  } else {
    kBack ? pull_back<float>(call, system, on) : roll_out<float>(call, system, on);
  }
}

void refuse_on_card(const XlaCall&) {
  throw Error(
      "cycloid.jax has rollout and step on a card, forward and in reverse mode; forward mode, "
      "second derivatives and observe are the CPU's: put the computation there with "
      "jax.default_device(jax.devices(\"cpu\")[0])");
}

}  // namespace

void add_card_handlers(nb::module_& m) {
  nb::dict handlers;
  handlers["cycloid_rollout"] = capsule_of(&handled<card_handler<false>>);
  handlers["cycloid_rollout_pullback"] = capsule_of(&handled<card_handler<true>>);
  m.attr("xla_card_handlers") = handlers;
  m.attr("xla_card_refusal") = capsule_of(&handled<refuse_on_card>);
}

}  // namespace cycloid::python
