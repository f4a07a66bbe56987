#include "cycloid/device/robot_form.h"

#include <cstring>

#include "cycloid/base/check.h"
#include "cycloid/device/kernel_numbers.h"
#include "cycloid/device/robot_eyes.h"
#include "cycloid/device/split_run.h"
#include "cycloid/rigid/sense/robot_observables.h"

namespace cycloid::inline device {
namespace {

const char* const kKindNames[] = {"plane",     "height field", "sphere", "capsule",
                                  "ellipsoid", "cylinder",     "box",    "mesh"};
static_assert(static_cast<int>(GeomKind::plane) == 0 && static_cast<int>(GeomKind::mesh) == 7);

bool has_kernel(GeomKind k1, GeomKind k2) {
  if (is_solid(k1) || is_solid(k2)) return false;
  switch (kinds_code(k1, k2)) {
    case kSphereEllipsoid:
    case kCapsuleEllipsoid:
    case kCapsuleCylinder:
    case kEllipsoidEllipsoid:
    case kEllipsoidCylinder:
    case kEllipsoidBox:
    case kCylinderCylinder:
    case kCylinderBox: return false;
    default: return true;
  }
}

void refuse_pairs(const Tree& tree, const ContactPlan& contacts) {
  for (const ContactPair& pair : contacts.pairs) {
    const TouchingGeom& a = contacts.geoms[static_cast<std::size_t>(pair.geom1)];
    const TouchingGeom& b = contacts.geoms[static_cast<std::size_t>(pair.geom2)];
    if (has_kernel(a.kind, b.kind)) continue;
    throw ModelError(message(
        "device: contacts of a ", kKindNames[static_cast<int>(a.kind)], " (geom ",
        Model::label(tree.source.geoms, a.geom), ") with a ", kKindNames[static_cast<int>(b.kind)],
        " (geom ", Model::label(tree.source.geoms, b.geom),
        ") have no device form; replace one by a sphere, capsule or box, exclude the pair, or run "
        "the model on the CPU"));
  }
}

// Bytes for a device, with the addresses that they will have there.
class ImageWriter {
 public:
  explicit ImageWriter(std::uint64_t address) : address_(address) {}

  // Copies bytes to the end; returns their address on the device.
  std::uint64_t add(const void* from, std::size_t bytes) {
    constexpr std::size_t kAlign = 16;
    out_.resize((out_.size() + kAlign - 1) / kAlign * kAlign);
    const std::size_t at = out_.size();
    out_.resize(at + bytes);
    if (bytes > 0) std::memcpy(out_.data() + at, from, bytes);
    ranges_.push_back({reinterpret_cast<std::uint64_t>(from), bytes, address_ + at});
    return address_ + at;
  }
  // Where a host address that was copied lies on the device, or 0: it was not.
  std::uint64_t moved(std::uint64_t host) const {
    for (const auto& r : ranges_) {
      if (host >= r.host && host < r.host + r.bytes) return r.device + (host - r.host);
    }
    return 0;
  }
  void write(std::uint64_t address, const void* from, std::size_t bytes) {
    std::memcpy(out_.data() + (address - address_), from, bytes);
  }
  std::vector<std::byte> take() { return std::move(out_); }

