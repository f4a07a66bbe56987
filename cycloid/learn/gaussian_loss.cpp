#include "cycloid/learn/gaussian_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cycloid/base/error.h"
#include "cycloid/base/random.h"

namespace cycloid::inline learn {
namespace {

constexpr std::uint64_t kGaussianNoise = 0x6e6f6973;

class GaussianLoss final : public TrainingLoss {
 public:
  GaussianLoss(const System& system, Transitions data, NoiseNetwork noise, GaussianScore score,
               int threads)
      : system_(system.in_double()),
        data_(std::move(data)),
        noise_(std::move(noise)),
        score_(score),
        threads_(threads),
        sizes_(step_sizes(system_, data_)) {}

  std::int64_t samples() const override { return data_.rows(system_); }
  void split(double share, std::vector<std::int64_t>& learn,
             std::vector<std::int64_t>& validate) const override {
    const std::int64_t N = samples(), held = std::llround(share * static_cast<double>(samples()));
    for (std::int64_t r = 0; r < N; ++r) (r < N - held ? learn : validate).push_back(r);
    if (learn.empty()) throw Error("nothing is left to learn from; validate with a smaller share");
  }
  std::vector<double> own_numbers() const override { return noise_.weights; }

  double value(std::span<const double> all, const LossCall& call,
               std::vector<double>* bar) override {
    const std::size_t numbers = static_cast<std::size_t>(system_.parameters().size());
    const std::span<const double> p = all.first(numbers), v = all.subspan(numbers);
    const std::size_t B = call.chosen.size(), n = sizes_.size();
    const Transitions rows = chosen(call.chosen);
    const Controls<double> controls =
        rows.u.empty() ? Controls<double>(1) : Controls<double>(rows.u, 1);
    const Trajectory<double> run =
        rollout(system_, rows.x, controls, p, {.save = Save::last(), .threads = threads_});
    if (!run.report().failed.empty()) return std::numeric_limits<double>::infinity();
    const std::vector<double> misses = step_misses(system_, rows, run.states());
    const std::vector<double> seen = noise_.features(rows.x, rows.u, B);
    const std::vector<double> s = noise_.stated(seen, v, threads_);
    std::vector<double> x_bar(B * n), s_bar(B * n);
    const double share = 1 / static_cast<double>(B * n);
    double loss = 0;
    for (std::size_t i = 0; i < B * n; ++i) {
      const double c = sizes_[i % n], e = -misses[i] / c, own = s[i] / c;
      const bool likelihood = score_ == GaussianScore::likelihood;
      // From the least deviation on, so that no loss is negative.
      const double zero = std::log(noise_.least[i % n] / c);
      loss += share * (likelihood ? gaussian_likelihood(e, own) - zero : gaussian_crps(e, own));
      const GaussianScoreGradient g =
          likelihood ? gaussian_likelihood_gradient(e, own) : gaussian_crps_gradient(e, own);
      x_bar[i] = share * g.e / c, s_bar[i] = share * g.s / c;
    }
    if (!bar) return loss;
    PullbackOptions back;
    back.x0 = back.controls = false;
    *bar = run.pullback(x_bar, back).params;
    bar->resize(all.size(), 0.0);
    noise_.pull(seen, v, s, s_bar, std::span<double>(*bar).subspan(numbers), threads_);
    return loss;
  }

 private:
  Transitions chosen(std::span<const std::int64_t> rows) const {
    Transitions out;
    const std::int64_t n = system_.states().size(), m = system_.inputs().size();
    for (const std::int64_t r : rows) {
      out.x.insert(out.x.end(), data_.x.begin() + r * n, data_.x.begin() + (r + 1) * n);
      out.next.insert(out.next.end(), data_.next.begin() + r * n, data_.next.begin() + (r + 1) * n);
      if (data_.u.empty()) continue;
      out.u.insert(out.u.end(), data_.u.begin() + r * m, data_.u.begin() + (r + 1) * m);
    }
    return out;
  }

