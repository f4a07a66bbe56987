"""What every System must keep, through Python: the claims of tests/support/conformance.h.

conform(system, x0, controls) holds a System to them; broken_claims gives what it breaks instead. A
claim that does not apply is named with its reason, which is printed: conform(..., failed="why").
"""

import contextlib
import os
import signal
import threading

import numpy as np

import cycloid as cy

CLAIMS = (
    "step",  # cy.step is the first step of a rollout
    "lanes",  # environments in lanes equal each alone, to rounding
    "threads",  # 1, 2 or 3: the same bits
    "batch",  # its size, the place in it, neighbours: the same bits
    "memory",  # whatever is kept: the same bits of the gradient; stepping back to its drift
    "dot",  # <ȳ, J ẋ> = <Jᵀ ȳ, ẋ>
    "differences",  # by central differences, block by block, and not zero
    "failed",  # named, finite, without a gradient; neighbours keep their bits
    "cancelled",  # Ctrl-C ends a run; the next one has the same bits
    "refuses",  # NaN and infinity
    "counters",  # finite, not negative, the same for the same run
    "quaternions",  # of length 1
)
STEPS_OF_DIFFERENCES = (1e-3, 1e-4, 1e-5, 1e-2, 1e-6, 1e-7, 1e-1, 1e-8)
DIFFERENCE_TOLERANCE = 1e-6  # of the best of the sweep
DOT_TOLERANCE = 1e-12


def conform(system, x0, controls, params=None, *, quaternions=(), blocks=None, **lacks):
    """x0 (batch, states), controls (batch, T, inputs); quaternions: where they begin in a state.

    blocks: at most so many parameters are differenced, a seeded choice.
    """
    broken = broken_claims(
        system, x0, controls, params, quaternions=quaternions, blocks=blocks, **lacks
    )
    assert not broken, "\n".join(broken)


def broken_claims(system, x0, controls, params=None, *, quaternions=(), blocks=None, **lacks):
    """["claim: what is wrong", ...]"""
    assert set(lacks) <= set(CLAIMS), f"no such claims: {set(lacks) - set(CLAIMS)}"
    case = _Case(system, x0, controls, params, quaternions, blocks)
    broken = []
    for claim in CLAIMS:
        if claim in lacks:
            print(f"{system.name}: not held to {claim!r}: {lacks[claim]}")
            continue
        try:
            getattr(case, claim)()
        except AssertionError as error:
            broken.append(f"{claim}: {str(error).strip()[:400]}")
        except cy.Error as error:
            broken.append(f"{claim}: raises {error}")
    return broken


