"""Gradients of a soft body's run, held to Taylor's rule along each block of the gradient itself."""

import numpy as np

import cycloid as cy


def check_gradient(body, u, steps, scales=None, without=(), params=None):
    """From the rest shape under constant inputs u: of a random weighing of the last state, by all
    but the parameters that do not act."""
    x0, p = body.initial_state(), body.parameters.default if params is None else params
    weights = np.random.default_rng(4).normal(size=body.state_size)

    def loss(x, w, q):
        run = cy.rollout(body, x, np.tile(w, (steps, 1)), q, save="last")
        return float(np.sum(run.states[0] * weights))

    run = cy.rollout(body, x0, np.tile(u, (steps, 1)), p, save="last")
    g, start = run.pullback(weights[None]), float(np.sum(run.states[0] * weights))
    by_name = body.parameters.unpack(g.params)
    for name in ("x0", "controls", *body.parameters.names):
        if name in without:
            assert not by_name[name].any(), name
            continue
        dx, du, dp = np.zeros_like(x0), np.zeros_like(u), np.zeros_like(p)
        if name == "x0":
            dx = g.x0
        elif name == "controls":
            du = g.controls.sum(axis=0)
        else:
            info = body.parameters.info(name)
            dp[info.offset : info.offset + info.size] = by_name[name].ravel()
        rate = g.x0 @ dx + g.controls.sum(axis=0) @ du + g.params @ dp
        assert rate > 0, name
        known = {"x0": 0.01, "controls": 0.02 * np.abs(u).max(), "vertices": 0.002}
        scale = (known | (scales or {})).get(name)
        if scale is None:
            scale = 0.1 * max(np.abs(body.parameters[name]).max(), 0.05)
        scale /= max(np.abs(v).max() for v in (dx, du, dp))

        def change(e, dx=dx, du=du, dp=dp):
            return loss(x0 + e * dx, u + e * du, p + e * dp) - start

        errors = [abs(change(e) - e * rate) for e in scale * 0.5 ** np.arange(4, 9)]
        slopes = np.log2(np.divide(errors[:-1], errors[1:]))
        central = min(
            abs((change(e) - change(-e)) / (2 * e * rate) - 1) for e in scale * np.r_[1e-2, 1e-3]
        )
        assert central < 1e-6, (name, central)
        # Where the loss is straight in this direction there is no slope, only rounding.
        if errors[-1] > 1e-10 * abs(start):
            assert abs(slopes[-1] - 2) < 0.05, (name, slopes)