  System system_;
  Transitions data_;
  NoiseNetwork noise_;
  GaussianScore score_;
  int threads_;
  std::vector<double> sizes_;  // c
};

}  // namespace

std::vector<double> step_sizes(const System& system, const Transitions& data) {
  check_transitions(system, data);
  const std::vector<double> moves = step_misses(system, data, data.x);
  const std::size_t nt = static_cast<std::size_t>(system.states().tangent_size());
  std::vector<double> sizes(nt, 0.0);
  for (std::size_t i = 0; i < moves.size(); ++i) sizes[i % nt] += moves[i] * moves[i];
  for (double& c : sizes)
    c = std::sqrt(c * static_cast<double>(nt) / static_cast<double>(moves.size()));
  const double most = *std::max_element(sizes.begin(), sizes.end());
  for (double& c : sizes) {
    if (!(c > 1e-12 * most)) c = most > 0 ? most : 1;
  }
  return sizes;
}

std::unique_ptr<TrainingLoss> gaussian_loss(const System& system, const Transitions& data,
                                            const NoiseNetwork& noise, GaussianScore score,
                                            int threads) {
  check_transitions(system, data);
  if (!system.states().flat()) {
    throw Error(message("system \"", system.name(),
                        "\" has quaternions in its state; training takes flat states"));
  }
  return std::make_unique<GaussianLoss>(system, data, noise, score, threads);
}

std::vector<double> sample_runs(const System& given, const NoiseNetwork& noise,
                                std::span<const double> x0, std::span<const double> controls,
                                std::int64_t steps, std::int64_t members, std::uint64_t seed,
                                int threads, const KeepGoing& keep_going) {
  const System system = given.in_double();
  const Space& space = system.states();
  const std::int64_t n = space.size(), nt = space.tangent_size(), m = system.inputs().size(),
                     rows = static_cast<std::int64_t>(x0.size()) / n, all = members * rows;
  std::vector<double> out(static_cast<std::size_t>(all * (steps + 1) * n)), x, u;
  for (std::int64_t k = 0; k < members; ++k) x.insert(x.end(), x0.begin(), x0.end());
  const auto keep = [&](std::int64_t t) {
    for (std::int64_t r = 0; r < all; ++r) {
      std::copy_n(x.begin() + r * n, n, out.begin() + (r * (steps + 1) + t) * n);
    }
  };
  keep(0);
  std::vector<char> lost(static_cast<std::size_t>(all), 0);
  for (std::int64_t t = 0; t < steps; ++t) {
    u.clear();
    for (std::int64_t r = 0; r < all && !controls.empty(); ++r) {
      const double* const row = controls.data() + ((r % rows) * steps + t) * m;
      u.insert(u.end(), row, row + m);
    }
    const std::vector<double> s =
        noise.stated(noise.features(x, u, static_cast<std::size_t>(all)), noise.weights, threads);
    const Trajectory<double> run =
        rollout(system, x, u.empty() ? Controls<double>(1) : Controls<double>(u, 1), {},
                {.save = Save::last(),
                 .memory = Memory::checkpoints(1),
                 .threads = threads,
                 .t0 = static_cast<double>(t) * system.timestep(),
                 .keep_going = keep_going});
    std::vector<double> moved(static_cast<std::size_t>(nt));
    for (const Failure& f : run.report().failed) lost[static_cast<std::size_t>(f.environment)] = 1;
    for (std::int64_t r = 0; r < all; ++r) {
      if (lost[static_cast<std::size_t>(r)]) continue;  // stands at its last finite state
      RandomStream random(seed ^ kGaussianNoise, static_cast<std::uint32_t>(r),
                          static_cast<std::uint64_t>(t));
      for (std::int64_t i = 0; i < nt; ++i) {
        moved[static_cast<std::size_t>(i)] =
            s[static_cast<std::size_t>(r * nt + i)] * random.normal();
      }
      space.retract(run.states().data() + r * n, moved.data(), x.data() + r * n);  // (1)
    }
    keep(t + 1);
  }
  return out;
}

}  // namespace cycloid::inline learn