 private:
  struct Range {
    std::uint64_t host, bytes, device;
  };
  std::uint64_t address_;
  std::vector<std::byte> out_;
  std::vector<Range> ranges_;
};

// f(list) for every list of a plan that kernels read. A list that is missing here would be read at
// an address of the host: the sizes say when a struct has grown.
static_assert(sizeof(std::vector<int>) == 3 * sizeof(void*));
template <class F>
void each_list(const ConstraintPlan& plan, F&& f) {
  f(plan.dofs.parent), f(plan.dofs.place), f(plan.dofs.padding), f(plan.dofs.couples);
  f(plan.dofs.spread);
  const StaticRows& r = plan.rows;
  f(r.joint_limits), f(r.dof_frictions), f(r.connects), f(r.welds), f(r.joint_equalities);
  f(r.tendon_equalities), f(r.tendon_frictions), f(r.tendon_limits), f(r.ball_limits);
  f(r.last_dof), f(r.support_words);
  const ContactPlan& c = plan.contacts;
  f(c.geoms), f(c.corners_at), f(c.pairs), f(c.given), f(c.moves), f(c.blocks), f(c.dof_at);
  f(c.moves_place);
  const BroadPhase& b = c.broad;
  f(b.pairs), f(b.with_plane), f(b.swept), f(b.active), f(b.tested), f(b.first), f(b.other);
  f(b.pair), f(b.bodies.first), f(b.bodies.geom), f(b.bodies.couples), f(b.bodies.pair);
  f(plan.islands.unit);
}
constexpr std::size_t kListBytes = sizeof(std::vector<int>);
static_assert(sizeof(DofBlocks) == 5 * kListBytes + 16);
static_assert(sizeof(StaticRows) == 11 * kListBytes + 8);
static_assert(sizeof(BodyPairs) == 4 * kListBytes);
static_assert(sizeof(BroadPhase) == 12 * kListBytes + 8);
static_assert(sizeof(IslandPlan) == kListBytes + 8);
static_assert(sizeof(ContactPlan) == sizeof(BroadPhase) + 9 * kListBytes + 56);
static_assert(sizeof(ConstraintPlan) == sizeof(DofBlocks) + sizeof(StaticRows) +
                                            sizeof(ContactPlan) + sizeof(IslandPlan) +
                                            sizeof(ConstraintCapacity) + 4 + sizeof(double));

// The plan's copy: the object, then its lists, to which its pointers lead.
std::uint64_t add_plan(const ConstraintPlan& plan, ImageWriter& image) {
  const std::uint64_t at = image.add(&plan, sizeof(plan));
  each_list(plan, [&]<class X>(const std::vector<X>& list) {
    static_assert(std::is_trivially_copyable_v<X>);
    const std::uint64_t first = image.add(list.data(), list.size() * sizeof(X));
    const std::uint64_t end = first + list.size() * sizeof(X);
    const std::uint64_t pointers[3] = {first, end, end};
    const auto offset =
        reinterpret_cast<std::uint64_t>(&list) - reinterpret_cast<std::uint64_t>(&plan);
    image.write(at + offset, pointers, sizeof(pointers));
  });
  return at;
}

template <class T>
std::shared_ptr<const DeviceForm> robot_eyes(const RobotKey& key, const RobotObservables& shown,
                                             const std::vector<std::string>& names);

template <class T, bool kConstrained>
class RobotForm : public DeviceForm {
 public:
  using Space = RobotSpace<T, kConstrained>;
  static_assert(sizeof(Space) % sizeof(std::uint64_t) == 0);

  RobotForm(const RobotKey& key, std::shared_ptr<const ConstraintPlan> plan)
      : key_(key), plan_(std::move(plan)) {
    const TreeView& tree = *key_.tree;
    Arena measure = Arena::measuring();
    Space().carve(tree, plan_.get(), measure);
    bytes_ = (measure.used() + kBodyAlignment - 1) / kBodyAlignment * kBodyAlignment;
    const auto numbers = [&](const auto& dynamics) {
      return tree.model.options.integrator == RigidIntegrator::rk4
                 ? 4 * rk4_record_per_stage(tree, dynamics)
                 : dynamics.record_numbers(tree);
    };
    if constexpr (kConstrained) {
      ConstraintMemory<T> none;
      record_ = numbers(ConstrainedDynamics<T>{*plan_, none, implicit() != Implicit::nothing});
    } else {
      record_ = numbers(SmoothDynamics{});
    }
  }

  // Of a thread, with the arrays of a run (environment_run.h).
  std::size_t thread_memory() const {
    const ModelView& m = key_.tree->model;
    StepCall<T> call;
    call.state = m.nq + m.nv + m.na, call.tangent = 2 * m.nv + m.na, call.input = key_.input_size;
    call.parameters = key_.tree->parameters.lane_size(), call.record = record_;
    return bytes_ + ThreadArrays<T>::bytes(call);
  }
  bool fits() const { return thread_memory() <= thread_bytes(kConstrained, sizeof(T)); }

