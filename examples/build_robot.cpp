// A cart-pole built without XML, saved, loaded again without MuJoCo, and the gradient of one run.
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "cycloid/cycloid.h"
#include "cycloid/io/builder.h"
#include "cycloid/model/model_file.h"

using namespace cycloid;

int main() {
  Builder b("cart_pole", {{"timestep", 0.01}});
  const Builder::Body cart = b.body("cart");
  cart.joint({{"name", "rail"}, {"type", "slide"}, {"axis", {1, 0, 0}}});
  cart.geom({{"type", "box"}, {"size", {0.2, 0.1, 0.05}}, {"mass", 1}, {"contype", 0}});
  const Builder::Body pole = cart.body("pole");
  pole.joint({{"name", "hinge"}, {"axis", {0, 1, 0}}});
  pole.geom({{"type", "capsule"}, {"fromto", {0, 0, 0, 0, 0, 0.6}}, {"size", 0.02}});
  b.actuator("motor", {{"joint", "rail"}, {"gear", 10}});
  const System system = make_robot(b.build());

  const std::string path = (std::filesystem::temp_directory_path() / "cart_pole.cym").string();
  save_model(path, {b.build(), {}});
  const System loaded = make_robot(read_model(path).model);
  std::filesystem::remove(path);

  const std::vector<double> x0 = {0, 0.1, 0, 0};  // places, then velocities
  const auto pushed = [&](const System& s, double push) {
    const std::vector<double> controls(50, push);
    return rollout(s, x0, {controls, 50});
  };
  const auto last_angle = [&](const System& s, double push) {
    return pushed(s, push).state(0, -1)[1];
  };
  const auto run = pushed(loaded, 0.2);
  std::vector<double> bar(run.states().size(), 0.0);
  bar[4 * 50 + 1] = 1;  // of the last angle of the pole
  double slope = 0;
  for (const double u_bar : run.pullback(bar).controls) slope += u_bar;
  const double h = 1e-5;
  const double difference = (last_angle(system, 0.2 + h) - last_angle(system, 0.2 - h)) / (2 * h);
  std::printf("%s: %.6f rad per unit of push, by differences %.6f\n", loaded.describe().c_str(),
              slope, difference);
  const bool same = last_angle(system, 0.2) == last_angle(loaded, 0.2);
  return same && std::abs(slope - difference) < 1e-6 * std::abs(difference) ? 0 : 1;
}
