#include "cycloid/rigid/constraint/reference.h"

#include "cycloid/rigid/contact/elliptic_law.h"
#include "tests/support/pullback_check.h"

namespace cycloid::reference_test {

using test::Numbers;

// A block of n rows as a flat row: [h, solref, solimp, A (n), x (n), v (n)].
template <class S>
struct BlockInputs {
  BlockInputs(int n, const S* in) : A(in + 8), x(A + n), v(x + n) {
    options.timestep = in[0];
    for (int i = 0; i < 2; ++i) soft.solref[i] = in[1 + i];
    for (int i = 0; i < 5; ++i) soft.solimp[i] = in[3 + i];
  }
  ReferenceOptions<S> options;
  Softness<S> soft;
  const S *A, *x, *v;
};

Numbers block_point(int n, const Numbers& solref, const Numbers& solimp, const Numbers& x) {
  Numbers in = {0.004};
  in.insert(in.end(), solref.begin(), solref.end());
  in.insert(in.end(), solimp.begin(), solimp.end());
  test::FixedNumbers random(7);
  for (int i = 0; i < n; ++i) in.push_back(std::abs(random.next()));
  in.insert(in.end(), x.begin(), x.begin() + n);
  for (int i = 0; i < n; ++i) in.push_back(random.next());
  return in;
}

void check_block(int n, bool stiff, const std::vector<Numbers>& points) {
  test::check_pullback(
      "block_reference", 2 * n,
      [=](const auto* in, auto* out) {
        using S = std::remove_cvref_t<decltype(*in)>;
        const BlockInputs<S> b(n, in);
        block_reference(n, stiff, b.options, b.soft, b.A, b.x, b.v, out, out + n);
      },
      [=](const auto* in, const auto* bar, auto* in_bar) {
        using S = std::remove_cvref_t<decltype(*in)>;
        const BlockInputs<S> b(n, in);
        ReferenceOptions<S> options_bar;
        Softness<S> soft_bar;
        S* A_bar = in_bar + 8;
        block_reference_pullback(n, stiff, b.options, b.soft, b.A, b.x, b.v, bar, bar + n,
                                 options_bar, &soft_bar, A_bar, A_bar + n, A_bar + 2 * n);
        in_bar[0] += options_bar.timestep;
        for (int i = 0; i < 2; ++i) in_bar[1 + i] += soft_bar.solref[i];
        for (int i = 0; i < 5; ++i) in_bar[3 + i] += soft_bar.solimp[i];
      },
      points, {.tolerance = 1e-10});  // D is 1e3 times what d is known to
}

// A contact as a flat row: [h, impratio, solref, solreffriction, solimp, friction, A, rows, x, v].
constexpr int kContactNumbers = 2 + 2 + 2 + 5 + 5 + 1 + 1 + 1;

template <class S>
struct ContactInputs {
  explicit ContactInputs(const S* in) : rows(in[17]), x(in[18]), v(in + kContactNumbers) {
    options.timestep = in[0];
    options.impratio = in[1];
    for (int i = 0; i < 2; ++i) c.soft.solref[i] = in[2 + i];
    for (int i = 0; i < 2; ++i) c.solref_friction[i] = in[4 + i];
    for (int i = 0; i < 5; ++i) c.soft.solimp[i] = in[6 + i];
    for (int i = 0; i < 5; ++i) c.friction[i] = in[11 + i];
    c.A = in[16];
  }
  ReferenceOptions<S> options;
  ContactNumbers<S> c;
  S rows, x;
  const S* v;
};

template <class S>
void add_contact_cotangents(const ReferenceOptions<S>& options, const ContactNumbers<S>& c,
                            S* in_bar) {
  in_bar[0] += options.timestep;
  in_bar[1] += options.impratio;
  for (int i = 0; i < 2; ++i) in_bar[2 + i] += c.soft.solref[i];
  for (int i = 0; i < 2; ++i) in_bar[4 + i] += c.solref_friction[i];
  for (int i = 0; i < 5; ++i) in_bar[6 + i] += c.soft.solimp[i];
  for (int i = 0; i < 5; ++i) in_bar[11 + i] += c.friction[i];
  in_bar[16] += c.A;
}

Numbers contact_point(double rows, const Numbers& solref, const Numbers& solref_friction) {
  Numbers in = {0.004, 3};
  in.insert(in.end(), solref.begin(), solref.end());
  in.insert(in.end(), solref_friction.begin(), solref_friction.end());
  in.insert(in.end(), {0.8, 0.95, 0.02, 0.4, 3});
  in.insert(in.end(), {0.7, 0.7, 0.02, 0.005, 0.005});
  in.insert(in.end(), {1.25, rows, -0.0055});
  in.insert(in.end(), {-0.2, -0.253375, -1.144375, 0.7, -2.5, -1.5});
  return in;
}

const Numbers kNone = {0, 0}, kStandard = {0.03, 0.9}, kDirect = {-800, -30}, kFast = {0.005, 1};

// D, a_ref and friction of a contact, kMostRows each.
struct ContactOutputs {
  ContactOutputs(RowLaw law, int n, const Numbers& in) {
    const ContactInputs<double> at(in.data());
    contact_reference(law, n, at.options, at.c, at.rows, at.x, at.v, D, a_ref, friction);
  }
  double D[kMostRows] = {}, a_ref[kMostRows] = {}, friction[kMostRows] = {};
};

TEST_CASE("block_reference: a limit, a friction loss and a weld by hand") {
  const Numbers in = block_point(1, {0.02, 1}, {0.9, 0.95, 0.001, 0.5, 2}, {-0.01});
  const BlockInputs<double> b(1, in.data());
  double D, a_ref;
  block_reference(1, true, b.options, b.soft, b.A, b.x, b.v, &D, &a_ref);
  const double damping = 2 / (0.95 * 0.02), stiffness = 1 / std::pow(0.95 * 0.02, 2);
  CHECK(D == doctest::Approx(0.95 / (0.05 * b.A[0])));
  CHECK(a_ref == doctest::Approx(-damping * b.v[0] + stiffness * 0.95 * 0.01));
  block_reference(1, false, b.options, b.soft, b.A, b.x, b.v, &D, &a_ref);
  CHECK(a_ref == doctest::Approx(-damping * b.v[0]));

  const Numbers three = block_point(3, {0.02, 1}, {0.2, 0.9, 1, 0.5, 1}, {0.3, 0, -0.4});
  const BlockInputs<double> weld(3, three.data());
  double D3[3], a3[3];
  block_reference(3, true, weld.options, weld.soft, weld.A, weld.x, weld.v, D3, a3);
  const double d = 0.2 + 0.5 * 0.7;  // |x| = 0.5, half of the width
  for (int i = 0; i < 3; ++i) CHECK(D3[i] == doctest::Approx(d / ((1 - d) * weld.A[i])));
}

TEST_CASE("block_reference: pullback equals dual numbers on every piece, for 1, 3 and 6 rows") {
  const Numbers solimp = {0.8, 0.95, 0.02, 0.4, 3};
  for (const int n : {1, 3, 6}) {
    std::vector<Numbers> points;
    for (const Numbers& solref : {kStandard, kDirect, kFast}) {
      points.push_back(
          block_point(n, solref, solimp, {-0.006, 0.004, -0.003, 0.002, 0.005, 0.001}));
      points.push_back(block_point(n, solref, solimp, {0.003, 0.001, -0.002, 0.002, 0.001, 0.001}));
      points.push_back(block_point(n, solref, solimp, {0.05, 0.04, -0.03, 0.02, 0.01, 0.01}));
      points.push_back(block_point(n, solref, solimp, {0, 0, 0, 0, 0, 0}));
    }
    check_block(n, true, points);
    check_block(n, false, points);
  }
}

TEST_CASE("block_reference: R is held at 1e-15, with a zero cotangent of what no longer acts") {
  Numbers in = block_point(1, kStandard, {0.8, 0.95, 0.02, 0.4, 3}, {-0.006});
  in[8] = 1e-16;
  const BlockInputs<double> b(1, in.data());
  double D, a_ref;
  block_reference(1, true, b.options, b.soft, b.A, b.x, b.v, &D, &a_ref);
  CHECK(D == doctest::Approx(1e15));
  check_block(1, true, {in});
}

TEST_CASE("contact_reference: D and a_ref equal those of MuJoCo 4.0.0") {
  // A sphere that slides and spins on a plane: timestep 0.004, impratio 3, condim 4, 6, 3, 3.
  const ContactOutputs four(RowLaw::pyramid, 4, contact_point(4, kStandard, kNone));
  const double edges[] = {33.33228535537051,   8.43930289923016,  77.1007064080021,
                          -35.329118153401424, 19.90333798694946, 21.868250267651213};
  for (int k = 1; k < 4; ++k) {
    CHECK(four.D[k] == doctest::Approx(7.462116889609961).epsilon(1e-13));
    for (int side = 0; side < 2; ++side) {
      const double sign = side == 0 ? 1 : -1;
      CHECK(four.a_ref[0] + sign * four.friction[k] * four.a_ref[k] ==
            doctest::Approx(edges[2 * (k - 1) + side]).epsilon(1e-13));
    }
  }
  CHECK(four.D[0] == 0);

  const ContactOutputs six(RowLaw::elliptic, 6, contact_point(6, kStandard, kNone));
  const double six_D[] = {3.6320610274028207e+00, 1.0896183082208461e+01, 1.0896183082208463e+01,
                          8.8948433324150741e-03, 5.5592770827594213e-04, 5.5592770827594213e-04};
  const double six_ref[] = {20.885794127300336, 17.780701754385966, 80.30701754385966,
                            -49.12280701754386, 175.43859649122808, 105.26315789473685};
  CHECK(six.friction[0] == doctest::Approx(0.404145188432738 * 0.404145188432738));
  CHECK(six.D[0] == doctest::Approx(six_D[0]).epsilon(1e-13));
  for (int k = 0; k < 6; ++k) {
    CHECK(six.a_ref[k] == doctest::Approx(six_ref[k]).epsilon(1e-13));
    const double g = six.friction[k];
    if (k > 0) CHECK(six.D[0] / six.friction[0] * g * g == doctest::Approx(six_D[k]));
  }

  const ContactOutputs direct(RowLaw::elliptic, 3, contact_point(3, kDirect, kNone));
  const double direct_ref[] = {10.31112145083103, 8.001315789473685, 36.13815789473685};
  for (int k = 0; k < 3; ++k) {
    CHECK(direct.a_ref[k] == doctest::Approx(direct_ref[k]).epsilon(1e-13));
  }
  const ContactOutputs fast(RowLaw::pyramid, 3, contact_point(3, kFast, kNone));  // held at 2h
  CHECK(fast.a_ref[0] + 0.7 * fast.a_ref[1] == doctest::Approx(177.33974873128034).epsilon(1e-13));
}

TEST_CASE("contact_reference: a lane with fewer rows than its group, or none") {
  for (const RowLaw law : {RowLaw::pyramid, RowLaw::elliptic}) {
    const ContactOutputs none(law, 4, contact_point(0, kStandard, kNone));
    for (int k = 0; k < 4; ++k) CHECK(none.D[k] == 0);
    const ContactOutputs plain(law, 4, contact_point(1, kStandard, kNone));
    CHECK(plain.D[0] == doctest::Approx(3.6320610274028207));
    for (int k = 1; k < 4; ++k) CHECK(plain.D[k] == 0);
    for (int k = 1; k < 4; ++k) CHECK(plain.friction[k] == 0);
    const ContactOutputs three(law, 4, contact_point(3, kStandard, kNone));
    CHECK(three.friction[2] == 0.7);
    CHECK(three.friction[3] == 0);
    CHECK(three.D[3] == 0);
  }
}

TEST_CASE("contact_reference: pullback equals dual numbers for every cone and number of rows") {
  for (const RowLaw law : {RowLaw::one_sided, RowLaw::pyramid, RowLaw::elliptic}) {
    const int n = law == RowLaw::one_sided ? 1 : 6;
    std::vector<Numbers> points;
    for (const double rows : {1.0, 3.0, 4.0, 6.0}) {
      if (rows > n) continue;
      for (const Numbers& solref : {kStandard, kDirect, kFast}) {
        points.push_back(contact_point(rows, solref, kNone));
        points.push_back(contact_point(rows, solref, {0.06, 1.3}));
      }
    }
    points.push_back(points[0]);
    points.back()[18] = -0.05;  // beyond the width
    const auto outputs = [=](const auto* in, auto* out) {
      using S = std::remove_cvref_t<decltype(*in)>;
      const ContactInputs<S> at(in);
      S D[kMostRows], a_ref[kMostRows], friction[kMostRows];
      contact_reference(law, n, at.options, at.c, at.rows, at.x, at.v, D, a_ref, friction);
      for (int k = 0; k < n; ++k) {
        out[k] = D[k];
        out[n + k] = a_ref[k];
        out[2 * n + k] = friction[k];
      }
    };
    test::check_pullback("contact_reference", 3 * n, outputs,
                         [=](const auto* in, const auto* bar, auto* in_bar) {
                           using S = std::remove_cvref_t<decltype(*in)>;
                           const ContactInputs<S> at(in);
                           ReferenceOptions<S> options_bar;
                           ContactNumbers<S> c_bar;
                           contact_reference_pullback(law, n, at.options, at.c, at.rows, at.x, at.v,
                                                      bar, bar + n, bar + 2 * n, options_bar, c_bar,
                                                      in_bar[18], in_bar + kContactNumbers);
                           add_contact_cotangents(options_bar, c_bar, in_bar);
                         },
                         points, {.tolerance = 1e-10});  // D is 1e3 times what d is known to
  }
}

TEST_CASE("contact_reference: an empty lane of zeros has finite values and no cotangents") {
  const Numbers in(kContactNumbers + 6, 0.0);
  const ContactInputs<double> at(in.data());
  for (const RowLaw law : {RowLaw::pyramid, RowLaw::elliptic}) {
    const ContactOutputs out(law, 6, in);
    for (int k = 0; k < 6; ++k) {
      CHECK(out.D[k] == 0);
      CHECK(std::isfinite(out.a_ref[k]));
    }
    Numbers in_bar(in.size(), 0.0);
    ReferenceOptions<double> options_bar;
    ContactNumbers<double> c_bar;
    const Numbers none(18, 0.0);
    contact_reference_pullback(law, 6, at.options, at.c, at.rows, at.x, at.v, none.data(),
                               none.data() + 6, none.data() + 12, options_bar, c_bar, in_bar[18],
                               in_bar.data() + kContactNumbers);
    add_contact_cotangents(options_bar, c_bar, in_bar.data());
    for (const double v : in_bar) CHECK(v == 0);
  }
}

TEST_CASE("contact_reference: with the law's pullback, pos̄ = k(d + d'x) r̄ + d'(w·f)/(d(1-d))") {
  const Numbers in = contact_point(6, kStandard, kNone);
  const ContactInputs<double> at(in.data());
  const ContactOutputs out(RowLaw::elliptic, 6, in);
  const double r[] = {-2, 11, 8, 3, 5, 4}, w[] = {0.7, -0.6, 0.9, 0.5, -0.8, 0.55};
  double f[6], D_bar[6] = {}, friction_bar[6] = {}, r_bar[6] = {}, a_ref_bar[6], v_bar[6] = {};
  elliptic_force<6>(out.D, out.friction, r, f);
  elliptic_force_pullback<6>(out.D, out.friction, r, w, D_bar, friction_bar, r_bar);
  double power = 0, x_bar = 0;
  for (int k = 0; k < 6; ++k) {
    power += w[k] * f[k];
    a_ref_bar[k] = -r_bar[k];
  }
  ReferenceOptions<double> options_bar;
  ContactNumbers<double> c_bar;
  contact_reference_pullback(RowLaw::elliptic, 6, at.options, at.c, at.rows, at.x, at.v, D_bar,
                             a_ref_bar, friction_bar, options_bar, c_bar, x_bar, v_bar);
  const ImpedanceCurve<double> curve(at.c.soft.solimp, at.x);
  const double d = curve.d;
  const ReferenceGains<double> gains = reference_gains(at.c.soft.solref, 0.95, 0.004, true);
  REQUIRE(curve.slope != 0);
  REQUIRE(power != 0);
  CHECK(x_bar == doctest::Approx(gains.k * (d + curve.slope * at.x) * r_bar[0] +
                                 curve.slope * power / (d * (1 - d)))
                     .epsilon(1e-12));
  for (int k = 0; k < 6; ++k) CHECK(v_bar[k] == doctest::Approx(gains.b * r_bar[k]));
  CHECK(c_bar.A == doctest::Approx(-power / at.c.A).epsilon(1e-12));
}

}  // namespace cycloid::reference_test