  int kernel() const override {
    return (kConstrained ? kConstrainedRobot : kSmoothRobot) +
           (sizeof(T) == sizeof(double) ? kDoubleKernels : 0);
  }
  std::size_t body_bytes() const override { return bytes_; }
  int record() const override { return record_; }
  SolveSizes solve() const override {
    if constexpr (kConstrained) return solve_sizes<T>(*key_.tree, *plan_, implicit());
    return {};
  }

  std::vector<std::byte> image(std::uint64_t address) const override {
    ImageWriter out(address);
    RobotImage robot;
    const std::uint64_t at = out.add(&robot, sizeof(robot));
    fill(robot, out);
    out.write(at, &robot, sizeof(robot));
    return out.take();
  }

  std::shared_ptr<const DeviceForm> eyes(const System& system,
                                         const std::vector<std::string>& names) const override {
    const auto* shown = dynamic_cast<const RobotObservables*>(system.observables());
    return shown ? robot_eyes<T>(key_, *shown, names) : DeviceForm::eyes(system, names);
  }

 protected:
  void fill(RobotImage& robot, ImageWriter& out) const {
    const TableBlock& block = key_.tree->block();
    const std::uint64_t tables = out.add(block.data(), block.size());
    robot.tree = moved_tables(static_cast<const TreeView&>(*key_.tree), block.data(),
                              reinterpret_cast<const void*>(tables));
    if (plan_) robot.constraints = reinterpret_cast<const ConstraintPlan*>(add_plan(*plan_, out));
    robot.inputs = key_.inputs;
    robot.implicit = implicit();
    add_layout(robot, out);
  }

 public:
  void prepare(T* p) const override {
    std::vector<T> length(key_.tree->quaternions.size());
    prepare_parameters(static_cast<const TreeView&>(*key_.tree), p, length.data());
  }
  using DeviceForm::prepare;

  // Of a quaternion that was normalised: kernels leave three numbers in its tangent.
  void finish(const double* p, double* p_bar) const override {
    for (const int place : key_.tree->quaternions) {
      const Quat<double> q = load_quat(p + place);
      const double length = dot(q, q) > 0 ? sqrt(dot(q, q)) : 1;
      const Quat<double> unit = dot(q, q) > 0 ? q * (1 / length) : Quat<double>{1, 0, 0, 0};
      store(p_bar + place,
            ambient_from_tangent_cotangent(unit, load_vec3(p_bar + place)) * (1 / length));
    }
  }

 private:
  static constexpr std::size_t kWords = sizeof(Space) / sizeof(std::uint64_t);
  using Words = std::vector<std::uint64_t>;

  Implicit implicit() const { return implicit_of(*key_.tree); }

  // A thread's memory, for a look at the layout that is carved over it.
  struct Free {
    void operator()(std::byte* memory) const {
      ::operator delete(memory, std::align_val_t(kArenaMaxAlignment));
    }
  };
  using Memory = std::unique_ptr<std::byte, Free>;
  Memory memory() const {
    return Memory(
        static_cast<std::byte*>(::operator new(bytes_ + 1, std::align_val_t(kArenaMaxAlignment))));
  }
  Words carved(std::byte* over) const {
    Space space{};
    Arena arena = Arena::over(over);
    space.carve(*key_.tree, plan_.get(), arena);
    Words words(kWords);
    std::memcpy(words.data(), &space, sizeof(Space));
    return words;
  }

  void add_layout(RobotImage& robot, ImageWriter& out) const {
    const Memory here = memory(), there = memory();
    Words one = carved(here.get());
    const Words two = carved(there.get());
    const std::uint64_t base = reinterpret_cast<std::uint64_t>(here.get()),
                        apart = reinterpret_cast<std::uint64_t>(there.get()) - base;
    std::vector<unsigned char> moves(kWords);
    for (std::size_t i = 0; i < kWords; ++i) {
      moves[i] = two[i] != one[i];
      CYCLOID_CHECK(!moves[i] || two[i] - one[i] == apart, i, one[i], two[i]);
      if (moves[i]) {
        one[i] -= base;
      } else if (const std::uint64_t copied = plan_ ? out.moved(one[i]) : 0; copied != 0) {
        one[i] = copied;
      }
    }
    robot.layout =
        reinterpret_cast<const std::uint64_t*>(out.add(one.data(), kWords * sizeof(std::uint64_t)));
    robot.moves = reinterpret_cast<const unsigned char*>(out.add(moves.data(), kWords));
  }