class _Case:
    def __init__(self, system, x0, controls, params, quaternions, blocks):
        self.system = system
        self.x0 = np.asarray(x0, system.dtype)
        self.u = np.asarray(controls, system.dtype)
        self.params = params
        self.quaternions_at, self.blocks = quaternions, blocks
        self.double = np.dtype(system.dtype) == np.float64
        self.n, self.steps = self.u.shape[:2]
        assert self.n >= 5, "a case needs five environments"
        draw = np.random.default_rng(31)
        self.bar = draw.normal(size=(self.n, self.steps + 1, system.state_size))
        self.bar = self.bar.astype(system.dtype)

    def run(self, rows=None, **options):
        rows = np.arange(self.n) if rows is None else rows
        return cy.rollout(self.system, self.x0[rows], self.u[rows], self.params, **options)

    def rows(self, rows=None, **options):
        """States and gradients that belong to environments."""
        rows = np.arange(self.n) if rows is None else rows
        run = self.run(rows, **options)
        g = run.pullback(self.bar[rows], wrt=("x0", "controls"))
        return run.states, g.x0, g.controls

    def step(self):
        first = cy.step(self.system, self.x0, self.u[:, 0], self.params)
        np.testing.assert_array_equal(first, self.run().states[:, 1], "one step")

    def lanes(self):
        tolerance = self.steps * (1e-12 if self.double else 1e-5)
        whole = self.rows()
        for e in range(self.n):
            for alone, among, factor in zip(self.rows([e]), whole, (1, 10, 10), strict=True):
                if not among[e].size:
                    continue
                most = factor * tolerance * np.abs(among[e]).max()
                np.testing.assert_allclose(alone[0], among[e], rtol=0, atol=most)

    def threads(self):
        for rows in (None, [0]):
            given = self.rows(rows, threads=1)
            for threads in (2, 3):
                _same(self.rows(rows, threads=threads), given, f"{threads} threads")

    def _rows_of(self, rows, whole, what):
        for got, all_rows in zip(self.rows(rows), whole, strict=True):
            np.testing.assert_array_equal(got, all_rows[rows], what)

    def batch(self):
        whole, n = self.rows(), self.n
        self._rows_of(np.arange(n)[::-1], whole, "backwards")
        for rows in ([0, 1], [n - 1, 0, 1], [1, 0, n - 1, 2, 1]):
            self._rows_of(np.array(rows), whole, f"a batch of {len(rows)}")
        crowd = np.arange(n)
        crowd[1::2] = n - 1
        self._rows_of(crowd, whole, "other neighbours")

    def gradient(self, **options):
        run = self.run(**options)
        g = run.pullback(self.bar)
        return run, (g.x0, g.controls, g.params), g.drift

    def memory(self):
        run, given, _ = self.gradient(memory="all")
        whole = run.report.tape_bytes
        for memory in ("auto", "sqrt", 1, 2, 3):
            _same(self.gradient(memory=memory)[1], given, f"memory {memory!r}")
        taken = 0
        for budget in range(whole // 4, 64 * whole, max(1, whole // 4)):
            try:
                run, g, _ = self.gradient(memory=f"{budget}B")
            except cy.Error as error:
                if "too small" not in str(error):
                    raise
                continue
            _same(g, given, f"a budget of {budget} bytes")
            assert run.report.tape_bytes <= budget
            taken += 1
            if taken == 4:
                break
        assert taken, "no budget is large enough"
        with contextlib.suppress(cy.Error):  # where steps cannot be run backwards
            _, back, drift = self.gradient(memory="reversible")
            for a, b in zip(back, given, strict=True):
                relative = 1e3 * (drift + np.finfo(self.system.dtype).eps)
                most = relative * np.nanmax(np.abs(b), initial=0)
                np.testing.assert_allclose(a, b, rtol=0, atol=most, err_msg="stepping back")

    def dot(self):
        """A step by linearise, and the whole run by pushforward where trajectories have one."""
        if not self.double:
            return
        run = self.run()
        if hasattr(run, "pushforward"):
            self._dot_of_run(run)
        shift = self.system.state_size - self.system.tangent_size  # quaternions lie in front
        bar = self.bar[:, 1:2].copy()
        bar[..., : self._curved()] = 0
        run = cy.rollout(self.system, self.x0, self.u[:, :1], self.params, save="last")
        g = run.pullback(bar.reshape(run.states.shape), wrt=("x0", "controls"))
        A, B = cy.linearise(self.system, self.x0, self.u[:, 0], self.params)[:2]
        rows = np.zeros((self.n, self.system.tangent_size))
        rows[:, self._curved() - shift :] = bar[:, 0, self._curved() :]
        _near(np.einsum("bi,bij->bj", rows, A), g.x0_tangent, "the state")
        if self.system.input_size:
            _near(np.einsum("bi,bij->bj", rows, B), g.controls[:, 0], "the input")

    def _dot_of_run(self, run):
        g = run.pullback(self.bar)
        draw = np.random.default_rng(41)
        dx, du = draw.normal(size=self.x0.shape), draw.normal(size=self.u.shape)
        try:
            moved = run.pushforward(dx, du if self.system.input_size else None)
        except cy.GradientError as error:
            print(f"{self.system.name}: not held to 'dot' of a run: {error}")
            return
        terms = (self.bar * moved, g.x0 * dx, g.controls * du)
        left, right = terms[0].sum(), terms[1].sum() + terms[2].sum()
        size = sum(np.abs(t).sum() for t in terms)
        assert abs(left - right) <= DOT_TOLERANCE * size, f"<ȳ, J ẋ> = {left}, <Jᵀȳ, ẋ> = {right}"

    def _curved(self):
        """How many coordinates, from the first, may be quaternions'."""
        flat = self.system.state_size == self.system.tangent_size
        return 0 if flat else self.system.state_slices["qpos"].stop

    def differences(self):
        if not self.double:
            return
        rows = np.arange(min(3, self.n))
        names = [n for n in self.system.parameters.names if self._differentiable(n)]
        values = dict(self.params or {})
        values = {n: np.asarray(values.get(n, self.system.parameters[n]), float) for n in names}
        if self.blocks is not None and len(names) > self.blocks:
            names = list(np.random.default_rng(1).choice(names, self.blocks, replace=False))

        def run(x0, u, changed):
            given = {**(self.params or {}), **changed}
            return cy.rollout(self.system, x0, u, given)

        x0, u, bar = self.x0[rows], self.u[rows], self.bar[rows]
        whole = run(x0, u, {n: values[n] for n in names})
        g = whole.pullback(bar)
        rounding = 1e-7 * np.abs(bar * whole.states).sum()
        assert np.abs(g.x0).max() > 0, "the gradient by x0 is zero"
        draw = np.random.default_rng(52)

        def check(gradient, direction, moved, what):
            expected = float((gradient * direction).sum())
            best = np.inf
            def loss(s):
                return float((bar * moved(s).states).sum())

            def D(s):
                try:
                    return (loss(s) - loss(-s)) / (2 * s)
                except cy.ParameterError:  # at the end of its constraint: from one side
                    return (4 * loss(s) - 3 * loss(0) - loss(2 * s)) / (2 * s)

            for h in STEPS_OF_DIFFERENCES:
                with contextlib.suppress(cy.ParameterError):  # too far
                    d = (4 * D(h / 2) - D(h)) / 3
                    best = min(best, abs(d - expected) / max(abs(d), abs(expected), rounding))
                if best <= 0.1 * DIFFERENCE_TOLERANCE:
                    break
            assert best <= DIFFERENCE_TOLERANCE, f"the gradient by {what} is off by {best:.1e}"

        params = {n: values[n] for n in names}
        for block, part in self.system.state_slices.items():
            d = np.zeros(x0.shape)
            d[:, part] = draw.normal(size=d[:, part].shape)
            check(g.x0, d, lambda h, d=d: run(x0 + h * d, u, params), block)
        if self.system.input_size:
            assert np.abs(g.controls).max() > 0, "the gradient by controls is zero"
            d = draw.normal(size=u.shape)
            check(g.controls, d, lambda h: run(x0, u + h * d, params), "controls")
        if not names:
            return
        assert any(np.abs(g.params[n]).max() > 0 for n in names), "by parameters: zero"
        for n in names:
            size = np.maximum(np.abs(values[n]), np.abs(values[n]).mean() or 0.1)
            d = draw.uniform(0.5, 1, size=values[n].shape) * size

            def moved(h, n=n, d=d):
                return run(x0, u, params | {n: values[n] + h * d})

            check(g.params[n], d, moved, n)

    def _differentiable(self, name):
        return not self.system.parameters.info(name).not_differentiable

    def failed(self):
        f = 1
        whole = self.rows()
        for run, rows in self._hostile(f):
            if not run.report.failed:
                continue
            assert [failure.environment for failure in run.report.failed] == [f]
            assert np.isfinite(run.states).all()
            try:
                run.pullback(self.bar)
            except cy.GradientError as error:
                assert f"environment {f}" in str(error)
            else:
                raise AssertionError("a gradient through an environment that failed")
            g = run.pullback(self.bar, wrt=("x0", "controls"), failed="skip")
            others = np.delete(np.arange(self.n), f)
            for got, given in zip((run.states, g.x0, g.controls), whole, strict=True):
                np.testing.assert_array_equal(got[others], given[others], "neighbours")
            assert not np.any(g.x0[f])
            return
        raise AssertionError("nothing was found that fails: give a reason")

    def _hostile(self, f):
        most = np.finfo(self.system.dtype).max
        for size in (most**0.6, most / 2, most):
            for part in (slice(None), *self.system.state_slices.values()):
                x0 = self.x0.copy()
                x0[f, part] = size
                with contextlib.suppress(cy.Error):  # a start that is refused
                    yield cy.rollout(self.system, x0, self.u, self.params), x0
            u = self.u.copy()
            u[f] = size
            yield cy.rollout(self.system, self.x0, u, self.params), u

    def cancelled(self):
        given = self.rows()
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:
            cy.rollout(self.system, self.x0, 10**9, self.params, save="last")
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError("Ctrl-C did not end a run")
        finally:
            timer.join()
        _same(self.rows(), given, "after Ctrl-C")

    def refuses(self):
        for bad in (np.nan, np.inf):
            for what in ("x0", "u"):
                given = {"x0": self.x0.copy(), "u": self.u.copy()}
                if not given[what].size:
                    continue
                given[what].flat[given[what].size // 2] = bad
                rows = given["x0"], given["u"]
                _refused(lambda r=rows: cy.rollout(self.system, *r, self.params), what)
            names = list(self.system.parameters.names)
            if names:
                vector = np.full_like(self.system.parameters[names[0]], bad)
                _refused(lambda v=vector: self._with({names[0]: v}), names[0])

    def _with(self, params):
        return cy.rollout(self.system, self.x0, self.u, {**(self.params or {}), **params})

    def counters(self):
        first, again = self.run().report.counters, self.run().report.counters
        assert first == again
        assert all(np.isfinite(v) and v >= 0 for v in map(_mean, first.values()))

    def quaternions(self):
        states = self.run().states
        most = 1e-12 if self.double else 1e-5
        for at in self.quaternions_at:
            length = np.linalg.norm(states[..., at : at + 4], axis=-1)
            np.testing.assert_allclose(length, 1, rtol=0, atol=most)


def _mean(counter):
    return float(getattr(counter, "mean", counter))


def _same(got, given, what):
    for a, b in zip(got, given, strict=True):
        np.testing.assert_array_equal(a, b, what)


def _near(got, given, what):
    scale = np.abs(given).max()
    assert scale > 0, f"the gradient by {what} is zero"
    assert np.abs(got - given).max() <= DOT_TOLERANCE * scale, what


def _refused(call, what):
    try:
        call()
    except (cy.Error, ValueError):
        return
    raise AssertionError(f"{what} that is not finite is not refused")
