import pytest
from operators import pullbacks, violations

HEADER = """// Products.
#pragma once
#define UNUSED(a_pullback) { \\
  }
namespace cycloid::inline math {
template <class S> concept HasPullback = requires(const S& s) { s.missing_pullback(1); };
constexpr int kCount = count_pullback(3);  // commented_pullback(
template <class S>
CYCLOID_HD void cross_pullback(const Vec3<S>& a, const char* text = "{") {
  dot_pullback(a);
  if (a.x > 1'000) { norm_pullback(a); }
}
void declared_pullback(double a);
template <class S, int N>
struct Spring : Law<S> {
  Spring(int n) : size{n}, text{"}"} {}
  enum class Kind { a };
  template <class T>
  void x_dot_pullback(const T* x) const { helper_pullback(x); }
  static void step_pullback(int n);
  virtual void pure_pullback() = 0;
  void forwarded_pullback() override { x_dot_pullback(nullptr); }
  int size;
};
struct Outer { struct Inner { void f_pullback() {} }; };
}  // namespace cycloid::inline math
"""
NAMES = ["cross", "declared", "Spring::x_dot", "Spring::step", "Inner::f"]


def register(*entries):
    return (
        "namespace cycloid {\nconstexpr Operator kOperators[] = {" + ",".join(entries) + "};\n}\n"
    )


def messages(tree, *entries):
    files = {"cycloid/math/products.h": HEADER, "cycloid/math/operators.h": register(*entries)}
    return [str(violation) for violation in violations(tree(files))]


def test_pullbacks_are_found_where_they_are_declared_and_not_where_they_are_called():
    assert [name for name, _ in pullbacks(HEADER)] == NAMES
    assert dict(pullbacks(HEADER))["cross"] == 9


def test_a_complete_register_passes(tree):
    entries = [f'differentiable("{name}")' for name in NAMES]
    reason = 'not_differentiable("factor",\n "the solve " "is differentiated")'
    assert messages(tree, *entries, reason) == []


@pytest.mark.parametrize("missing", NAMES)
def test_an_unregistered_pullback_fails(tree, missing):
    entries = [f'differentiable("{name}")' for name in NAMES if name != missing]
    (message,) = messages(tree, *entries, f'// differentiable("{missing}")\n')
    assert f'add differentiable("{missing}")' in message


@pytest.mark.parametrize(
    "entry, expected",
    [
        ('differentiable("dot")', "no header of math has dot_pullback"),
        ('not_differentiable("factor", "")', "needs a reason"),
        ('not_differentiable("factor")', "needs a reason"),
        ('not_differentiable("cross", "too hard")', "it is differentiable"),
    ],
)
def test_an_untrue_entry_fails(tree, entry, expected):
    entries = [f'differentiable("{name}")' for name in NAMES if f'"{name}"' not in entry]
    (message,) = messages(tree, *entries, entry)
    assert expected in message


def test_a_room_without_a_register_fails(tree):
    assert len(list(violations(tree({"cycloid/math/products.h": HEADER})))) == len(NAMES)