  RobotKey key_;
  std::shared_ptr<const ConstraintPlan> plan_;
  std::size_t bytes_ = 0;
  int record_ = 0;
};

// Of sensors and fields that follow from places, velocities and actuators.
template <class T>
class RobotEyesForm final : public RobotForm<T, false> {
 public:
  RobotEyesForm(const RobotKey& key, SensorList list)
      : RobotForm<T, false>(key, nullptr), list_(std::move(list)) {
    ObserveCall<T> call;
    call.body_bytes = this->body_bytes(), call.computed = list_.size, call.input = key.input_size;
    const std::size_t bytes = observe_bytes(call), most = thread_bytes(false, sizeof(T));
    if (bytes <= most) return;
    throw ModelError(message("device: what is observed needs ", bytes,
                             " bytes of a thread's memory, and its kernel has ", most,
                             "; observe fewer names at once, or on the CPU"));
  }

  std::vector<std::byte> image(std::uint64_t address) const override {
    ImageWriter out(address);
    EyesImage eyes;
    const std::uint64_t at = out.add(&eyes, sizeof(eyes));
    this->fill(eyes.robot, out);
    static_assert(std::is_trivially_copyable_v<Sensor>);
    eyes.sensors = reinterpret_cast<const Sensor*>(
        out.add(list_.sensors.data(), list_.sensors.size() * sizeof(Sensor)));
    eyes.places = reinterpret_cast<const int*>(
        out.add(list_.places.data(), list_.places.size() * sizeof(int)));
    eyes.count = static_cast<int>(list_.sensors.size());
    eyes.joint_forces = list_.joint_forces;
    out.write(at, &eyes, sizeof(eyes));
    return out.take();
  }

 private:
  SensorList list_;
};

template <class T>
std::shared_ptr<const DeviceForm> robot_eyes(const RobotKey& key, const RobotObservables& shown,
                                             const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    for (const Sensor& s : shown.list_of({name}).sensors) {
      if (is_placed(*key.tree, s)) continue;
      throw ModelError(message("device: \"", name,
                               "\" has no device form: forces between bodies, accelerations, "
                               "contacts, rays, distances, cinert, cvel and, with adhesion, "
                               "qfrc_actuator, actuator velocities and the actuators' forces on "
                               "joints are observed on the CPU: pass NumPy arrays"));
    }
  }
  return std::make_shared<RobotEyesForm<T>>(key, shown.list_of(names));
}

// Contacts give way, down to kFewestContacts, where a thread has no room for as many as a record.
constexpr int kFewestContacts = 4;

template <class T, bool kConstrained>
std::shared_ptr<const DeviceForm> fitting_form(const RobotKey& key) {
  using Form = RobotForm<T, kConstrained>;
  std::shared_ptr<const Form> form;
  for (int slots = kConstrained ? recorded_slots(*key.constraints) : 0;; --slots) {
    std::shared_ptr<ConstraintPlan> plan;
    if (kConstrained) {
      plan = std::make_shared<ConstraintPlan>(*key.tree, slots);
      plan->contacts.waits = false;  // a thread has no memory for every pair
    }
    form = std::make_shared<const Form>(key, plan);
    if (form->fits()) return form;
    if (slots <= kFewestContacts) break;
  }
  throw ModelError(message("device: a step of this model needs ", form->thread_memory(),
                           " bytes of a thread's memory, and its kernel has ",
                           thread_bytes(kConstrained, sizeof(T)), "; run it on the CPU"));
}

template <class T>
std::shared_ptr<const DeviceForm> robot_form_in(const RobotKey& key) {
  if (!key.constraints) return fitting_form<T, false>(key);
  refuse_pairs(*key.tree, key.constraints->contacts);
  return fitting_form<T, true>(key);
}

}  // namespace

std::shared_ptr<const DeviceForm> robot_form(const RobotKey& key, Precision precision) {
  const ModelView& m = key.tree->model;
  if (m.nq + m.nv + m.na == 0)
    throw ModelError("device: a model without states has no device form");
  return precision == Precision::float32 ? robot_form_in<float>(key) : robot_form_in<double>(key);
}

}  // namespace cycloid::inline device
